"""How many novel classes are there, how large are they, and are known ones among the unlabeled items?

What counts as one class is a matter of taste, and the known classes show whose: several times some of them are hidden
and counted like novel ones. A notion of a class (see `counting`) that counts those rightly is believed. The answer is
a distribution over numbers: its median, and an interval that is no narrower than held-out classes are miscounted.
Unlabeled items that seem to be of known classes (see `mixed`) are left out of the count.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.counting import DEMANDS, Curve, believed, count, miscounted, quantile, weighed
from novakind.objective.merging import principal, whiten
from novakind.objective.mixed import Spies, held_out, known_ones
from novakind.objective.tree import Merge, cut, merge_tree

MOST = 3000  # items of each kind are looked at: all pairs of them are compared
PROBES = 8
FEW, HARDLY = 30, 10  # items of novel classes: below, a number is no more than a guess, and the least that may be
INTERVAL = (0.03, 0.97)

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


@dataclass(frozen=True)
class Probe:
    """A count of known classes that were hidden."""

    hidden: int
    counted: int


@dataclass(frozen=True)
class Estimate:
    """What the vectors say of the unlabeled items, and how sure it is."""

    novel: int
    low: int
    high: int
    known_share: float
    shares: tuple[float, ...]
    """Of the novel classes among what is novel, the largest first."""
    chances: dict[int, float]
    """Of the numbers that may be right."""
    probes: tuple[Probe, ...]
    tree: tuple[Merge, ...]
    """The merges from `high` or more clusters to one: which joins which, at what grain, how many items they have."""
    sizes: tuple[int, ...]
    """Items of the clusters that the tree begins with."""
    doubt: str = ""
    """Why the number cannot be known."""
    rows: Labels | None = field(default=None, compare=False)
    """Of the rows that were given, those that the tree is made of."""
    leaves: Labels | None = field(default=None, compare=False)
    """The cluster of each of them."""

    def plain(self) -> dict[str, Any]:
        told = {name: value for name, value in asdict(self).items() if name not in ("rows", "leaves")}
        return told | {"chances": {str(number): round(chance, 4) for number, chance in self.chances.items()}}


def estimate(
    rows: Rows, labels: Labels, limits: tuple[int, int], mixed: bool | None = None, share: float = 0.0, seed: int = 0
) -> Estimate:
    """Look at vectors of length 1, of which some have labels (-1: none).

    The number is sought within `limits`. `mixed` says whether known classes are among the unlabeled items, if that is
    known, and `share` how many of them are, if that is known too.
    """
    rng = np.random.default_rng([seed, 5])
    some = np.sort(np.concatenate([sample(np.flatnonzero(labels >= 0), rng), sample(np.flatnonzero(labels < 0), rng)]))
    rows, labels = principal(rows[some]), compact(labels[some])
    space, free = whiten(rows, labels), np.flatnonzero(labels < 0)
    inside, spies = np.zeros(len(free), dtype=bool), Spies(np.zeros(0), 1.0)
    if labels.max(initial=-1) >= 0:
        spies = held_out(space.rows, labels, rng)
        inside = known_ones(space, labels, spies, mixed, share)
    novel = free[~inside] if (~inside).sum() > 1 else free
    if inside.any() and (~inside).sum() < HARDLY:
        limits = (limits[0], limits[0])
    probes = [probe(rows, labels, rng) for _ in range(PROBES)] if labels.max(initial=-1) >= 1 else []
    wrong = np.mean([miscounted(curve, hidden) for hidden, curve in probes], 0) if probes else 0 * DEMANDS
    belief = believed(wrong)
    chances = weighed(count(rows[novel], space.rows[novel], usual_size(labels)), belief, limits)
    number, low, high = (quantile(chances, level) for level in (0.5, *INTERVAL))
    usual = math.exp(float(belief @ wrong))
    low, high = (int(np.clip(end, *limits)) for end in (min(low, (number + 0.5) // usual), max(high, number * usual)))
    checked = tuple(Probe(hidden, quantile(weighed(curve, belief, (1, MOST)), 0.5)) for hidden, curve in probes)
    sizes, tree, leaves = merge_tree(space.rows[novel], space.spread, max(number, min(2 * high, 40)))
    groups = cut(len(sizes), tree, number)
    shares = np.sort(np.bincount(groups, weights=sizes))[::-1] / sum(sizes)
    known = share or float(inside.mean()) if len(free) else 0.0
    return Estimate(
        number,
        low,
        high,
        round(min(known, 0.95), 4),
        tuple(round(float(one), 4) for one in shares),
        chances,
        checked,
        tree,
        sizes,
        doubts(len(novel), low, high, checked, spies.right),
        some[novel],
        leaves,
    )


def probe(rows: Rows, labels: Labels, rng: np.random.Generator) -> tuple[int, Curve]:
    """Hide some known classes, and count them."""
    known = int(labels.max()) + 1
    hidden = int(rng.integers(2, known)) if known > 2 else 1
    order, left = rng.permutation(known), np.full(known, -1)
    left[order[hidden:]] = np.arange(known - hidden)
    seen = np.where(labels >= 0, left[np.maximum(labels, 0)], -1)
    chosen = (labels >= 0) & (seen < 0)
    return hidden, count(rows[chosen], whiten(rows, seen).rows[chosen], usual_size(labels))


def usual_size(labels: Labels) -> int:
    """Of the known classes: a class has no more neighbours of its own."""
    return int(np.median(np.bincount(labels[labels >= 0]))) if (labels >= 0).any() else MOST


def sample(items: Labels, rng: np.random.Generator) -> Labels:
    return items if len(items) <= MOST else rng.choice(items, MOST, replace=False)


def compact(labels: Labels) -> Labels:
    """Classes numbered without gaps: a sample may lack one."""
    return np.unique(np.where(labels < 0, -1, labels), return_inverse=True)[1] - int((labels < 0).any())


def doubts(items: int, low: int, high: int, probes: tuple[Probe, ...], right: float) -> str:
    """Why the number cannot be known, in half a sentence; "" where it can."""
    if items < FEW:
        return f"{items} items of novel classes are too few to count them"
    if not probes:
        return "with fewer than two known classes nothing shows how fine classes are"
    if right < 0.5:
        return "even the known classes hardly lie apart"
    if np.mean([abs(np.log((one.counted + 0.5) / (one.hidden + 0.5))) for one in probes]) > 0.5:
        return "the same way of counting does not find known classes that are hidden"
    if high > 1.6 * low + 2:
        return f"anything from {low} to {high} fits as well"
    return ""
