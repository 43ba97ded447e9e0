"""Counting classes with every notion of a class, from the strictest to the mildest, and which notion to believe.

A split of Ward's tree is one between classes if few neighbours part (see `links`); how few is enough is a demand.
Counts of hidden known classes tell which demand is believed; how far the clusters lie apart, their silhouette, is heard
too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.links import cuts, splits

DEMANDS, VARIES = np.arange(-6, 12.1, 0.25), 1.5  # beyond the usual evidence of a split, and how much they vary
BELIEF = 7.0  # in counts of held-out classes
SHARPNESS = 0.1  # of silhouettes: so much more is e times as likely
TINY = 0.3  # of the mean size: smaller clusters are outliers, no class
SEEN = 500  # items whose silhouette is looked at

Rows = Float[np.ndarray, "items dim"]
Groups = Int[np.ndarray, " items"]
Scale = Float[np.ndarray, " demands"]


class Curve(NamedTuple):
    """What is found with each demand: the number of classes, and their silhouette."""

    numbers: Int[np.ndarray, " demands"]
    silhouettes: Scale


def count(rows: Rows, whitened: Rows, most: int) -> Curve:
    """The number of classes among these items at each demand, by links to at most so many neighbours."""
    seen: dict[int, tuple[int, float]] = {}
    found = cuts(splits(whitened, most), DEMANDS)
    for groups in found:
        sizes = np.bincount(groups)
        if len(sizes) not in seen:
            seen[len(sizes)] = max(1, int((sizes >= TINY * sizes.mean()).sum())), silhouette(rows, groups)
    answers = [seen[int(groups.max()) + 1] for groups in found]
    return Curve(np.array([number for number, _ in answers]), np.array([apart for _, apart in answers]))


def silhouette(rows: Rows, groups: Groups, most: int = SEEN) -> float:
    """How far apart the groups lie, from -1 to 1; 0 where there is nothing to compare."""
    step = max(1, -(-len(rows) // most))
    rows, groups = rows[::step], groups[::step]
    if not 1 < len(np.unique(groups)) <= len(rows) // 2:
        return 0.0
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(rows, groups))


def miscounted(curve: Curve, true: int) -> Scale:
    """How far off each number is, as the logarithm of a factor."""
    return np.abs(np.log((curve.numbers + 0.5) / (true + 0.5)))


def believed(wrong: Scale) -> Scale:
    """How much each demand is believed: the usual one, and what counts held-out classes rightly."""
    log = -0.5 * (DEMANDS / VARIES) ** 2 - BELIEF * wrong
    belief = np.exp(log - log.max())
    return belief / belief.sum()


def weighed(curve: Curve, belief: Scale, limits: tuple[int, int]) -> dict[int, float]:
    """The chance of each number within the limits, smallest first."""
    numbers = np.clip(curve.numbers, *limits)
    found = np.unique(numbers)
    heard = np.array([curve.silhouettes[numbers == one].max() for one in found])
    chance = np.array([belief[numbers == one].sum() for one in found]) * np.exp((heard - heard.max()) / SHARPNESS)
    return {int(one): float(share) for one, share in zip(found, chance / chance.sum(), strict=True) if share > 1e-4}


def quantile(chances: dict[int, float], level: float) -> int:
    total = 0.0
    for number, chance in chances.items():
        total += chance
        if total >= level * sum(chances.values()):
            return number
    return max(chances)
