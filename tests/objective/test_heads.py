"""The heads: against their formula written item by item, what they keep fixed, and gradients."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from novakind.objective.heads import HEADS, CentroidHead, LinearHead, PrototypeHead

checked = settings(deadline=None, derandomize=True, max_examples=25)


def heads(dim: int = 12, classes: int = 5) -> list[nn.Module]:
    torch.manual_seed(0)
    return [LinearHead(dim, classes), PrototypeHead(dim, classes, tau=0.1)]


def literal_prototype(embedding: Tensor, prototypes: Tensor, tau: float) -> Tensor:
    """Eq. 6, one item and one class at a time."""
    rows = []
    for item in embedding:
        direction = item / item.square().sum().sqrt()
        scores = [torch.exp(torch.dot(prototype, direction) / tau) for prototype in prototypes]
        rows.append(torch.stack([score / sum(scores) for score in scores]))
    return torch.stack(rows)


def literal_linear(embedding: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """softmax(g(ReLU(e))), one item at a time."""
    rows = []
    for item in embedding:
        scores = torch.exp(weight @ torch.where(item > 0, item, torch.zeros_like(item)) + bias)
        rows.append(scores / scores.sum())
    return torch.stack(rows)


@pytest.mark.parametrize("tau", [0.05, 0.1, 1.0])
def test_prototype_head_is_equation_6_in_value_and_gradient(tau: float):
    torch.manual_seed(0)
    head = PrototypeHead(16, 6, tau).double()
    head.prototypes.copy_(torch.nn.functional.normalize(head.prototypes, dim=1))  # of length 1 in float64 too
    embedding = torch.randn(9, 16, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(9, 6, dtype=torch.float64)
    expected = literal_prototype(embedding, head.prototypes, tau).log()
    torch.testing.assert_close(head(embedding), expected, rtol=1e-10, atol=1e-10)
    (ours,) = torch.autograd.grad((head(embedding) * weights).sum(), embedding)
    (literal,) = torch.autograd.grad((expected * weights).sum(), embedding)
    torch.testing.assert_close(ours, literal, rtol=1e-8, atol=1e-10)


def test_linear_head_is_softmax_of_a_linear_map_of_relu():
    torch.manual_seed(0)
    head = LinearHead(16, 6).double()
    embedding = torch.randn(9, 16, dtype=torch.float64)
    expected = literal_linear(embedding, head.classifier.weight, head.classifier.bias).log()
    torch.testing.assert_close(head(embedding), expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(head(embedding), head(embedding.clamp(min=0)))  # what is negative is not seen


@pytest.mark.parametrize("which", [0, 1])
def test_gradients_in_float64(which: int):
    head = heads()[which].double()
    embedding = torch.randn(4, 12, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(head, (embedding,))


def test_prototypes_are_fixed_unit_and_saved():
    torch.manual_seed(0)
    head = PrototypeHead(512, 20)
    torch.testing.assert_close(head.prototypes.norm(dim=1), torch.ones(20))
    assert list(head.parameters()) == []
    assert not head.prototypes.requires_grad
    torch.manual_seed(1)
    other = PrototypeHead(512, 20)
    assert not torch.equal(head.prototypes, other.prototypes)
    other.load_state_dict(head.state_dict())
    assert torch.equal(head.prototypes, other.prototypes)
    torch.manual_seed(0)
    assert torch.equal(PrototypeHead(512, 20).prototypes, head.prototypes)  # the seed decides


def test_of_centres_of_unlike_lengths_the_nearest_is_the_most_probable():
    torch.manual_seed(0)
    head = PrototypeHead(16, 6)
    head.prototypes.mul_(torch.linspace(0.3, 0.9, 6)[:, None])
    items = torch.nn.functional.normalize(torch.randn(50, 16), dim=1)
    assert torch.equal(head(items).argmax(1), torch.cdist(items, head.prototypes).argmin(1))


def test_prototypes_are_nearly_orthogonal_in_many_dimensions():
    torch.manual_seed(0)
    prototypes = PrototypeHead(4096, 30).prototypes
    cosine = prototypes @ prototypes.T - torch.eye(30)
    assert cosine.abs().max() < 5 / math.sqrt(4096)


@checked
@given(st.floats(-3, 3), st.integers(0, 10_000))
def test_only_the_direction_of_an_embedding_matters_to_prototypes(log_scale: float, seed: int):
    torch.manual_seed(seed)
    head = PrototypeHead(24, 5)
    embedding = torch.randn(6, 24)
    torch.testing.assert_close(head(embedding * 10**log_scale), head(embedding), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("which", [0, 1])
def test_rows_are_distributions_and_items_do_not_mix(which: int):
    head = heads()[which]
    embedding = torch.randn(8, 12)
    logp = head(embedding)
    torch.testing.assert_close(logp.exp().sum(1), torch.ones(8))
    order = torch.randperm(8)
    torch.testing.assert_close(head(embedding[order]), logp[order])
    torch.testing.assert_close(head(embedding[2:3]), logp[2:3])


def test_probabilities_of_prototypes_are_bounded_by_tau():
    """A cosine lies in [-1, 1], so no probability exceeds 1 / (1 + (K - 1) e^(-2 / tau))."""
    torch.manual_seed(0)
    head = PrototypeHead(32, 5, tau=0.5)
    most = head(head.prototypes * 7).exp().max()
    assert most < 1 / (1 + 4 * math.exp(-4))
    assert torch.equal(head(head.prototypes).argmax(1), torch.arange(5))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("scale", [0.0, 1e-20, 1e18])
def test_extreme_embeddings_stay_finite(which: int, scale: float):
    head = heads()[which]
    embedding = (scale * torch.randn(4, 12)).requires_grad_()
    logp = head(embedding)
    assert logp.isfinite().all()
    (gradient,) = torch.autograd.grad(logp[:, 0].sum(), embedding)
    assert gradient.isfinite().all()


def test_centroid_head_prefers_the_nearest_centre():
    torch.manual_seed(0)
    head = CentroidHead(8, 4).double()
    assert list(head.parameters()) == []
    head.centres.copy_(torch.randn(4, 8))
    head.spread.fill_(2.5)
    embedding = torch.randn(7, 8, dtype=torch.float64)
    rows = []
    for item in embedding:
        scores = torch.stack([torch.exp(-(item - centre).square().sum() / 2.5) for centre in head.centres])
        rows.append(scores / scores.sum())
    torch.testing.assert_close(head(embedding), torch.stack(rows).log())
    assert torch.equal(head(head.centres).argmax(1), torch.arange(4))


@pytest.mark.parametrize("name", HEADS)
def test_every_head_is_built_the_same_way(name: str):
    head = HEADS[name](6, 3, tau=0.5)
    torch.testing.assert_close(head(torch.randn(5, 6)).exp().sum(1), torch.ones(5))
