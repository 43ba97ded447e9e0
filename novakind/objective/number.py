"""How many novel classes are there, how large are they, and are known ones among the unlabeled items?

Small groups of items join until all are one; each join has odds that its two sides are one class (see `joins`). Several
times some known classes are hidden and counted in the same way: what counts those rightly is believed (see `counting`).
The answer is a distribution over numbers: its mean, and an interval that is no narrower than those are miscounted.
Unlabeled items that seem to be of known classes (see `mixed`) are left out of the count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.counting import Belief, Hidden, believed, expected, quantile, weighed
from novakind.objective.joins import cut, join
from novakind.objective.mixed import known_ones, send
from novakind.objective.space import principal, whiten
from novakind.objective.tree import Merge, merge_tree

MOST = 3000  # items of each kind are looked at: all pairs of them are compared
EACH, LIMIT = 16, 8000  # but so many for each known class, where there are hundreds of them, and never more than that
PROBES = 8
MISCOUNTED = 0.5  # the logarithm of a factor: probes that are so far off say nothing
HUNDRED, SPIED = 100, 8  # so many classes are many, and so few labeled items of each, in a sample, tell of no others
HARDLY_APART = 0.5  # so much better than by chance must known classes be recognised
FEW, HARDLY = 30, 10  # items of novel classes: below, a number is no more than a guess, and the least that may be
INTERVAL = (0.08, 0.92)
# which items are known is asked twice: with many new categories at first, then with some more than are counted; with
# too few of them, novel items would join known classes
LOOKS, FINE, MORE = 2, 12, 1.5
LEAVES = 40  # of the tree that is drawn

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


@dataclass(frozen=True)
class Probe:
    """A count of known classes that were hidden."""

    hidden: int
    counted: int

    @property
    def wrong(self) -> float:
        """How far off it is, as the logarithm of a factor."""
        return abs(math.log((self.counted + 0.5) / (self.hidden + 0.5)))


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
    """The joins of `high` or more groups to one: which joins which, the odds that they are one class, their items."""
    sizes: tuple[int, ...]
    """Items of the clusters that the tree begins with."""
    doubt: str = ""
    """Why the number cannot be known."""
    untold: bool = False
    """Whether nothing can be said of known classes among the unlabeled items, so that they are taken to hold none."""
    recognised: float = 1.0
    """How much better than by chance, from 0 to 1, labeled items that are taken for unlabeled ones are told to be of
    their class: where that is little, the known share is a guess; 1 where it was given."""
    rows: Labels | None = field(default=None, compare=False)
    """Of the rows that were given, those that the tree is made of."""
    leaves: Labels | None = field(default=None, compare=False)
    """The cluster of each of them."""

    def plain(self) -> dict[str, Any]:
        told = {name: value for name, value in asdict(self).items() if name not in ("rows", "leaves")}
        return told | {"chances": {str(number): round(chance, 4) for number, chance in self.chances.items()}}


def estimate(
    rows: Rows | Callable[[Labels], Rows],
    labels: Labels,
    limits: tuple[int, int],
    mixed: bool | None = None,
    share: float = 0.0,
    seed: int = 0,
) -> Estimate:
    """Look at vectors of length 1, of which some have labels (-1: none); or at what gives those of some numbers.

    The number is sought within `limits`. `mixed` says whether known classes are among the unlabeled items, if that is
    known, and `share` how many of them are, if that is known too.
    """
    rng = np.random.default_rng([seed, 5])
    most = min(max(MOST, EACH * len(np.unique(labels[labels >= 0]))), LIMIT)
    some = np.sort(np.concatenate([sample(np.flatnonzero(kind), most, rng) for kind in (labels >= 0, labels < 0)]))
    rows, labels = principal(rows(some) if callable(rows) else rows[some]), compact(labels[some])
    space, free, usual = whiten(rows, labels), np.flatnonzero(labels < 0), usual_size(labels)
    known = int(labels.max(initial=-1)) + 1
    probes = [probe(rows, labels, rng) for _ in range(PROBES)] if known > 1 else []
    belief = believed(probes)
    checked = tuple(Probe(one.classes, expected(weighed(one.rows, one.joins, belief, (1, MOST)))) for one in probes)
    untold = mixed is None and not share and blind(known, usual, checked)
    mixed = False if untold else mixed
    inside, right = np.zeros(len(free), dtype=bool), 1.0
    if known and len(free):
        guess = max(FINE, likely(space[free], usual, known, belief))
        for _ in range(LOOKS):
            spies = send(rows, labels, guess, rng)
            inside, right = known_ones(spies, mixed, share), spies.right
            guess = math.ceil(MORE * likely(space[free[~inside]], usual, known, belief))
    novel = free[~inside] if (~inside).sum() > 1 else free
    if inside.any() and (~inside).sum() < HARDLY:
        limits = (limits[0], limits[0])
    joins = join(space[novel], usual, known)
    chances = weighed(space[novel], joins, belief, limits)
    number, low, high = expected(chances), *(quantile(chances, level) for level in INTERVAL)
    off = math.exp(float(np.mean([one.wrong for one in checked]))) if checked else 1.0
    low, high = (int(np.clip(end, *limits)) for end in (min(low, (number + 0.5) // off), max(high, number * off)))
    tree = merge_tree(joins, max(number, min(2 * high, LEAVES)))
    shares = np.sort(np.bincount(cut(joins, number)))[::-1] / len(novel)
    inner = share or float(inside.mean()) if len(free) else 0.0
    return Estimate(
        number,
        low,
        high,
        round(min(inner, 0.95), 4),
        tuple(round(float(one), 4) for one in shares),
        chances,
        checked,
        tree.merges,
        tree.sizes,
        doubts(len(novel), low, high, checked, right),
        untold,
        1.0 if share else round(right, 4),
        some[novel],
        tree.leaves,
    )


def likely(rows: Rows, usual: float, known: int, belief: Belief) -> int:
    """The number of classes among these items."""
    return expected(weighed(rows, join(rows, usual, known), belief, (1, MOST))) if len(rows) > 1 else 1


def probe(rows: Rows, labels: Labels, rng: np.random.Generator) -> Hidden:
    """Hide some known classes; the others alone say what varies within classes."""
    known = int(labels.max()) + 1
    hidden = int(rng.integers(2, known)) if known > 2 else 1
    order, left = rng.permutation(known), np.full(known, -1)
    left[order[hidden:]] = np.arange(known - hidden)
    seen = np.where(labels >= 0, left[np.maximum(labels, 0)], -1)
    items = whiten(rows, seen)[(labels >= 0) & (seen < 0)]
    return Hidden(hidden, items, join(items, usual_size(labels), known))


def usual_size(labels: Labels) -> float:
    """Labeled items of a known class; without any, as few as make the size of a class say nothing."""
    return float(np.median(np.bincount(labels[labels >= 0]))) if (labels >= 0).any() else FEW


def sample(items: Labels, most: int, rng: np.random.Generator) -> Int[np.ndarray, " some"]:
    return items if len(items) <= most else rng.choice(items, most, replace=False)


def compact(labels: Labels) -> Labels:
    """Classes numbered without gaps: a sample may lack one."""
    return np.unique(np.where(labels < 0, -1, labels), return_inverse=True)[1] - int((labels < 0).any())


def blind(known: int, usual: float, probes: tuple[Probe, ...]) -> bool:
    """Whether of so many classes too little is seen: where clusters are not counted rightly, novel items lean to known
    classes."""
    return known >= HUNDRED and (usual < SPIED or miscounted(probes))


def miscounted(probes: tuple[Probe, ...]) -> bool:
    return float(np.mean([one.wrong for one in probes])) > MISCOUNTED


def doubts(items: int, low: int, high: int, probes: tuple[Probe, ...], right: float) -> str:
    """Why the number cannot be known, in half a sentence; "" where it can."""
    if items < FEW:
        return f"{items} items of novel classes are too few to count them"
    if not probes:
        return "with fewer than two known classes nothing shows how fine classes are"
    if right < HARDLY_APART:
        return "even the known classes hardly lie apart"
    if miscounted(probes):
        return "the same way of counting does not find known classes that are hidden"
    if high > 1.6 * low + 2:
        return f"any number from {low} to {high} may be right"
    return ""
