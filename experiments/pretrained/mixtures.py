"""Made-up mixtures of Gaussians: how far classes lie apart, how unlike classes are, how unlike the numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

EACH, TESTED = 200, 0.25  # items of each class, and the share of them that is the test part


class Mixture(NamedTuple):
    """Classes are balls around centres that are drawn `apart` times as far from the middle as an item from its centre.

    The width of a class is drawn between 1 / `uneven` and `uneven`; each number of a vector is scaled by up to
    `scales` or down by as much.
    """

    classes: int
    dim: int
    apart: float
    uneven: float = 1.0
    scales: float = 1.0


MIXTURES = {
    "well apart": Mixture(6, 8, 2.0, uneven=1.5),
    "many classes": Mixture(30, 64, 0.6, uneven=1.5),
    "unlike scales": Mixture(10, 32, 0.8, uneven=1.3, scales=10.0),
    "unlike widths": Mixture(12, 128, 0.4, uneven=1.8),
    "overlapping": Mixture(10, 16, 0.62, uneven=1.3),
}


def draw(mixture: Mixture, seed: int, each: int = EACH) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, their classes by name, and which of them are tested."""
    rng = np.random.default_rng([seed, 12])
    y = np.repeat(np.arange(mixture.classes), each)
    centres = mixture.apart * rng.normal(size=(mixture.classes, mixture.dim))
    widths = mixture.uneven ** rng.uniform(-1, 1, mixture.classes)
    scales = mixture.scales ** rng.uniform(-1, 1, mixture.dim)
    X = (centres[y] + widths[y, None] * rng.normal(size=(len(y), mixture.dim))) * scales
    test = np.tile(np.arange(each) < round(TESTED * each), mixture.classes)
    return X.astype(np.float32), np.array([f"{number:02}" for number in y]), test
