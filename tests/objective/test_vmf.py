"""The density against many digits, the sampler against the density, EM against a known mixture, and the two corollaries
of the supplement as statements about networks that are trained here."""

import mpmath
import numpy as np
import pytest
import torch
from torch import nn

from novakind.errors import UserError
from novakind.objective import losses, vmf
from novakind.objective.heads import PrototypeHead
from novakind.objective.metrics import clustering_acc, match
from novakind.objective.prior import Prior
from novakind.objective.vmf import Mixture

DIMS = (2, 3, 4, 5, 8, 17, 32, 60, 62, 64, 100, 128, 301, 512, 2048, 8192)
KAPPAS = (1e-3, 0.1, 1.0, 7.0, 20.0, 28.0, 29.99, 30.0, 31.0, 50.0, 100.0, 1e3, 1e4)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def axis(dim: int) -> np.ndarray:
    return np.eye(dim)[0]


def exact(dim: int, kappa: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    with mpmath.workdps(40):
        lower, upper = (mpmath.besseli(mpmath.mpf(dim) / 2 - shift, kappa) for shift in (1, 0))
        return mpmath.log(lower), upper / lower


@pytest.mark.parametrize("dim", DIMS)
def test_log_bessel_and_mean_resultant_agree_with_forty_digits(dim: int):
    for kappa in KAPPAS:
        log_bessel, ratio = exact(dim, kappa)
        error = abs(float(vmf.log_bessel(dim / 2 - 1, kappa) - log_bessel))
        assert error <= 1e-12 * max(1.0, abs(float(log_bessel)))
        assert float(vmf.mean_resultant(dim, kappa)) == pytest.approx(float(ratio), rel=1e-12)


def test_log_bessel_at_its_edges():
    assert vmf.log_bessel(0.0, 0.0) == 0
    assert vmf.log_bessel(3.0, 0.0) == -np.inf
    assert vmf.log_bessel(30.0, 1e-200) == pytest.approx(30 * np.log(0.5e-200) - float(mpmath.loggamma(31)), rel=1e-13)
    x = 1e12
    far = x - np.log(2 * np.pi * x) / 2  # I ~ e^x / sqrt(2 pi x)
    np.testing.assert_allclose(vmf.log_bessel(np.array([0.0, 1.0, 4095.0]), x), far, atol=1e-3)
    grid = vmf.log_bessel(np.array([[0.0], [0.5], [40.0]]), np.array([0.1, 1.0, 10.0, 100.0]))
    assert grid.shape == (3, 4)
    x = np.array([0.1, 1.0, 10.0, 100.0])
    np.testing.assert_allclose(grid[1], np.log(np.sqrt(2 / np.pi / x) * np.sinh(x)), rtol=1e-13)  # order one half


@pytest.mark.parametrize("dim", DIMS)
def test_concentration_inverts_mean_resultant(dim: int):
    kappa = np.geomspace(1e-6, 1e6, 25)
    np.testing.assert_allclose(vmf.concentration(dim, vmf.mean_resultant(dim, kappa)), kappa, rtol=1e-9)
    assert vmf.concentration(dim, 0.0) == 0
    assert np.isfinite(vmf.concentration(dim, 1.0))


@pytest.mark.parametrize("kappa", [0.0, 0.5, 10.0, 500.0])
def test_density_integrates_to_one_on_circle_and_sphere(kappa: float):
    angle = np.linspace(-np.pi, np.pi, 20_000, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    assert np.exp(vmf.log_density(circle, axis(2), kappa)).mean() * 2 * np.pi == pytest.approx(1, abs=1e-10)
    # On the sphere the area between two parallels is 2 pi times the difference of their heights (Archimedes).
    nodes, weights = np.polynomial.legendre.leggauss(400)
    sphere = np.stack([nodes, np.sqrt(1 - nodes**2), np.zeros_like(nodes)], 1)
    density = np.exp(vmf.log_density(sphere, axis(3), kappa))
    assert weights @ density * 2 * np.pi == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize(("dim", "kappa"), [(5, 2.0), (20, 3.0), (256, 10.0)])
def test_density_integrates_to_one_by_monte_carlo(dim: int, kappa: float):
    uniform = unit(np.random.default_rng(0).standard_normal((20_000, dim)))
    ratio = np.exp(vmf.log_density(uniform, axis(dim), kappa) - vmf.log_normalizer(dim, 0.0))
    assert ratio.mean() == pytest.approx(1, abs=5 * ratio.std() / np.sqrt(len(ratio)))


@pytest.mark.parametrize("dim", [2, 3, 10, 1000])
@pytest.mark.parametrize("kappa", [0.0, 1.0, 30.0, 1e3, 1e7])
def test_samples_are_unit_and_have_the_mean_of_the_distribution(dim: int, kappa: float):
    rng = np.random.default_rng(1)
    mu = unit(rng.standard_normal(dim))
    count = 4000 if dim < 1000 else 600
    x = vmf.sample(mu, kappa, count, rng)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-12)
    cosine = x @ mu
    resultant = float(vmf.mean_resultant(dim, kappa))
    assert cosine.mean() == pytest.approx(resultant, abs=max(5 * cosine.std() / np.sqrt(count), 1e-12))
    # A' = 1 - A^2 - (d - 1) A / kappa is the variance of the cosine.
    if 0 < kappa < 1e4:
        variance = 1 - resultant**2 - (dim - 1) * resultant / kappa
        assert cosine.var() == pytest.approx(variance, rel=0.25)
    # Around the mean no direction is preferred.
    around = unit(x - np.outer(cosine, mu)).mean(0)
    assert np.linalg.norm(around) < 4 / np.sqrt(count)


def test_samples_on_the_circle_follow_the_density():
    x = vmf.sample(axis(2), 2.0, 20_000, np.random.default_rng(2))
    counts, edges = np.histogram(np.arctan2(x[:, 1], x[:, 0]), bins=24, range=(-np.pi, np.pi))
    fine = edges[0] + (np.arange(2400) + 0.5) * (edges[-1] - edges[0]) / 2400
    density = np.exp(vmf.log_density(np.stack([np.cos(fine), np.sin(fine)], 1), axis(2), 2.0))
    expected = density.reshape(24, 100).mean(1) * (edges[1] - edges[0]) * len(x)
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi-square, 23 degrees: 99.9 % lie below 49.7


def known_mixture(rng: np.random.Generator, dim: int, shared: bool) -> Mixture:
    means = unit(np.linalg.qr(rng.standard_normal((dim, 3)))[0].T + 0.2)
    return Mixture(np.array([0.5, 0.3, 0.2]), means, np.full(3, 40.0) if shared else np.array([20.0, 40.0, 80.0]))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("dim", [3, 24])
def test_em_climbs_and_recovers_a_known_mixture(dim: int, shared: bool):
    rng = np.random.default_rng(3)
    truth = known_mixture(rng, dim, shared)
    x, origin = truth.sample(2000, rng)

    mixture = Mixture(np.full(3, 1 / 3), x[:3], np.full(3, 1.0))
    likelihood = []
    for _ in range(40):
        likelihood.append(mixture.log_density(x).mean())
        mixture = mixture.step(x, shared)
    assert np.diff(likelihood).min() > -1e-11

    found = Mixture.fit(x, 3, rng, shared=shared)
    assert found.log_density(x).mean() >= truth.log_density(x).mean()
    predicted = found.posterior(x).argmax(1)
    assert clustering_acc(origin, predicted) >= clustering_acc(origin, truth.posterior(x).argmax(1)) - 0.01
    component = [category for category, _ in sorted(match(origin, predicted).items(), key=lambda pair: pair[1])]
    np.testing.assert_allclose(found.weights[component], truth.weights, atol=0.03)
    np.testing.assert_allclose(found.kappas[component], truth.kappas, rtol=0.1)
    assert (found.means[component] * truth.means).sum(1).min() > 0.998


def test_em_survives_single_items_repeated_items_and_empty_components():
    x = np.eye(4)[[0, 0, 0, 1, 2]]
    for shared in (True, False):
        found = Mixture.fit(x, 5, np.random.default_rng(0), shared=shared)
        assert np.isfinite(found.log_density(x)).all()
        assert np.isfinite(found.kappas).all()
        assert found.weights.sum() == pytest.approx(1)
    empty = Mixture(np.array([1.0, 0.0]), np.eye(4)[:2], np.array([5.0, 5.0]))
    np.testing.assert_array_equal(empty.step(x, shared=False).weights, [1, 0])
    np.testing.assert_array_equal(empty.step(x).means[1], empty.means[1])


def test_fit_refuses_what_it_cannot_fit():
    x = np.eye(3)
    with pytest.raises(UserError, match=r"^4 components cannot be fitted to 3 items"):
        Mixture.fit(x, 4, np.random.default_rng(0))
    with pytest.raises(UserError, match=r"^item 0 has length 2, but items must be unit vectors"):
        Mixture.fit(2 * x, 2, np.random.default_rng(0))


# The corollaries. Inputs are samples of a known mixture; a network maps them to embeddings and trains through the head.


def adam(net: nn.Module, loss, steps: int, rate: float) -> float:
    """Full-batch training; the final loss."""
    optimizer = torch.optim.Adam(net.parameters(), rate)
    value = torch.tensor(float("nan"))
    for _ in range(steps):
        value = loss()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return value.item()


def head_as_mixture(head: PrototypeHead, weights: np.ndarray) -> Mixture:
    means = head.prototypes.double().numpy()
    return Mixture(weights, unit(means), np.full(len(means), 1 / head.tau))


@pytest.mark.parametrize("tau", [0.05, 0.1, 1.0])
def test_the_head_is_the_bayes_posterior_of_equal_mixture(tau: float):
    torch.manual_seed(0)
    head = PrototypeHead(48, 7, tau).double()
    embedding = 3 * torch.randn(50, 48, dtype=torch.float64)
    posterior = head_as_mixture(head, np.full(7, 1 / 7)).posterior(unit(embedding.numpy()))
    np.testing.assert_allclose(head(embedding).exp().numpy(), posterior, rtol=1e-5, atol=1e-12)


def test_corollary_1_cross_entropy_fits_class_conditional_distributions():
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    classes, count = 6, 600
    truth = Mixture(np.full(classes, 1 / classes), unit(rng.standard_normal((classes, 8))), np.full(classes, 60.0))
    source, origin = truth.sample(2 * count, rng)
    x = torch.tensor(np.tanh(source @ rng.standard_normal((8, 16)))).float()
    y = torch.tensor(origin)
    head = PrototypeHead(64, classes, tau=0.1)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64))
    final = adam(net, lambda: losses.cross_entropy(head(net(x[:count])), y[:count]), steps=250, rate=3e-3)
    assert final < 0.1

    with torch.no_grad():
        embedding = net(x[count:])  # items that were not trained on
        probs = head(embedding).exp().double().numpy()
    held = origin[count:]
    items = unit(embedding.double().numpy())
    mixture = head_as_mixture(head, np.full(classes, 1 / classes))
    # What the network predicts is the Bayes posterior of the fixed mixture, and decides as well as the true one.
    np.testing.assert_allclose(probs, mixture.posterior(items), atol=1e-5)
    bayes = (truth.posterior(source[count:]).argmax(1) == held).mean()
    assert (probs.argmax(1) == held).mean() > bayes - 0.03
    # The embeddings of a class gather around its prototype, and around no other.
    direction = unit(np.stack([items[held == k].mean(0) for k in range(classes)]))
    cosine = direction @ mixture.means.T
    assert np.diag(cosine).min() > 0.7
    assert (cosine - 2 * np.diag(np.diag(cosine))).max() < 0.3
    # So the class-conditional density of the head explains the items far better than another class's does.
    own = np.mean([vmf.log_density(items[held == k], mixture.means[k], 10.0).mean() for k in range(classes)])
    other = np.mean([vmf.log_density(items[held == k], mixture.means[k - 1], 10.0).mean() for k in range(classes)])
    assert own - other > 5


def test_corollary_1_the_optimum_is_the_prototype_turned_away_from_the_others():
    """Free embeddings under cross-entropy and orthonormal prototypes end at mu_k - mean of the others, up to length.

    So the cosine with the own prototype ends at sqrt((K - 1) / K), and reaches 1 only as K grows.
    """
    torch.manual_seed(0)
    classes = 5
    head = PrototypeHead(16, classes, tau=0.5)
    head.prototypes.copy_(torch.eye(16)[:classes])
    free = nn.Linear(classes, 16, bias=False)
    onehot, labels = torch.eye(classes), torch.arange(classes)
    adam(free, lambda: losses.cross_entropy(head(free(onehot)), labels), steps=600, rate=2e-2)
    embedding = unit(free.weight.detach().T.double().numpy())
    means = head.prototypes.double().numpy()
    optimum = unit(means - (means.sum(0) - means) / (classes - 1))
    assert (embedding * optimum).sum(1).min() > 0.9999
    np.testing.assert_allclose((embedding * means).sum(1), np.sqrt(1 - 1 / classes), atol=1e-3)


def test_corollary_2_entropy_and_kl_reach_the_fixed_point_of_em():
    """L_H + L_kl alone has poor local optima (the supplement says so): of six starts the lowest loss counts."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    # No share is the sum of others, or else two components could join on one neuron and a third be cut in two.
    prior, count = Prior(2, (0.6, 0.25, 0.15)), 600
    truth = Mixture(np.array(prior.novel), unit(rng.standard_normal((3, 16))), np.full(3, 60.0))
    origin = np.repeat(np.arange(3), [round(count * share) for share in prior.novel])
    source = np.concatenate([vmf.sample(truth.means[k], 60.0, int((origin == k).sum()), rng) for k in range(3)])
    x, target = torch.tensor(source).float(), prior.mean()

    def start() -> tuple[float, nn.Module, PrototypeHead]:
        net, head = nn.Linear(16, 32), PrototypeHead(32, prior.classes, tau=0.05)

        def loss() -> torch.Tensor:
            logp = head(net(x))
            return losses.entropy(logp) + losses.mean_kl(logp, target)

        return adam(net, loss, steps=250, rate=1e-2), net, head

    lowest, net, head = min((start() for _ in range(6)), key=lambda result: result[0])
    assert lowest < 5e-3

    with torch.no_grad():
        items = unit(net(x).double().numpy())
    weights = np.array([0.0, 0.0, *prior.novel])
    # The head's mean posterior (equal weights: the paper's form) is the prior ...
    equal = head_as_mixture(head, np.full(prior.classes, 1 / prior.classes)).posterior(items)
    np.testing.assert_allclose(equal.mean(0), weights, atol=2e-3)
    # ... and the prior is where EM's own update of the weights stands still, and where it ends from elsewhere.
    np.testing.assert_allclose(head_as_mixture(head, weights).posterior(items).mean(0), weights, atol=2e-3)
    moving = np.full(prior.classes, 1 / prior.classes)
    for _ in range(20):
        moving = head_as_mixture(head, moving).posterior(items).mean(0)
    np.testing.assert_allclose(moving, weights, atol=2e-3)
    # The clusters are the true components: those that EM finds in the inputs without labels, and those of the origin.
    predicted = equal.argmax(1)
    assert clustering_acc(origin, predicted) > 0.99
    assert clustering_acc(Mixture.fit(source, 3, rng).posterior(source).argmax(1), predicted) > 0.99
    assert match(origin, predicted) == {2: 0, 3: 1, 4: 2}  # each component sits on the neuron with its share
