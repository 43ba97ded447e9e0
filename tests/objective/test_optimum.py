"""The optimum of each loss: one-hot predictions whose shares are the prior's, the same for both views, and no other."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from predictions import CLASSES, COVARIANCE, KNOWN, MEAN, PRIOR, balanced, checked, every_loss, hard, log_probs, logits

from novakind.objective import losses
from novakind.objective.prior import Prior


def test_every_term_is_zero_at_the_optimum():
    perfect = hard(balanced())
    assert losses.cross_entropy(perfect, balanced()) == 0
    terms = every_loss(perfect, perfect.clone(), PRIOR)
    for name, value in terms.items():
        if name == "sharpened":  # softmax(P / s) keeps e^(-1/s) off the decision, where ln P is then -infinity
            continue
        unbiased = 1e-3 if name == "variance_diagonal" else 1e-7  # of ten items the unbiased variance is a ninth larger
        assert value.item() == pytest.approx(0, abs=unbiased), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("certainty", [20, 200, 2000])
def test_gradients_are_finite_at_the_optimum(certainty: float, dtype: torch.dtype):
    """The Frobenius norms have no derivative at zero difference: theirs must be 0 there, not NaN."""
    rows = [(certainty * torch.eye(CLASSES, dtype=dtype)[balanced()]).requires_grad_() for _ in range(2)]
    views = log_probs(rows)
    for name, value in every_loss(views[0], views[1], PRIOR).items():
        assert value.isfinite(), name
        for gradient in torch.autograd.grad(value, rows, retain_graph=True, materialize_grads=True):
            assert gradient.isfinite().all(), name


def test_equal_views_have_no_gradient_of_consistency():
    (row,) = logits(1)
    twin = row.detach().clone().requires_grad_()
    value = losses.consistency_norm(*log_probs([row, twin]))
    assert value == 0
    for gradient in torch.autograd.grad(value, [row, twin]):
        assert (gradient == 0).all()


@pytest.mark.parametrize(
    ("prior", "batch", "floor"), [(Prior.uniform(0, 5), 256, 0.0078), (Prior.uniform(90, 11), 128, 0.039)]
)
def test_sampling_floor_of_mean_kl(prior: Prior, batch: int, floor: float):
    """Perfect predictions of random batches: L_kl is not 0 but (U - 1) / 2B on average."""
    novel = len(prior.novel)
    assert (novel - 1) / (2 * batch) == pytest.approx(floor, abs=5e-4)
    generator = torch.Generator().manual_seed(0)
    certain = torch.log_softmax(200 * torch.eye(prior.classes, dtype=torch.float64), 1)
    target = prior.mean().double()
    values = []
    for _ in range(400):
        labels = prior.known + torch.randint(novel, (batch,), generator=generator)
        values.append(losses.mean_kl(certain[labels], target).item())
    # The next term of the expansion adds about a tenth at U = 11, B = 128.
    assert sum(values) / len(values) == pytest.approx((novel - 1) / (2 * batch), rel=0.2)


def test_always_predicting_the_prior_is_found_out_by_entropy_and_covariance():
    blurred = torch.log(MEAN.clamp(min=1e-300)).expand(64, CLASSES)
    assert losses.mean_kl(blurred, MEAN).item() == pytest.approx(0, abs=1e-7)
    assert losses.mean_kl_one_sided(blurred, MEAN).item() == pytest.approx(0, abs=1e-7)
    assert losses.entropy(blurred).item() == pytest.approx(PRIOR.entropy(), abs=1e-6)
    assert losses.covariance_norm(blurred, COVARIANCE).item() == pytest.approx(COVARIANCE.norm().item())
    assert losses.variance_diagonal(blurred, MEAN, KNOWN).item() == pytest.approx(
        COVARIANCE.diagonal()[KNOWN:].square().mean().item()
    )


@pytest.mark.parametrize("label", [2, 3, 4])
def test_always_one_class_is_found_out_by_the_mean(label: int):
    (row,) = log_probs([100 * torch.eye(CLASSES, dtype=torch.float64)[torch.full((64,), label)]])
    assert losses.entropy(row).item() == pytest.approx(0, abs=1e-12)
    # Every other novel class is e^-100 likely: the missing shares cost 100 nats each.
    assert losses.mean_kl(row, MEAN).item() == pytest.approx(100 * (1 - MEAN[label].item()), rel=0.05)
    assert losses.covariance_norm(row, COVARIANCE).item() == pytest.approx(COVARIANCE.norm().item())


@checked
@given(st.floats(0, 1), st.integers(0, 9999))
def test_with_the_mean_at_the_prior_covariance_is_right_only_when_one_hot(blur: float, seed: int):
    """Mix decided predictions with the prior, or with others of the same mean: zero exactly where nothing is mixed."""
    labels = balanced()[torch.randperm(10, generator=torch.Generator().manual_seed(seed))]
    certain = torch.eye(CLASSES, dtype=torch.float64)[labels]
    probs = (1 - blur) * certain + blur * MEAN
    torch.testing.assert_close(probs.mean(0), MEAN, atol=1e-7, rtol=0)
    value = losses.covariance_norm(probs.log(), COVARIANCE).item()
    # The covariance of the mixed predictions is (1 - blur)^2 times the target.
    assert value == pytest.approx((1 - (1 - blur) ** 2) * COVARIANCE.norm().item(), abs=1e-6)
    # And the reason: trace(cov) = E|p|^2 - |mean|^2, and E|p|^2 = 1 only where every item is one-hot.
    trace = losses.covariance(probs.log()).trace()
    torch.testing.assert_close(trace, probs.square().sum(1).mean() - probs.mean(0).square().sum())


@checked
@given(st.integers(0, 9999))
def test_covariance_norm_is_at_least_its_trace_says(seed: int):
    """For any batch whose mean is the prior: |cov - target|_F >= (1 - E|p|^2) / sqrt(K) > 0 unless one-hot."""
    generator = torch.Generator().manual_seed(seed)
    probs = torch.softmax(3 * torch.randn(10, CLASSES, generator=generator, dtype=torch.float64), 1)
    for _ in range(500):  # alternate scaling of rows and columns until the mean is (nearly) the prior
        probs = probs * (MEAN.clamp(min=1e-12) / probs.mean(0))
        probs = probs / probs.sum(1, keepdim=True)
    gap = 1 - probs.square().sum(1).mean()
    value = losses.covariance_norm(probs.log(), COVARIANCE)
    assert value >= gap / math.sqrt(CLASSES) - 1e-3
