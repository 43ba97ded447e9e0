"""bfloat16, compiled and pinned: how the encoder is run. No GPU is at hand: CPU autocast, and the `meta` device."""

from dataclasses import replace

import pytest
import torch
from short import QUICK, blobs
from torch import nn

from novakind.config import Config
from novakind.data.split import part
from novakind.errors import UserError
from novakind.methods import Batch
from novakind.modality.features import Features
from novakind.model import CUSTOM, Card, Model, predict
from novakind.objective.metrics import scores
from novakind.training import batches
from novakind.training.loop import fit
from novakind.training.running import has_bf16, is_narrow, runner, through

CPU, CUDA, META = map(torch.device, ("cpu", "cuda", "meta"))


class Spy(nn.Module):
    """Notes in which type it multiplies."""

    dim = 4

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 4), nn.Linear(4, 4)
        self.seen: list[torch.dtype] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        middle = self.first(x)
        self.seen.append(middle.dtype)
        return self.last(middle.relu())


def spied() -> tuple[Model, Spy]:
    torch.manual_seed(0)
    spy = Spy()
    kind = Features((0.0,) * 6, (1.0,) * 6)
    return Model(Card(CUSTOM, "prototype", 4, 0.1, 2, ("a", "b", "c"), kind.settings()), spy), spy


def loss_of(model: Model, config: Config) -> tuple[dict[str, torch.Tensor], torch.dtype]:
    """Of six items, and the type of the answers that it is of."""
    answers: list[torch.dtype] = []

    def loss(batch: Batch) -> dict[str, torch.Tensor]:
        logp = model(batch.x)
        answers.append(logp.dtype)
        return {"ce": -logp[:, 0].mean(), "products": (logp.T @ logp).mean()}

    x = torch.linspace(-1, 1, 36).view(6, 6)
    terms = through(loss, model, runner(model, config))(Batch(x, torch.tensor([0, 1]), 0.5, torch.arange(2)))
    torch.stack(list(terms.values())).sum().backward()
    return terms, answers[0]


def test_the_encoder_is_narrow_and_the_loss_is_not():
    model, spy = spied()
    whole, _ = loss_of(model, Config(precision="float32"))
    exact = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    narrow, answers = loss_of(model, Config(precision="bf16"))
    assert spy.seen[-2:] == [torch.float32, torch.bfloat16]
    assert answers == torch.float32
    for name, term in narrow.items():
        assert term.dtype == torch.float32
        assert term.item() == pytest.approx(whole[name].item(), rel=0.02)
        assert term.item() != whole[name].item()
    for name, weight in model.named_parameters():
        assert weight.grad is not None
        assert weight.grad.dtype == torch.float32
        assert torch.allclose(weight.grad, exact[name], rtol=0.1, atol=0.02), name
    assert model.encoder is spy
    predict(model, torch.zeros(3, 6).numpy())
    assert spy.seen[-1] == torch.float32  # predictions are not narrow


def test_where_it_is_narrow(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert is_narrow("auto", CUDA)
    assert not is_narrow("float32", CUDA)
    assert not is_narrow("auto", CPU)  # it is slower there, as a rule
    assert is_narrow("bf16", CPU)
    assert not is_narrow("auto", META)
    with pytest.raises(UserError, match="--precision bf16 is asked for, but this meta has none: give --precision fl"):
        is_narrow("bf16", META)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert not has_bf16(CUDA)
    assert not is_narrow("auto", CUDA)


@pytest.mark.parametrize("batch", [64, 15])  # ten for each of three categories are a step: in one part, and in two
def test_a_training_in_bf16_finds_the_classes(batch):
    collection = blobs()
    split = part(collection, 0.1, 0.2)
    config = replace(QUICK, encoder="mlp", epochs=8, batch=batch, precision="bf16")
    model, _, _ = fit(collection, split, config)
    found = scores(collection.truth[split.test], predict(model, collection.items[split.test])[1], 3, "test")
    assert found["known_acc/test/agnostic"] > 0.9
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


def test_a_compiled_encoder_gives_the_same(monkeypatch):
    """Compiled as far as it goes everywhere: what makes machine code of it needs a compiler and a minute."""
    compile_, asked = torch.compile, []
    monkeypatch.setattr(torch, "compile", lambda encoder: asked.append(encoder) or compile_(encoder, backend="eager"))
    model, spy = spied()
    whole, _ = loss_of(model, Config())
    model.zero_grad()
    fast, _ = loss_of(model, Config(compile=True))
    assert asked == [spy]
    assert {name: term.item() for name, term in fast.items()} == {name: term.item() for name, term in whole.items()}
    assert all(weight.grad is not None for weight in model.parameters())
    assert "_orig_mod" not in "".join(model.state_dict())


def test_what_cannot_be_compiled_is_told_in_a_sentence(monkeypatch):
    def broken(graph: object, inputs: object) -> None:
        raise RuntimeError("no compiler\nis here")

    compile_ = torch.compile
    monkeypatch.setattr(torch, "compile", lambda encoder: compile_(encoder, backend=broken))
    model, _ = spied()
    with pytest.raises(UserError, match=r"the encoder cannot be compiled .*leave --compile out"):
        loss_of(model, Config(compile=True))
    assert isinstance(model.encoder, Spy)


def test_copies_to_a_gpu_are_pinned_and_do_not_wait(monkeypatch):
    told: list[object] = []

    model, _ = spied()
    monkeypatch.setattr(Model, "device", CUDA)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: told.append("pinned") or tensor)
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, *where, **how: told.append((where, how)) or tensor)
    batches.placed(torch.zeros(3), model)
    assert told == ["pinned", ((CUDA,), {"non_blocking": True})]
    told.clear()
    monkeypatch.setattr(Model, "device", CPU)
    batches.placed(torch.zeros(3), model)
    assert told == [((CPU,), {})]
