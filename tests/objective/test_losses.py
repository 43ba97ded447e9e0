"""Each loss against the paper's matrices written out (K x B, columns are items), its identities, and its gradients."""

import math
from collections.abc import Callable

import literal
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from predictions import CLASSES, COVARIANCE, KNOWN, MEAN, PRIOR, balanced, checked, every_loss, hard, log_probs, logits
from torch import Tensor

from novakind.objective import losses
from novakind.objective.prior import Prior

# Name -> (ours on rows of log-probabilities, the paper's on columns of probabilities), of one or two views.
LABELS = torch.tensor([0, 1, 1, 4, 3, 0, 2, 2, 0])
Pair = tuple[Callable[..., Tensor], Callable[..., Tensor]]
ONE_VIEW: dict[str, Pair] = {
    "cross_entropy": (lambda p: losses.cross_entropy(p, LABELS), lambda P: literal.cross_entropy(P, LABELS)),
    "entropy": (losses.entropy, literal.entropy),
    "sharpened": (lambda p: losses.sharpened(p, 0.1), lambda P: literal.sharpened(P, 0.1)),
    "mean_kl": (lambda p: losses.mean_kl(p, MEAN), lambda P: literal.mean_kl(P, MEAN)),
    "covariance_norm": (
        lambda p: losses.covariance_norm(p, COVARIANCE),
        lambda P: literal.covariance_norm(P, COVARIANCE),
    ),
    "mean_kl_one_sided": (
        lambda p: losses.mean_kl_one_sided(p, MEAN),
        lambda P: literal.mean_kl_one_sided(P, MEAN),
    ),
    "variance_diagonal": (
        lambda p: losses.variance_diagonal(p, MEAN, KNOWN),
        lambda P: literal.variance_diagonal(P, MEAN, KNOWN),
    ),
    "novel_entropy": (lambda p: losses.novel_entropy(p, KNOWN, 0.05), lambda P: literal.novel_entropy(P, KNOWN, 0.05)),
    "novel_mass": (lambda p: losses.novel_mass(p, KNOWN), lambda P: literal.novel_mass(P, KNOWN)),
}
TWO_VIEWS: dict[str, Pair] = {
    "consistency_norm": (losses.consistency_norm, literal.consistency),
    "consistency_mse": (losses.consistency_mse, lambda P, Q: torch.trace((P - Q).T @ (P - Q)) / P.numel()),
    "swapped": (losses.swapped, literal.swapped),
}
SHARP_SWAP = {"swapped_sharpened": losses.swapped_sharpened}
BOTH = {**ONE_VIEW, **TWO_VIEWS}
UNLABELED = {name: ours for name, (ours, _) in BOTH.items() if name != "cross_entropy"} | SHARP_SWAP
VIEWS = dict.fromkeys(ONE_VIEW, 1) | dict.fromkeys((*TWO_VIEWS, *SHARP_SWAP), 2)


# Equality with the paper's formula.


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("seed", range(3))
def test_value_and_gradient_equal_those_of_the_formula(name: str, seed: int):
    ours, formula = BOTH[name]
    rows = logits(VIEWS[name], seed=seed)
    value = ours(*log_probs(rows))
    expected = formula(*(literal.column_softmax(row.T) for row in rows))
    torch.testing.assert_close(value, expected, rtol=1e-11, atol=1e-12)
    for mine, theirs in zip(torch.autograd.grad(value, rows), torch.autograd.grad(expected, rows), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", BOTH)
def test_gradcheck(name: str):
    ours = BOTH[name][0]
    assert torch.autograd.gradcheck(lambda *rows: ours(*log_probs(list(rows))), logits(VIEWS[name], scale=1.0))


def test_swapped_sharpened_is_its_formula_with_fixed_targets():
    first, second = rows = logits(2)
    with torch.no_grad():
        target_1, target_2 = (literal.column_softmax(literal.ln(literal.column_softmax(row.T)) / 0.5) for row in rows)
    P, Q = (literal.column_softmax(row.T) for row in rows)
    expected = -(torch.trace(target_1.T @ literal.ln(Q)) + torch.trace(target_2.T @ literal.ln(P))) / P.shape[1]
    value = losses.swapped_sharpened(*log_probs(rows), sharpness=0.5)
    torch.testing.assert_close(value, expected)
    for mine, theirs in zip(
        torch.autograd.grad(value, [first, second]), torch.autograd.grad(expected, [first, second]), strict=True
    ):
        torch.testing.assert_close(mine, theirs)


def test_moments_equal_those_of_the_formula():
    (row,) = logits(1)
    P = literal.column_softmax(row.T)
    (logp,) = log_probs([row])
    torch.testing.assert_close(losses.log_mean(logp).exp(), literal.mean(P))
    torch.testing.assert_close(losses.covariance(logp), literal.covariance(P))


def test_smoothing_moves_a_share_of_the_target_onto_all_classes():
    (logp,) = log_probs(logits(1))
    target = 0.9 * torch.eye(CLASSES, dtype=torch.float64)[LABELS] + 0.1 / CLASSES
    expected = -torch.trace(target @ logp.T) / len(LABELS)
    torch.testing.assert_close(losses.cross_entropy(logp, LABELS, smoothing=0.1), expected)


def test_sharpen_leaves_at_one_and_decides_near_zero():
    (logp,) = log_probs(logits(1))
    torch.testing.assert_close(losses.sharpen(logp, 1.0), logp.exp())
    decided = torch.eye(CLASSES, dtype=torch.float64)[logp.argmax(1)]
    torch.testing.assert_close(losses.sharpen(logp, 1e-4), decided)
    # The paper's own form is bounded: its largest share is at most e^(1/s) / (e^(1/s) + K - 1), at one-hot.
    bound = math.exp(1 / 0.5) / (math.exp(1 / 0.5) + CLASSES - 1)
    assert losses.sharpen_probs(logp, 0.5).max() < bound
    assert losses.sharpen_probs(hard(LABELS), 0.5).max().item() == pytest.approx(bound)


# Identities.


@pytest.mark.parametrize("name", UNLABELED)
def test_order_of_the_batch_does_not_matter(name: str):
    views = log_probs(logits(VIEWS[name]))
    order = torch.randperm(len(LABELS), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(UNLABELED[name](*(view[order] for view in views)), UNLABELED[name](*views))


def test_order_of_the_batch_does_not_matter_to_cross_entropy():
    (logp,) = log_probs(logits(1))
    order = torch.randperm(len(LABELS), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(losses.cross_entropy(logp[order], LABELS[order]), losses.cross_entropy(logp, LABELS))


@checked
@given(st.integers(0, 4), st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 20), st.integers(0, 9999))
def test_permuting_novel_classes_with_the_prior_changes_nothing(known: int, counts: list[int], batch: int, seed: int):
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(counts), generator=generator)
    columns = torch.cat([torch.arange(known), known + order])
    views = [
        torch.log_softmax(torch.randn(batch, known + len(counts), generator=generator, dtype=torch.float64), 1)
        for _ in range(2)
    ]
    before = every_loss(views[0], views[1], Prior.counted(known, counts))
    permuted = Prior.counted(known, [counts[index] for index in order.tolist()])
    after = every_loss(views[0][:, columns], views[1][:, columns], permuted)
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, rtol=1e-8, atol=1e-8, msg=name)
        assert value > -1e-7, name


@checked
@given(st.floats(0, 3e38), st.integers(0, 9999))
def test_losses_are_finite_at_any_scale_of_float32_logits(scale: float, seed: int):
    generator = torch.Generator().manual_seed(seed)
    rows = [(scale * (2 * torch.rand(12, CLASSES, generator=generator) - 1)).requires_grad_() for _ in range(2)]
    views = log_probs(rows)
    labels = torch.randint(CLASSES, (12,), generator=generator)
    terms = every_loss(views[0], views[1], PRIOR)
    if scale < 1e36:  # above, a wrong answer costs more nats than float32 can count
        terms["cross_entropy"] = losses.cross_entropy(views[0], labels)
    else:
        terms = {name: terms[name] for name in ("entropy", "consistency_norm", "covariance_norm", "mean_kl")}
    for name, term in terms.items():
        assert term.isfinite(), name
        for gradient in torch.autograd.grad(term, rows, retain_graph=True, materialize_grads=True):
            assert gradient.isfinite().all(), name


@pytest.mark.parametrize("name", ["entropy", "swapped", "mean_kl", "covariance_norm", "novel_mass"])
def test_exact_one_hot_has_finite_gradients(name: str):
    """ln 0 = -infinity may enter: 0 ln 0 is 0, and its gradient is not NaN."""
    views = [hard(balanced()).requires_grad_() for _ in range(VIEWS[name])]
    value = UNLABELED[name](*views)
    assert value.item() == pytest.approx(0, abs=1e-7)
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(value, views))


def test_known_classes_add_nothing_directly_to_mean_kl():
    """Shifting mass between known neurons does not change it; taking mass from the novel ones does."""
    (logp,) = log_probs(logits(1))
    swapped = logp[:, [1, 0, 2, 3, 4]]
    torch.testing.assert_close(losses.mean_kl(swapped, MEAN), losses.mean_kl(logp, MEAN))
    onto_known = torch.log_softmax(logp + torch.tensor([3.0, 3.0, 0, 0, 0], dtype=torch.float64), 1)
    assert losses.mean_kl(onto_known, MEAN) > losses.mean_kl(logp, MEAN)


# The authors' variants.


def test_one_sided_kl_pulls_only_classes_that_lack_their_share():
    probs = torch.tensor([[0.0, 0.0, 0.8, 0.1, 0.1]], dtype=torch.float64)
    rows = probs.log().requires_grad_()
    value = losses.mean_kl_one_sided(rows, MEAN)
    assert value.item() == pytest.approx((0 + math.log(0.3 / 0.1) + math.log(0.2 / 0.1)) / 3, rel=1e-6)
    (gradient,) = torch.autograd.grad(value, rows)
    assert gradient[0, 2] == 0
    assert (gradient[0, 3:] < 0).all()


def test_diagonal_variance_does_not_see_how_neurons_vary_together():
    """Predictions split between two classes: the diagonal alone cannot tell which two go together."""
    prior = Prior.uniform(0, 4)
    eye = torch.eye(4, dtype=torch.float64)
    together = torch.stack([eye[0] + eye[1], eye[2] + eye[3]] * 2) / 2
    crossed = torch.stack([eye[0] + eye[2], eye[1] + eye[3]] * 2) / 2
    together, mixed = torch.cat([together, together]), torch.cat([together, crossed])
    diagonal = [losses.variance_diagonal(probs.log(), prior.mean().double(), 0).item() for probs in (together, mixed)]
    full = [losses.covariance_norm(probs.log(), prior.covariance().double()).item() for probs in (together, mixed)]
    assert diagonal[0] == pytest.approx(diagonal[1])
    assert full[0] > full[1] + 0.04


def test_novel_entropy_ignores_the_known_classes():
    (logp,) = log_probs(logits(1))
    onto_known = torch.log_softmax(logp + torch.tensor([5.0, -2.0, 0, 0, 0], dtype=torch.float64), 1)
    torch.testing.assert_close(losses.novel_entropy(onto_known, KNOWN), losses.novel_entropy(logp, KNOWN))
    uniform = torch.full((3, CLASSES), -math.log(CLASSES), dtype=torch.float64)
    assert losses.novel_entropy(uniform, KNOWN).item() == pytest.approx(math.log(3))
    assert losses.novel_entropy(logp, KNOWN, 0.05) < losses.novel_entropy(logp, KNOWN)


def test_ranges():
    uniform = torch.full((4, CLASSES), -math.log(CLASSES), dtype=torch.float64)
    assert losses.entropy(uniform).item() == pytest.approx(math.log(CLASSES))
    assert losses.novel_mass(uniform, KNOWN).item() == pytest.approx(math.log(CLASSES / 3))
    assert losses.novel_mass(uniform, 0).item() == pytest.approx(0, abs=1e-12)
    opposite = hard(torch.tensor([2, 3])), hard(torch.tensor([3, 2]))
    assert losses.consistency_norm(*opposite).item() == pytest.approx(1)  # sqrt(4) / 2
    assert losses.consistency_mse(*opposite).item() == pytest.approx(4 / 10)


def test_the_border_lets_as_many_pass_as_are_known():
    mass = torch.tensor([0.9, 0.6, 0.5, 0.2, 0.1], dtype=torch.float64)  # of two known neurons
    logp = torch.stack([mass / 2, mass / 2, 1 - mass], 1).log().requires_grad_()
    expected = -(mass[:2].log().sum() + (1 - mass[2:]).log().sum()) / 5
    torch.testing.assert_close(losses.novel_mass(logp, 2, 0.4), expected)
    torch.testing.assert_close(losses.novel_mass(logp, 2), -(1 - mass).log().mean())
    (gradient,) = torch.autograd.grad(losses.novel_mass(logp, 2, 0.4), logp)
    assert (gradient[:2, 2] == 0).all()
    assert (gradient[2:, :2] == 0).all()
