"""What docs/theory.md claims and no other test shows: identities of the two batch terms, their slopes at the collapses,
their floors in random batches, and where the two corollaries of the supplement stop being exact."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from novakind.objective import losses, vmf
from novakind.objective.heads import PrototypeHead
from novakind.objective.prior import Prior
from novakind.objective.vmf import Mixture

checked = settings(deadline=None, derandomize=True, max_examples=30)
PRIOR = Prior(2, (0.5, 0.3, 0.2))
EQUAL = Prior.uniform(2, 3)


def targets(prior: Prior) -> tuple[Tensor, Tensor]:
    """Mean and covariance of the prior with all digits of float64."""
    mean = torch.tensor((0.0,) * prior.known + prior.novel, dtype=torch.float64)
    return mean, torch.diag(mean) - torch.outer(mean, mean)


def random_probs(seed: int, batch: int, classes: int, scale: float = 3.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(scale * torch.randn(batch, classes, generator=generator, dtype=torch.float64), 1)


# Why predictions cluster.


@checked
@given(st.integers(0, 9999), st.integers(2, 6), st.floats(0.1, 8))
def test_the_covariance_that_is_missing_is_the_mean_doubt_of_single_items(seed: int, novel: int, scale: float):
    """Every batch has the right mean for the prior that is its own mean, so the law of total covariance must hold."""
    probs = random_probs(seed, 12, novel, scale)
    _, target = targets(Prior(0, tuple(probs.mean(0).tolist())))
    doubt = torch.stack([torch.diag(row) - torch.outer(row, row) for row in probs]).mean(0)
    torch.testing.assert_close(target - losses.covariance(probs.log()), doubt, rtol=0, atol=1e-14)
    # So L_var lies between two multiples of the mean impurity 1 - |p|^2, and the entropy lies above it.
    impurity = (1 - probs.square().sum(1)).mean().item()
    value = losses.covariance_norm(probs.log(), target).item()
    assert impurity / math.sqrt(novel - 1) <= value + 1e-12
    assert value <= impurity + 1e-12
    assert losses.entropy(probs.log()).item() >= impurity - 1e-12


def test_covariance_alone_leaves_the_mean_open_when_shares_differ():
    """Neither the mean nor a decision is right here, and yet the covariance is."""
    mean, target = targets(Prior(0, (0.9, 0.1)))
    logp = torch.tensor([[0.8, 0.2], [0.2, 0.8]], dtype=torch.float64).log()
    assert losses.covariance_norm(logp, target).item() == pytest.approx(0, abs=1e-15)
    assert losses.mean_kl(logp, mean).item() > 0.3


@checked
@given(st.integers(0, 9999), st.integers(0, 3), st.integers(2, 6), st.floats(0.1, 8))
def test_covariance_alone_is_enough_when_shares_are_equal(seed: int, known: int, novel: int, scale: float):
    """Whatever the mean: L_var is at least what is lost to known classes, left in doubt and unevenly shared."""
    probs = random_probs(seed, 12, known + novel, scale)
    _, target = targets(Prior.uniform(known, novel))
    ours = probs[:, known:]
    mass, mean = ours.sum(1), ours.mean(0)
    lost = (1 - 1 / novel) * (1 - mass.square()).mean()
    doubt = (mass.square() - ours.square().sum(1)).mean()
    uneven = (mean - mean.mean()).square().sum()
    value = losses.covariance_norm(probs.log(), target)
    assert value >= (lost + doubt + uneven) / math.sqrt(novel - 1) - 1e-12


@checked
@given(st.integers(0, 9999))
def test_mean_kl_is_the_shares_among_novel_classes_and_the_mass_that_is_lost(seed: int):
    probs = random_probs(seed, 8, PRIOR.classes)
    mean, _ = targets(PRIOR)
    novel = probs.mean(0)[PRIOR.known :]
    mass = novel.sum()
    shares = mean[PRIOR.known :]
    expected = (shares * (shares / (novel / mass)).log()).sum() - mass.log()
    torch.testing.assert_close(losses.mean_kl(probs.log(), mean), expected)
    assert losses.mean_kl(probs.log(), mean) >= -mass.log() - 1e-12
    assert losses.novel_mass(probs.log(), PRIOR.known) >= -mass.log() - 1e-12


# The collapses.


@checked
@given(st.integers(0, 9999), st.floats(0.1, 100))
def test_among_equal_predictions_the_slope_of_mean_kl_is_that_of_cross_entropy(seed: int, scale: float):
    """However confident the one answer is: prediction minus prior, summed over the batch."""
    generator = torch.Generator().manual_seed(seed)
    row = scale * torch.randn(1, PRIOR.classes, generator=generator, dtype=torch.float64)
    logits = row.repeat(16, 1).requires_grad_()
    mean, target = targets(PRIOR)
    (slope,) = torch.autograd.grad(losses.mean_kl(torch.log_softmax(logits, 1), mean), logits)
    torch.testing.assert_close(slope.sum(0), torch.softmax(row, 1)[0] - mean, rtol=0, atol=1e-12)
    # The covariance of equal predictions is stationary, whatever they are.
    (flat,) = torch.autograd.grad(losses.covariance_norm(torch.log_softmax(logits, 1), target), logits)
    assert flat.abs().max() < 1e-12


@pytest.mark.parametrize("term", ["entropy", "covariance_norm"])
def test_undecided_is_a_saddle_that_small_differences_leave(term: str):
    """With equal shares: no slope at the very point, and away from it next to it."""
    mean, target = targets(EQUAL)
    undecided = mean.clamp(min=1e-12).log().repeat(30, 1)
    difference = torch.randn(30, EQUAL.classes, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def value(logp: Tensor) -> Tensor:
        return losses.entropy(logp) if term == "entropy" else losses.covariance_norm(logp, target)

    logits = undecided.clone().requires_grad_()
    (slope,) = torch.autograd.grad(value(torch.log_softmax(logits, 1)), logits)
    assert slope.abs().max() < 1e-9
    logits = (undecided + 1e-3 * difference).requires_grad_()
    (slope,) = torch.autograd.grad(value(torch.log_softmax(logits, 1)), logits)
    spread = losses.covariance(torch.log_softmax(logits, 1)).trace()
    assert losses.covariance(torch.log_softmax(logits - 10 * slope, 1)).trace() > 1.1 * spread


# The sampling floor: perfect predictions, random batches.


def floors(shares: np.ndarray, batch: int, draws: int = 20_000) -> tuple[float, float, float]:
    """Mean L_kl, mean L_var and root mean square L_var of one-hot predictions whose counts are multinomial.

    Batches that miss a class, which would cost infinitely many nats, are left out; they are as rare as they should be.
    """
    mean = np.random.default_rng(0).multinomial(batch, shares, draws) / batch
    complete = mean.min(1) > 0
    assert (~complete).sum() <= 5 + 2 * draws * ((1 - shares) ** batch).sum()
    mean = mean[complete]
    kl = (shares * np.log(shares / mean)).sum(1)

    def covariance(p: np.ndarray) -> np.ndarray:
        return p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]

    var = np.linalg.norm(covariance(mean) - covariance(shares[None]), axis=(1, 2))
    return kl.mean(), var.mean(), math.sqrt((var**2).mean())


@pytest.mark.parametrize("shares", [(0.2,) * 5, (0.5, 0.125, 0.125, 0.125, 0.125), (1 / 11,) * 11])
@pytest.mark.parametrize("batch", [128, 512])
def test_floors_of_both_terms(shares: tuple[float, ...], batch: int):
    p, novel = np.array(shares), len(shares)
    kl, mean_var, rms_var = floors(p, batch)
    second = (5 * (1 / p).sum() - 6 * novel + 1) / (12 * batch**2)
    assert kl == pytest.approx((novel - 1) / (2 * batch) + second, rel=0.03)
    square, cube = (p**2).sum(), (p**3).sum()
    assert rms_var == pytest.approx(math.sqrt((1 - 3 * square - 4 * square**2 + 6 * cube) / batch), rel=0.03)
    if len(set(shares)) == 1:
        assert rms_var == pytest.approx(math.sqrt((novel - 1) * (novel - 2) / batch) / novel, rel=0.03)
        assert mean_var == pytest.approx(math.sqrt((novel - 1.5) * (novel - 2) / batch) / novel, rel=0.03)


def test_the_formula_of_the_floor_is_that_of_the_losses():
    """The counts above stand for one-hot rows: for them `losses` gives the same numbers."""
    counts, shares = torch.tensor([7, 2, 3]), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    logp = torch.eye(3, dtype=torch.float64).repeat_interleave(counts, 0).log()
    mean = counts / counts.sum().double()
    torch.testing.assert_close(losses.covariance(logp), torch.diag(mean) - torch.outer(mean, mean))
    torch.testing.assert_close(losses.mean_kl(logp, shares), (shares * (shares / mean).log()).sum())


def test_two_equal_classes_have_a_floor_of_higher_order():
    _, mean_var, _ = floors(np.array([0.5, 0.5]), 128)
    assert mean_var == pytest.approx(1 / (2 * 128), rel=0.03)


# The corollaries.


def test_corollary_1_a_class_shrinks_to_one_point():
    """Embeddings that start as a von Mises-Fisher cloud of concentration 1 / tau do not stay one under cross-entropy.

    The one point of a class is where the embedding is parallel to mu_k - sum_j p_j mu_j.
    """
    torch.manual_seed(0)
    classes, dim, tau = 4, 8, 0.5
    head = PrototypeHead(dim, classes, tau).double()
    means = head.prototypes.numpy()
    means = means / np.linalg.norm(means, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    cloud = np.concatenate([vmf.sample(mean, 1 / tau, 25, rng) for mean in means])
    labels = torch.arange(classes).repeat_interleave(25)
    free = torch.tensor(cloud).requires_grad_()
    optimizer = torch.optim.Adam([free], 3e-2)
    for _ in range(400):
        optimizer.zero_grad()
        losses.cross_entropy(head(free), labels).backward()
        optimizer.step()
    final = torch.nn.functional.normalize(free.detach(), dim=1)
    probs = head(final).exp()
    pull = torch.nn.functional.normalize(head.prototypes[labels] - probs @ head.prototypes, dim=1)
    assert (pull * final).sum(1).min() > 0.999
    for k in range(classes):
        mine = final[labels == k].numpy()
        assert vmf.concentration(dim, float(np.linalg.norm(mine.mean(0)))) > 1000 / tau


def test_corollary_2_undecided_solves_the_papers_equation_and_not_that_of_em():
    """All items at one place between two prototypes: the mean posterior with equal weights is a prior, and L_kl is 0
    there; EM's own posterior carries the weights, so they move on until one component has all."""
    tau, angle = 0.5, 0.2
    means = np.array([[1.0, 0.0], [-1.0, 0.0]])
    items = np.tile([math.sin(angle), math.cos(angle)], (10, 1))
    kappas = np.full(2, 1 / tau)
    prior = Mixture(np.full(2, 0.5), means, kappas).posterior(items).mean(0)
    head = PrototypeHead(2, 2, tau).double()
    head.prototypes.copy_(torch.tensor(means))
    assert losses.mean_kl(head(torch.tensor(items)), torch.tensor(prior)).item() == pytest.approx(0, abs=1e-12)
    weights = Mixture(prior, means, kappas).posterior(items).mean(0)
    np.testing.assert_allclose(weights, prior**2 / (prior**2).sum())
    assert weights[0] > prior[0] + 0.1
    for _ in range(50):
        weights = Mixture(weights, means, kappas).posterior(items).mean(0)
    np.testing.assert_allclose(weights, [1, 0], atol=1e-6)
