"""The von Mises-Fisher distribution on the unit sphere, and mixtures of it: the paper's supplement.

`PrototypeHead` computes the posterior of such a mixture: its means are the prototypes, its concentrations 1 / tau, its
weights equal. This file holds the density itself, so that what training promises can be checked.
Vectors are rows of unit length in d = `dim` >= 2 dimensions; everything is float64 and in natural logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.polynomial import Polynomial, polyval
from scipy.special import gammaln, hyp0f1, logsumexp, softmax, xlogy

from novakind.errors import UserError

Items = Float[np.ndarray, "items dim"]

FAR = 30.0  # from this length of (order, x) on, the asymptotic series is exact to rounding
MAX_RESULTANT = 1 - 1e-9  # above it rounding of the items, not their spread, would set the concentration


def _debye_rows(terms: int) -> list[Float[np.ndarray, " _"]]:
    """Row k holds the coefficients of u_k(t) / t^k in powers of t^2, for Debye's polynomials u_0 .. u_(terms - 1)."""
    factor, weight, u = Polynomial([0, 0, 0.5, 0, -0.5]), Polynomial([0.125, 0, -0.625]), Polynomial([1.0])
    rows = []
    for k in range(terms):
        rows.append(u.coef[k::2])
        u = factor * u.deriv() + (weight * u).integ()
    return rows


DEBYE = _debye_rows(12)


def _debye(order: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Debye's sum S over k of u_k(t) / order^k at t = order / |(order, x)|, and |(order, x)| dS / d|(order, x)|.

    Written in powers of 1 / |(order, x)| it holds down to order 0, where it becomes Hankel's expansion for large x.
    """
    scale = 1 / np.hypot(order, x)
    square, total, slope = (order * scale) ** 2, np.zeros_like(scale), np.zeros_like(scale)
    for k, row in enumerate(DEBYE):
        total += scale**k * polyval(square, row)
        slope -= scale**k * polyval(square, row * (k + 2 * np.arange(len(row))))
    return total, slope


def _log_bessel_over_power(order: float | np.ndarray, x: float | np.ndarray) -> np.ndarray:
    """log(I_order(x) / x^order), which is finite at x = 0 and has nothing to cancel for small x."""
    order, x = np.broadcast_arrays(np.asarray(order, dtype=np.float64), np.asarray(x, dtype=np.float64))
    length = np.hypot(order, x)
    far = length >= FAR
    result = np.empty(length.shape)
    v, z = order[~far], x[~far]
    result[~far] = np.log(hyp0f1(v + 1, z * z / 4)) - v * math.log(2) - gammaln(v + 1)
    v, z, s = order[far], x[far], length[far]
    result[far] = s - v * np.log(v + s) - np.log(2 * math.pi * s) / 2 + np.log(_debye(v, z)[0])
    return result


def log_bessel(order: float | np.ndarray, x: float | np.ndarray) -> np.ndarray:
    """log I_order(x), the modified Bessel function of the first kind, for order >= 0 and x >= 0, broadcast.

    The power series near the origin, Debye's uniform expansion elsewhere: neither under- nor overflows, whatever the
    order and x. Against 40 digits its error is below 1e-12 relative to max(1, |log I|) for orders to 4095.
    """
    return np.asarray(xlogy(order, x) + _log_bessel_over_power(order, x))


def log_normalizer(dim: int, kappa: float | np.ndarray) -> np.ndarray:
    """log C_d(kappa) = (d/2 - 1) log kappa - d/2 log 2 pi - log I_(d/2 - 1)(kappa); at 0, minus the log area."""
    return np.asarray(-dim / 2 * math.log(2 * math.pi) - _log_bessel_over_power(dim / 2 - 1, kappa))


def mean_resultant(dim: int, kappa: float | np.ndarray) -> np.ndarray:
    """A_d(kappa) = I_(d/2)(kappa) / I_(d/2 - 1)(kappa): the length of the mean of the distribution.

    It rises from 0 (kappa = 0, uniform) to 1, as kappa / d at first and as 1 - (d - 1) / 2 kappa at last.
    """
    v, kappa = dim / 2 - 1, np.asarray(kappa, dtype=np.float64)
    far = np.hypot(v, kappa) >= FAR
    result = np.empty(kappa.shape)
    z = kappa[~far]
    result[~far] = z / dim * hyp0f1(v + 2, z * z / 4) / hyp0f1(v + 1, z * z / 4)
    # The derivative of log(I / x^v), term by term: a difference of logarithms would lose the digits of 1 - A.
    z = kappa[far]
    s, (total, slope) = np.hypot(v, z), _debye(np.full_like(z, v), z)
    result[far] = z / (v + s) + z / s**2 * (slope / total - 0.5)
    return result


def concentration(dim: int, resultant: float | np.ndarray) -> np.ndarray:
    """The kappa with A_d(kappa) = resultant: the maximum-likelihood estimate from the length of a sample's mean.

    Banerjee's b(r) = r (d - r^2) / (1 - r^2), refined by Newton steps on b(A_d(kappa)) = b(r), which has slope near 1
    everywhere; the slope of A_d itself cancels to nothing for r near 1. Lengths above 1 - 1e-9 count as that.
    """
    resultant = np.clip(np.asarray(resultant, dtype=np.float64), 0, MAX_RESULTANT)

    def approximation(r: float | np.ndarray) -> float | np.ndarray:
        return r * (dim - r * r) / (1 - r * r)

    kappa = goal = approximation(resultant)
    for _ in range(12):
        kappa = kappa + goal - approximation(np.minimum(mean_resultant(dim, kappa), MAX_RESULTANT))
    return np.asarray(kappa)


def log_density(x: Items, mu: Float[np.ndarray, " dim"], kappa: float) -> Float[np.ndarray, " items"]:
    """log f(x | mu, kappa) = log C_d(kappa) + kappa mu . x, with respect to area on the unit sphere."""
    return log_normalizer(len(mu), kappa) + kappa * (x @ mu)


def sample(mu: Float[np.ndarray, " dim"], kappa: float, count: int, rng: np.random.Generator) -> Items:
    """Draw `count` unit vectors by Wood's rejection; at least 65 % of proposals are accepted, at any dim and kappa."""
    dim = len(mu)
    b = (dim - 1) / (2 * kappa + math.hypot(2 * kappa, dim - 1))
    gap = np.empty(count)  # 1 - cosine, which keeps its digits where kappa is large
    pending = np.arange(count)
    while len(pending):
        z = rng.beta((dim - 1) / 2, (dim - 1) / 2, len(pending))
        spread = 1 - (1 - b) * z
        # kappa (w - x0) + (d - 1) log((1 - x0 w) / (1 - x0^2)) for the cosine w and x0 = (1 - b) / (1 + b), in z
        tilt = 2 * b * kappa * (1 - 2 * z) / ((1 + b) * spread)
        log_ratio = tilt + (dim - 1) * (math.log((1 + b) / 2) - np.log(spread))
        accepted = -rng.standard_exponential(len(pending)) <= log_ratio
        gap[pending[accepted]] = (2 * b * z / spread)[accepted]
        pending = pending[~accepted]
    around = rng.standard_normal((count, dim))
    around -= np.outer(around @ mu, mu)
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    x = (1 - gap)[:, None] * mu + np.sqrt(gap * (2 - gap))[:, None] * around
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@dataclass(frozen=True)
class Mixture:
    """A mixture of von Mises-Fisher distributions: f(x) = sum_k weights_k C_d(kappas_k) exp(kappas_k means_k . x)."""

    weights: Float[np.ndarray, " components"]  # at least 0, sum to 1
    means: Float[np.ndarray, "components dim"]  # rows of unit length
    kappas: Float[np.ndarray, " components"]  # at least 0

    def _log_joint(self, x: Items) -> Float[np.ndarray, "items components"]:
        with np.errstate(divide="ignore"):  # a component without weight has log 0
            constant = np.log(self.weights) + log_normalizer(self.means.shape[1], self.kappas)
        return constant + (x @ self.means.T) * self.kappas

    def log_density(self, x: Items) -> Float[np.ndarray, " items"]:
        """log f(x) of each item."""
        return np.asarray(logsumexp(self._log_joint(x), axis=1))

    def posterior(self, x: Items) -> Float[np.ndarray, "items components"]:
        """The probability of each component given each item; its mean over items is EM's update of the weights."""
        return softmax(self._log_joint(x), axis=1)

    def sample(self, count: int, rng: np.random.Generator) -> tuple[Items, Int[np.ndarray, " items"]]:
        """Draw `count` items, and the component that each came from."""
        origin = rng.choice(len(self.weights), size=count, p=self.weights)
        x = np.empty((count, self.means.shape[1]))
        for k, (mean, kappa) in enumerate(zip(self.means, self.kappas, strict=True)):
            mine = origin == k
            x[mine] = sample(mean, float(kappa), int(mine.sum()), rng)
        return x, origin

    def step(self, x: Items, shared: bool = True) -> Mixture:
        """One round of EM: the likelihood of `x` does not fall.

        `shared` gives all components one kappa, as the paper's mixture has. Without it a component that holds less than
        two items keeps its kappa, since the likelihood has no maximum where a component closes in on a single item.
        """
        posterior = self.posterior(x)
        mass, total = posterior.sum(0), posterior.T @ x
        length = np.linalg.norm(total, axis=1)
        means = np.where(length[:, None] > 1e-300, total / np.maximum(length, 1e-300)[:, None], self.means)
        if shared:
            kappas = np.full(len(mass), float(concentration(x.shape[1], length.sum() / len(x))))
        else:
            kappas = np.where(mass < 2, self.kappas, concentration(x.shape[1], length / np.maximum(mass, 1)))
        return Mixture(mass / len(x), means, kappas)

    @classmethod
    def fit(
        cls, x: Items, components: int, rng: np.random.Generator, shared: bool = True, restarts: int = 5
    ) -> Mixture:
        """The most likely mixture that EM finds from `restarts` seedings by items far apart; `shared` as in `step`."""
        lengths = np.linalg.norm(x, axis=1)
        if not np.allclose(lengths, 1, atol=1e-4):
            worst = int(np.abs(lengths - 1).argmax())
            raise UserError(f"item {worst} has length {lengths[worst]:g}, but items must be unit vectors: divide by it")
        if not 1 <= components <= len(x):
            raise UserError(f"{components} components cannot be fitted to {len(x)} items: ask for 1 to {len(x)}")
        climbs = (cls._seed(x, components, rng)._climb(x, shared) for _ in range(restarts))
        return max(climbs, key=lambda mixture: mixture.log_density(x).mean())

    def _climb(self, x: Items, shared: bool, rounds: int = 300, tolerance: float = 1e-8) -> Mixture:
        """EM until the mean log-density rises by less than `tolerance`, or for `rounds`."""
        mixture, score = self, self.log_density(x).mean()
        for _ in range(rounds):
            mixture, previous = mixture.step(x, shared), score
            score = mixture.log_density(x).mean()
            if score - previous < tolerance:
                break
        return mixture

    @classmethod
    def _seed(cls, x: Items, components: int, rng: np.random.Generator) -> Mixture:
        """Means at items drawn far apart by cosine, equal weights, and one kappa from the nearest mean of each item."""
        chosen = [int(rng.integers(len(x)))]
        cosine = x @ x[chosen[0]]
        while len(chosen) < components:
            far = np.maximum(1 - cosine, 0) + 1e-12
            chosen.append(int(rng.choice(len(x), p=far / far.sum())))
            cosine = np.maximum(cosine, x @ x[chosen[-1]])
        kappa = float(concentration(x.shape[1], min(float(cosine.mean()), 0.999)))
        return cls(np.full(components, 1 / components), x[chosen], np.full(components, kappa))
