"""The prior: its moments against draws and the paper's formula, and one sentence for each mistake."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from novakind.errors import UserError
from novakind.objective.prior import Prior

checked = settings(deadline=None, derandomize=True, max_examples=40)


known = st.integers(0, 5)
counts = st.lists(st.integers(1, 50), min_size=1, max_size=8)


def test_uniform_gives_every_novel_class_the_same_share():
    prior = Prior.uniform(3, 4)
    assert prior == Prior(3, (0.25,) * 4)
    assert prior.classes == 7
    assert prior.entropy() == pytest.approx(math.log(4))


def test_counted_gives_shares_in_proportion():
    assert Prior.counted(1, [2, 6, 2]) == Prior(1, (0.2, 0.6, 0.2))
    assert Prior.counted(0, [7]) == Prior(0, (1.0,))


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("uniform", (0.25,) * 4),
        (" uniform ", (0.25,) * 4),
        ("1/2, 1/4,1/8 ,1/8", (0.5, 0.25, 0.125, 0.125)),
        ("0.4,0.3,0.2,0.1", (0.4, 0.3, 0.2, 0.1)),
        ("4e-1,.3,2/10,0.1", (0.4, 0.3, 0.2, 0.1)),
    ],
)
def test_parse_reads_uniform_fractions_and_decimals(text: str, shares: tuple[float, ...]):
    assert Prior.parse(text, 2, 4) == Prior(2, shares)


def test_the_papers_unbalanced_priors_parse():
    for text in ("1/3,1/6,1/6,1/6,1/6", "3/7,1/7,1/7,1/7,1/7", "1/2,1/8,1/8,1/8,1/8"):
        assert sum(Prior.parse(text, 5, 5).novel) == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1/2,1/2", 'the prior "1/2,1/2" has 2 shares, but --novel asks for 3 categories'),
        ("1/4,1/4,1/4,1/4", "has 4 shares, but --novel asks for 3 categories"),
        ("-1/2,1,1/2", "the prior -0.5, 1, 0.5 holds a share that is not above 0"),
        ("0,1/2,1/2", "the prior 0, 0.5, 0.5 holds a share that is not above 0"),
        ("1/2,1/2,1/2", "the prior 0.5, 0.5, 0.5 sums to 1.5, but shares must sum to 1"),
        ("0.3,0.3,0.3", "sums to 0.9"),
        ("5,3,2", "sums to 10"),
        ("1/0,1/2,1/2", 'the prior "1/0,1/2,1/2" is not a list of numbers'),
        ("1e999,1/2,1/2", "is not a list of numbers"),
        ("nan,1/2,1/2", "is not a list of numbers"),
        ("inf,1/2,1/2", "is not a list of numbers"),
        ("many,few,none", "is not a list of numbers"),
        ("1/2;1/4;1/4", "is not a list of numbers"),
        ("1/2,1/2,", "is not a list of numbers"),
        ("", "is not a list of numbers"),
    ],
)
def test_parse_answers_a_mistake_in_one_sentence(text: str, says: str):
    with pytest.raises(UserError) as caught:
        Prior.parse(text, 5, 3)
    message = str(caught.value)
    assert says in message
    assert "\n" not in message
    assert ": " in message  # the fix follows the rule
    assert caught.value.__cause__ is None


@checked
@given(st.text(max_size=20))
def test_parse_of_garbage_is_a_prior_or_a_user_error(text: str):
    try:
        prior = Prior.parse(text, 1, 2)
    except UserError:
        return
    assert len(prior.novel) == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prior(2, ()),
        lambda: Prior(2, (float("nan"), 1.0)),
        lambda: Prior(2, (float("inf"), 1.0)),
        lambda: Prior(2, (0.5, 0.4)),
        lambda: Prior(2, (1.5, -0.5)),
        lambda: Prior.uniform(2, 0),
        lambda: Prior.uniform(2, -3),
        lambda: Prior.counted(2, []),
        lambda: Prior.counted(2, [0, 0]),
        lambda: Prior.counted(2, [3, 0]),
        lambda: Prior.counted(2, [3, -1]),
    ],
)
def test_an_impossible_prior_is_a_user_error(make):
    with pytest.raises(UserError, match=r"^[^\n]+: [^\n]+$"):
        make()


@checked
@given(known, counts)
def test_moments_follow_the_papers_formula(known: int, counts: list[int]):
    prior = Prior.counted(known, counts)
    mean, covariance = prior.mean(), prior.covariance()
    p = [0.0] * prior.known + list(prior.novel)
    assert mean.shape == (prior.classes,)
    assert covariance.shape == (prior.classes, prior.classes)
    for i in range(prior.classes):
        assert mean[i].item() == pytest.approx(p[i], abs=1e-7)
        for j in range(prior.classes):  # eq. 4, case by case
            if i < prior.known or j < prior.known:
                assert covariance[i, j] == 0
            else:
                expected = p[i] * (1 - p[i]) if i == j else -p[i] * p[j]
                assert covariance[i, j].item() == pytest.approx(expected, abs=1e-7)


@checked
@given(known, counts)
def test_covariance_is_one_of_a_distribution(known: int, counts: list[int]):
    prior = Prior.counted(known, counts)
    covariance = prior.covariance()
    assert torch.equal(covariance, covariance.T)
    torch.testing.assert_close(covariance.sum(0), torch.zeros(prior.classes), atol=1e-6, rtol=0)
    assert torch.linalg.eigvalsh(covariance.double()).min() > -1e-6
    assert prior.entropy() + 1e-12 >= 0
    assert prior.entropy() <= math.log(len(prior.novel)) + 1e-12


def test_moments_are_those_of_draws():
    prior = Prior(2, (0.5, 0.3, 0.2))
    draws = np.eye(5)[2 + np.random.default_rng(0).choice(3, size=100_000, p=prior.novel)]
    np.testing.assert_allclose(draws.mean(0), prior.mean().numpy(), atol=0.01)
    np.testing.assert_allclose(np.cov(draws.T, bias=True), prior.covariance().numpy(), atol=0.01)


@checked
@given(known=st.integers(1, 5), counts=counts, mixed=st.floats(0, 0.99))
def test_a_share_of_known_classes_is_spread_over_all_of_them_alike(known, counts, mixed):
    plain = Prior.counted(known, counts)
    prior = Prior(known, plain.novel, mixed)
    shares = prior.mean()
    assert shares.sum().item() == pytest.approx(1, abs=1e-5)
    torch.testing.assert_close(shares[:known], torch.full((known,), mixed / known))
    torch.testing.assert_close(shares[known:], (1 - mixed) * plain.mean()[known:])
    covariance = prior.covariance()
    literal = torch.diag(shares) - shares[:, None] * shares[None, :]
    torch.testing.assert_close(covariance, literal)
    torch.testing.assert_close(covariance.sum(1), torch.zeros(prior.classes), atol=1e-5, rtol=0)
    assert prior.entropy() == pytest.approx(-sum(p * math.log(p) for p in prior.shares if p > 0))
    assert prior.entropy() <= math.log(prior.classes) + 1e-9


def test_draws_from_a_mixed_prior_have_its_moments():
    prior = Prior(2, (0.75, 0.25), 0.4)
    assert prior.shares == pytest.approx((0.2, 0.2, 0.45, 0.15))
    draws = np.eye(4)[np.random.default_rng(0).choice(4, 200_000, p=prior.shares)]
    np.testing.assert_allclose(draws.mean(0), prior.mean().numpy(), atol=0.005)
    np.testing.assert_allclose(np.cov(draws.T), prior.covariance().numpy(), atol=0.005)


def test_without_known_items_a_mixed_prior_is_the_plain_one():
    assert Prior.uniform(3, 2, 0.0) == Prior.uniform(3, 2)
    assert Prior.parse("1/4,3/4", 2, 2, 0.5) == Prior(2, (0.25, 0.75), 0.5)
    assert Prior.parse("uniform", 2, 2, 0.5) == Prior(2, (0.5, 0.5), 0.5)


@pytest.mark.parametrize("mixed", [1.0, -0.1, 2.0, math.nan])
def test_a_share_out_of_range_is_refused(mixed):
    with pytest.raises(UserError) as caught:
        Prior.uniform(2, 2, mixed)
    assert str(caught.value) == (
        f"--known-share {mixed:g} is out of range, it must be from 0 to below 1: give --known-share 0.5"
    )
