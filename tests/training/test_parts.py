"""A step in parts: the loss and the gradient are those of all of its items at once."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from shards import ALL, KNOWN, NOVEL, WIDTH, drawn
from short import QUICK, blobs
from torch import nn

from novakind.config import Config
from novakind.data.split import part
from novakind.methods import Batch, make_method
from novakind.modality.features import Features
from novakind.model import CUSTOM, Card, Model, predict
from novakind.objective.metrics import scores
from novakind.objective.prior import Prior
from novakind.training.loop import fit
from novakind.training.parts import in_parts

CASES = {
    "ours": Config(objective=ALL),
    "linear": Config(objective=ALL, head="linear"),
    "heads": Config(objective=ALL, heads=3),
    **{name: Config(method=name) for name in ("uno", "iic", "nev", "oracle")},
}


def gradients(config: Config, parts: int, encoder: nn.Module) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    kind = Features((0.0,) * WIDTH, (1.0,) * WIDTH)
    names = tuple(f"class {number}" for number in range(KNOWN + NOVEL))
    model = Model(Card(CUSTOM, config.head, 8, 0.1, KNOWN, names, kind.settings()), encoder).double()
    method = make_method(replace(config, novel=NOVEL, dim=8), Prior.uniform(KNOWN, NOVEL))
    method.reveal(torch.arange(100) % (KNOWN + NOVEL))
    for stage in method.stages(7):
        method.begin(model, stage)
    model.double().train()
    (batch,) = drawn(0, config, (0.0, 1.0))
    looked: list[int] = []

    def look(numbers: torch.Tensor, progress: float) -> torch.Tensor:
        looked.append(len(numbers))
        return batch.x[numbers]

    numbered = Batch(torch.arange(len(batch.x)), batch.labels, batch.progress, batch.items)

    def whole(some: Batch) -> dict[str, torch.Tensor]:
        return method.loss(model, some)

    terms = in_parts(whole, model, model.encoder, look, parts)(numbered) if parts else whole(batch)
    torch.stack(list(terms.values())).sum().backward()
    assert len(looked) == 2 * parts  # once on the way there, once on the way back
    assert max(looked, default=0) <= -(-len(batch.x) // max(parts, 1))
    found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    return {name: term.item() for name, term in terms.items()}, found


def plain() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(WIDTH, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 8))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("parts", [2, 5])
def test_loss_and_gradient_are_those_of_the_whole(case, parts):
    loss, expected = gradients(CASES[case], 0, plain())
    same, found = gradients(CASES[case], parts, plain())
    assert same == pytest.approx(loss, abs=1e-10)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, rtol=1e-10, atol=1e-10), name


def test_running_averages_move_once_and_dropout_is_the_same_at_both_looks():
    encoder = nn.Sequential(nn.Linear(WIDTH, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
    gradients(CASES["ours"], 2, encoder)  # checkpoints compare what is computed twice, and would refuse
    assert encoder[1].num_batches_tracked == 2


def test_more_categories_than_a_batch_has_room_for_are_found():
    """Ten items for each of three categories are a step; five at once are in memory."""
    collection = blobs()
    split = part(collection, 0.1, 0.2)
    model, _, history = fit(collection, split, replace(QUICK, batch=15, encoder="flat", epochs=6))
    found = scores(collection.truth[split.test], predict(model, collection.items[split.test])[1], 3, "test")
    assert np.isfinite(history[-1]["loss/total"])
    assert found["known_acc/test/agnostic"] > 0.9
