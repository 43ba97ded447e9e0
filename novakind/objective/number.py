"""How many novel classes are there, how large are they, and are known ones among the unlabeled items?

What counts as one class is a matter of taste, and the known classes show whose: several times some of them are hidden
and counted like novel ones. A grain (see `merging`) that counts those rightly is believed; how far clusters lie apart
(their silhouette) is heard too. The answer is a distribution over numbers: its median, and an interval that is no
narrower than the held-out classes are miscounted.

Known classes among the unlabeled items are found by the same merging, into the labeled ones, at a finer grain; unless
the core of the known classes is empty of unlabeled items: then there are none.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from novakind.objective.merging import Space, finest, gathered, merge, principal, whiten
from novakind.objective.tree import Merge, cut, merge_tree

MOST = 3000  # items of each kind are looked at: all pairs of them are compared
PROBES = 8
FEW, HARDLY = 30, 10  # items of novel classes: below, a number is no more than a guess, and the least that may be
GRAINS = np.geomspace(0.3, 3000, 44)
# items that a class is worth, which tells grains of small and large classes alike: about 1.5, and as probes say
WORTH = np.geomspace(0.02, 40, 90)
USUAL, VARIES, BELIEF = 1.5, 0.7, 5.0
SHARPNESS = 0.1  # of silhouettes: so much more is e times as likely
FINER = 7  # times finer is the grain at which items are recognised as known
CORE, EMPTY = 0.1, 0.07  # share of the known items in the core of their classes; none are mixed in below this
TINY = 0.2  # of the mean size: smaller clusters are outliers, no class
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


class Curve(NamedTuple):
    """What is found at each worth of a class: the number of classes, and their silhouette."""

    numbers: Int[np.ndarray, " worths"]
    silhouettes: Float[np.ndarray, " worths"]


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
        if mixed or (mixed is None and not share and core(space.rows, labels, spies) >= EMPTY):
            inside = recognised(space, labels)
    novel = free[~inside] if (~inside).sum() > 1 else free
    if inside.any() and (~inside).sum() < HARDLY:
        limits = (limits[0], limits[0])
    probes = [probe(rows, labels, rng) for _ in range(PROBES)] if labels.max(initial=-1) >= 1 else []
    wrong = np.mean([miscounted(curve, hidden) for hidden, curve in probes], 0) if probes else np.zeros(len(WORTH))
    belief = believed(wrong)
    chances = weighed(count(rows[novel], Space(space.rows[novel], space.spread)), belief, limits)
    number, low, high = (quantile(chances, level) for level in (0.5, *INTERVAL))
    best, usual = int(belief.argmax()), math.exp(float((belief * wrong).sum() / belief.sum()))
    low, high = (int(np.clip(end, *limits)) for end in (min(low, (number + 0.5) // usual), max(high, number * usual)))
    checked = tuple(Probe(hidden, int(curve.numbers[best])) for hidden, curve in probes)
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


def sample(items: Labels, rng: np.random.Generator) -> Labels:
    return items if len(items) <= MOST else rng.choice(items, MOST, replace=False)


def compact(labels: Labels) -> Labels:
    """Classes numbered without gaps: a sample may lack one."""
    return np.unique(np.where(labels < 0, -1, labels), return_inverse=True)[1] - int((labels < 0).any())


def recognised(space: Space, labels: Labels) -> Bool[np.ndarray, " unlabeled"]:
    """Which of the unlabeled items are of known classes: small clusters merge into them, at a grain that fits the size
    that the known classes then have."""
    known, free = int(labels.max()) + 1, space.rows[labels < 0]
    small = finest(free, min(len(free) // 6, 400))
    labeled = labels >= 0
    members = np.concatenate([labels[labeled], known + small])
    clusters = gathered(np.concatenate([space.rows[labeled], free]), members, known)
    inside, share = np.zeros(len(free), dtype=bool), 0.0
    for _ in range(4):
        grain = max((labeled.sum() + share * len(free)) / known / FINER, 0.5)
        inside = merge(clusters, space.spread, [grain])[0][known:][small] < known
        if abs(inside.mean() - share) < 0.005:
            break
        share = float(inside.mean())
    return inside


class Spies(NamedTuple):
    """Labeled items that were held out, as the class means of the others see them."""

    squares: Float[np.ndarray, " items"]
    """Squared distance to the nearest mean."""
    right: float
    """How much better than by chance they are recognised: 0 to 1."""


def held_out(rows: Rows, labels: Labels, rng: np.random.Generator) -> Spies:
    """A fifth of the labeled items at a time."""
    labeled, known = np.flatnonzero(labels >= 0), int(labels.max()) + 1
    folds, found, right = rng.integers(5, size=len(labeled)), np.full(len(labeled), np.inf), np.zeros(len(labeled))
    for fold in range(5):
        means = [rows[labeled[(labels[labeled] == one) & (folds != fold)]] for one in range(known)]
        centres = np.stack([members.mean(0) if len(members) else np.full(rows.shape[1], 1e9) for members in means])
        here = folds == fold
        squares = squared(rows[labeled[here]], centres)
        found[here], right[here] = squares.min(1), squares.argmin(1) == labels[labeled[here]]
    chance = 1 / known
    return Spies(found, float((right.mean() - chance) / (1 - chance)) if known > 1 else 1.0)


def core(rows: Rows, labels: Labels, spies: Spies) -> float:
    """At most how many of the unlabeled items are of known classes: in the core of those classes they would lie as
    densely as the spies."""
    means = np.stack([rows[labels == one].mean(0) for one in range(int(labels.max()) + 1)])
    others = squared(rows[labels < 0], means).min(1)
    radii = np.quantile(spies.squares, np.linspace(CORE, 0.95, 30))
    return min(float((others <= radius).mean() / (spies.squares <= radius).mean()) for radius in radii)


def squared(rows: Rows, means: Float[np.ndarray, "classes dim"]) -> Float[np.ndarray, "items classes"]:
    return (rows**2).sum(1)[:, None] - 2 * rows @ means.T + (means**2).sum(1)


def probe(rows: Rows, labels: Labels, rng: np.random.Generator) -> tuple[int, Curve]:
    """Hide some known classes, and count them."""
    known = int(labels.max()) + 1
    hidden = int(rng.integers(2, known)) if known > 2 else 1
    order, left = rng.permutation(known), np.full(known, -1)
    left[order[hidden:]] = np.arange(known - hidden)
    seen = np.where(labels >= 0, left[np.maximum(labels, 0)], -1)
    space, chosen = whiten(rows, seen), (labels >= 0) & (seen < 0)
    return hidden, count(rows[chosen], Space(space.rows[chosen], space.spread))


def count(rows: Rows, space: Space) -> Curve:
    """The number of classes among these items at each worth of a class."""
    small = finest(space.rows, max(2, min(len(rows) // 5, 300)))
    found = merge(gathered(space.rows, small), space.spread, GRAINS.tolist())
    counted = [np.unique(place[small], return_inverse=True, return_counts=True)[1:] for place in found]
    heard: dict[int, float] = {}
    for groups, sizes in counted:
        if len(sizes) not in heard:
            heard[len(sizes)] = silhouette(rows, groups)
    worth = np.log([len(rows) / len(sizes) / grain for (_, sizes), grain in zip(counted, GRAINS, strict=True)])
    numbers = np.array([max(1, int((sizes >= TINY * sizes.mean()).sum())) for _, sizes in counted])
    order = np.argsort(worth, kind="stable")
    place = order[np.clip(np.searchsorted(worth[order], np.log(WORTH)), 0, len(order) - 1)]
    return Curve(numbers[place], np.array([heard[len(sizes)] for _, sizes in counted])[place])


def silhouette(rows: Rows, groups: Labels, most: int = 1500) -> float:
    """How far apart the groups lie, from -1 to 1; 0 where there is nothing to compare."""
    step = max(1, -(-len(rows) // most))
    rows, groups = rows[::step], groups[::step]
    if not 1 < len(np.unique(groups)) <= len(rows) // 2:
        return 0.0
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(rows, groups))


def miscounted(curve: Curve, true: int) -> Float[np.ndarray, " worths"]:
    """How far off the number is, as the logarithm of a factor."""
    return np.abs(np.log((curve.numbers + 0.5) / (true + 0.5)))


def believed(wrong: Float[np.ndarray, " worths"]) -> Float[np.ndarray, " worths"]:
    """How much each worth of a class is believed: the usual one, and what counts held-out classes rightly."""
    log = -0.5 * (np.log(WORTH / USUAL) / VARIES) ** 2 - BELIEF * wrong
    return np.exp(log - log.max())


def weighed(curve: Curve, belief: Float[np.ndarray, " worths"], limits: tuple[int, int]) -> dict[int, float]:
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
