"""What docs/theory.md claims of a prior with known classes among the unlabeled items."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from novakind.objective import losses
from novakind.objective.prior import Prior

checked = settings(deadline=None, derandomize=True, max_examples=30)
PRIOR = Prior(2, (0.5, 0.3, 0.2), mixed=0.4)


def target(prior: Prior) -> tuple[Tensor, Tensor]:
    """Mean and covariance with all digits of float64."""
    mean = torch.tensor(prior.shares, dtype=torch.float64)
    return mean, torch.diag(mean) - torch.outer(mean, mean)


def random_probs(seed: int, batch: int, classes: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(3 * torch.randn(batch, classes, generator=generator, dtype=torch.float64), 1)


def divergence(first: Tensor, second: Tensor) -> Tensor:
    return (torch.xlogy(first, first) - first * second.log()).sum()


@checked
@given(st.integers(0, 9999), st.integers(1, 4), st.integers(1, 4), st.floats(0, 0.9))
def test_mean_kl_asks_how_many_are_known_and_how_both_spread(seed: int, known: int, novel: int, share: float):
    prior = Prior.uniform(known, novel, share)
    probs = random_probs(seed, 8, known + novel)
    mean = probs.mean(0)
    mass = mean[known:].sum()
    how_many = divergence(torch.tensor([share, 1 - share]).double(), torch.stack([1 - mass, mass]))
    of_known = divergence(torch.full((known,), 1 / known).double(), mean[:known] / (1 - mass))
    of_novel = divergence(torch.full((novel,), 1 / novel).double(), mean[known:] / mass)
    expected = how_many + share * of_known + (1 - share) * of_novel
    torch.testing.assert_close(losses.mean_kl(probs.log(), target(prior)[0]), expected, rtol=0, atol=1e-6)


def test_bounds_and_floor_count_all_classes():
    classes, batch = PRIOR.classes, 200
    mean, covariance = target(PRIOR)
    generator = torch.Generator().manual_seed(0)
    draws = torch.multinomial(mean, 2000 * batch, replacement=True, generator=generator).view(2000, batch)
    shares = torch.nn.functional.one_hot(draws, classes).double().mean(1)
    floor = torch.stack([divergence(mean, row) for row in shares]).mean().item()
    assert floor == pytest.approx((classes - 1) / (2 * batch), rel=0.1)
    for blur in (0.1, 0.5, 1.0):  # the right mean, and less and less decided
        decided = torch.eye(classes, dtype=torch.float64).repeat_interleave(torch.tensor([4, 4, 6, 4, 2]), 0)
        probs = (1 - blur) * decided + blur * decided.mean(0)
        _, aim = target(Prior(0, tuple(decided.mean(0).tolist())))
        impurity = (1 - probs.square().sum(1)).mean().item()
        value = losses.covariance_norm(probs.log(), aim).item()
        assert impurity / math.sqrt(classes - 1) <= value + 1e-12
        assert value <= impurity + 1e-12
    torch.testing.assert_close(PRIOR.covariance().double(), covariance, rtol=0, atol=1e-6)


def test_with_equal_shares_known_and_novel_neurons_are_alike():
    mean, covariance = target(Prior.uniform(2, 3, mixed=2 / 5))
    logp = random_probs(0, 16, 5).log()
    exchanged = logp[:, [3, 4, 2, 0, 1]]
    for term, aim in ((losses.mean_kl, mean), (losses.covariance_norm, covariance)):
        torch.testing.assert_close(term(logp, aim), term(exchanged, aim))
