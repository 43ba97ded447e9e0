"""The running average of the weights: what is averaged, and what is taken from the last epoch."""

from dataclasses import replace

import pytest
import torch
from short import QUICK, blobs, fit_in_halves

from novakind.data.split import part
from novakind.methods.ours import Ours
from novakind.model import Card, Model
from novakind.training.average import move_towards
from novakind.training.loop import fit


def test_the_average_of_the_weights_is_what_is_kept():
    card = Card("mlp", "linear", 8, 0.1, 1, ("a", "new-1"), blobs().modality.settings())
    slow, fast = Model(card), Model(card)
    before = {name: tensor.clone() for name, tensor in slow.state_dict().items()}
    move_towards(slow, fast, 0.75)
    for name, tensor in slow.state_dict().items():
        if tensor.is_floating_point():
            torch.testing.assert_close(tensor, 0.75 * before[name] + 0.25 * fast.state_dict()[name])


EPOCHS = 4
EARLIER, LAST = torch.tensor([0.0, 1e5, 1e5]), torch.tensor([1e3, 1e3, 0.0])


@pytest.fixture
def last_head_best_in_the_end(monkeypatch):
    """To what each of three heads loses, so much is added that the first is best until the last epoch."""
    loss = Ours.loss

    def biased(self, model, batch):
        terms = loss(self, model, batch)
        model.extra["siblings"].loss += LAST if batch.progress >= 1 - 1 / EPOCHS else EARLIER
        return terms

    monkeypatch.setattr(Ours, "loss", biased)


def assert_last_head_is_kept(model: Model) -> None:
    heads = model.extra["siblings"].heads
    assert torch.equal(model.embed.weight, heads[1][0].weight)
    assert not torch.equal(model.embed.weight, heads[0][0].weight)


@pytest.mark.usefixtures("last_head_best_in_the_end")
@pytest.mark.parametrize("ema", [0.0, 0.98])
def test_the_head_with_the_lowest_loss_of_the_last_epoch_is_kept(ema, tmp_path):
    """With an average of the weights too, and in a run that goes on before, in and after the last epoch."""
    collection, config = blobs(), replace(QUICK, epochs=EPOCHS, heads=3, ema=ema)
    split = part(collection, 0.1, 0.0)
    whole, _, _ = fit(collection, split, config)
    assert_last_head_is_kept(whole)
    for epoch in (2, 3, 4):
        halves = fit_in_halves(epoch, collection, split, config, tmp_path / str(epoch))
        for name, tensor in whole.state_dict().items():
            assert torch.equal(tensor, halves.state_dict()[name]), name
