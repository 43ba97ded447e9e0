"""The course of the learning rate, what is decayed, and Muon."""

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from novakind.config import Optim
from novakind.methods.clusters import Clusters
from novakind.training.optim import Muon, lr_factor, make_optimizer, orthogonalise, set_lr


@pytest.mark.parametrize(
    ("schedule", "course"),
    [
        ("linear", {0: 0, 0.1: 0.5, 0.2: 1, 0.6: 0.5, 0.8: 0.25, 1: 0}),
        ("cosine", {0: 0, 0.1: 0.5, 0.2: 1, 0.4: 0.5 + 2**0.5 / 4, 0.6: 0.5, 1: 0}),
        ("constant", {0: 0, 0.1: 0.5, 0.2: 1, 0.6: 1, 1: 1}),
    ],
)
def test_the_learning_rate_warms_up_and_falls(schedule, course):
    optim = Optim(schedule=schedule, warmup=0.2)
    assert {at: lr_factor(optim, at) for at in course} == pytest.approx(course, abs=1e-12)
    values = [lr_factor(optim, at) for at in np.linspace(0, 1, 501)]
    top = int(np.argmax(values))
    assert all(a <= b for a, b in itertools.pairwise(values[: top + 1]))
    assert all(a >= b for a, b in itertools.pairwise(values[top:]))


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_the_ends_of_the_warm_up(schedule):
    assert lr_factor(Optim(schedule=schedule, warmup=0), 0) == 1
    assert lr_factor(Optim(schedule=schedule, warmup=1), 0.5) == 0.5
    assert 0 <= lr_factor(Optim(schedule=schedule, warmup=1), 1) <= 1


def small_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(8 * 16, 5))


def gradients(model: nn.Module, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    model.zero_grad()
    model(torch.randn(8, 3, 6, 6, generator=generator)).square().mean().backward()


def test_matrices_of_one_shape_move_as_each_would_alone():
    starts, grads = torch.randn(3, 4, 7), torch.randn(3, 4, 7)
    together, alone = ([nn.Parameter(start.clone()) for start in starts] for _ in range(2))
    for weights in (together, alone):
        for weight, grad in zip(weights, grads, strict=True):
            weight.grad = grad.clone()
    for weights in (together, *([weight] for weight in alone)):
        Muon([{"params": weights}], 0.1, 0.9, True).step()
    torch.testing.assert_close([weight.data for weight in together], [weight.data for weight in alone])


@pytest.mark.parametrize("name", ["sgd", "adamw", "muon"])
def test_matrices_are_decayed_and_vectors_are_not(name):
    model, optim = small_model(), Optim(name, lr=0.1, weight_decay=0.5, momentum=0)
    model[0].bias.requires_grad_(False)
    model[1].bias.data.fill_(1)
    optimizer = make_optimizer(model, optim)
    held = [weight for group in optimizer.param_groups for weight in group["params"]]
    wanted = [weight for weight in model.parameters() if weight.requires_grad]
    assert sorted(map(id, held)) == sorted(map(id, wanted))  # each once; what is frozen is left alone
    before = copy.deepcopy(model.state_dict())
    for weight in wanted:
        weight.grad = torch.zeros_like(weight)
    assert set_lr(optimizer, optim, 0.05) == pytest.approx(0.1)
    optimizer.step()
    for key in ("0.weight", "3.weight"):
        torch.testing.assert_close(model.state_dict()[key], 0.95 * before[key])
    for key in ("1.weight", "1.bias", "3.bias", "0.bias"):
        assert torch.equal(model.state_dict()[key], before[key])


def test_centres_take_plain_steps():
    """An orthogonal step would move all of them equally far, wherever their items are."""
    clusters, optim = Clusters(4, 2), Optim("muon", lr=0.1, weight_decay=0.5, momentum=0, nesterov=False)
    clusters.place(np.random.default_rng(0).normal(size=(20, 4)), 0)
    before = copy.deepcopy(clusters.state_dict())
    optimizer = make_optimizer(clusters, optim)
    for weight in clusters.parameters():
        weight.grad = torch.randn_like(weight)
    set_lr(optimizer, optim, 0.05)
    optimizer.step()
    for name, weight in clusters.named_parameters():
        torch.testing.assert_close(weight.detach(), before[name] - 0.01 * weight.grad)


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (5, 40), (40, 5), (64, 27)])
def test_orthogonalise_is_nearly_u_v_of_the_svd(shape):
    rng = np.random.default_rng(0)
    smaller = min(shape)
    left, _ = np.linalg.qr(rng.normal(size=(shape[0], smaller)))
    right, _ = np.linalg.qr(rng.normal(size=(shape[1], smaller)))
    singular = np.linspace(0.1, 1, smaller)
    matrix = torch.from_numpy(left * singular @ right.T).float()
    result = orthogonalise(matrix[None])[0].double().numpy()
    kept = left.T @ result @ right  # diagonal: the same directions, with singular values near 1
    np.testing.assert_allclose(kept - np.diag(np.diag(kept)), 0, atol=1e-4)
    np.testing.assert_allclose(left @ kept @ right.T, result, atol=1e-4)
    assert np.diag(kept).min() > 0.6
    assert np.diag(kept).max() < 1.25
    alike = orthogonalise(torch.stack([matrix, 1e4 * matrix, 0 * matrix]))
    torch.testing.assert_close(alike[1], alike[0], rtol=1e-3, atol=1e-4)
    assert not alike[2].any()


@pytest.mark.parametrize("smallest", [0.1, 1e-3, 1e-6, 0.0])
def test_rounds_on_the_gram_matrix_are_rounds_on_the_matrix(smallest):
    rng = np.random.default_rng(1)
    left, right = (np.linalg.qr(rng.normal(size=(size, 24)))[0] for size in (24, 90))
    matrix = left * np.geomspace(max(smallest, 1e-9), 1, 24) @ right.T
    x = matrix / np.linalg.norm(matrix)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    np.testing.assert_allclose(orthogonalise(torch.from_numpy(matrix[None]).float())[0], x, atol=2e-3)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_filters_move_alike_however_they_lie_in_memory(memory):
    start, grad = torch.randn(6, 3, 2, 2), torch.randn(6, 3, 2, 2)
    filters = nn.Parameter(start.clone().to(memory_format=memory))
    filters.grad = grad.clone().to(memory_format=memory)
    Muon([{"params": [filters]}], 0.1, 0.0, False).step()
    torch.testing.assert_close(filters.data, start - 0.1 * orthogonalise(grad.flatten(1)[None]).view_as(grad))
    assert filters.is_contiguous(memory_format=memory)


def fitted(optim: Optim, steps: int = 150) -> float:
    """The loss of a least-squares problem with a matrix and a vector, after `steps`."""
    generator = torch.Generator().manual_seed(0)
    inputs, wanted = torch.randn(64, 10, generator=generator), torch.randn(64, 4, generator=generator)
    model = nn.Linear(10, 4)
    nn.init.constant_(model.weight, 1.0)
    best = torch.linalg.lstsq(torch.cat([inputs, torch.ones(64, 1)], 1), wanted).solution
    floor = (torch.cat([inputs, torch.ones(64, 1)], 1) @ best - wanted).square().mean()
    optimizer = make_optimizer(model, optim)
    loss = torch.zeros(())
    for step in range(steps):
        set_lr(optimizer, optim, step / steps)
        optimizer.zero_grad()
        loss = (model(inputs) - wanted).square().mean()
        loss.backward()
        optimizer.step()
    return (loss - floor).item()


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize(("name", "lr"), [("sgd", 0.1), ("adamw", 0.2), ("muon", 0.3)])
def test_a_quadratic_is_minimised(name, lr, nesterov):
    assert fitted(Optim(name, lr=lr, weight_decay=0, nesterov=nesterov)) < 0.01


@pytest.mark.parametrize("nesterov", [True, False])
def test_muon_step_by_hand(nesterov):
    matrix, vector = nn.Parameter(torch.ones(6, 3)), nn.Parameter(torch.ones(4))
    optimizer = Muon([{"params": [matrix], "weight_decay": 0.5}, {"params": [vector]}], 0.1, 0.9, nesterov)
    grad, other = torch.randn(6, 3), torch.randn(4)
    momentum, momentum_of_other = torch.zeros(6, 3), torch.zeros(4)
    expected: tuple[Tensor, Tensor] = (torch.ones(6, 3), torch.ones(4))
    for _ in range(2):
        matrix.grad, vector.grad = grad.clone(), other.clone()
        optimizer.step()
        momentum, momentum_of_other = 0.9 * momentum + grad, 0.9 * momentum_of_other + other
        change = grad + 0.9 * momentum if nesterov else momentum
        change_of_other = other + 0.9 * momentum_of_other if nesterov else momentum_of_other
        expected = (
            expected[0] * (1 - 0.1 * 0.5) - 0.1 * (6 / 3) ** 0.5 * orthogonalise(change[None])[0],
            expected[1] - 0.1 * 0.1 * change_of_other,
        )
    torch.testing.assert_close((matrix.data, vector.data), expected)


@pytest.mark.parametrize("name", ["sgd", "adamw", "muon"])
def test_a_restored_optimizer_goes_on_identically(name, tmp_path):
    optim = Optim(name, lr=0.05)
    model = small_model()
    optimizer = make_optimizer(model, optim)
    for step in range(3):
        gradients(model, step)
        optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "state.pt")
    saved = torch.load(tmp_path / "state.pt", weights_only=True)
    resumed = small_model()
    resumed.load_state_dict(saved["model"])
    resumed_optimizer = make_optimizer(resumed, optim)
    resumed_optimizer.load_state_dict(saved["optimizer"])
    for step in range(3, 6):
        for pair in ((model, optimizer), (resumed, resumed_optimizer)):
            gradients(pair[0], step)
            set_lr(pair[1], optim, step / 6)
            pair[1].step()
    for key, value in model.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key
