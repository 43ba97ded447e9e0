"""How plausible is each number of classes, and what do hidden known classes say of it?

Groups of items join in an order, each join with odds that its two sides are one class (see `joins`). What counts as one
class is a matter of taste, a shift of all odds; known classes that are held out as if novel, and counted in the same
way, tell whose, and how far items lie from the mean of their class. And the groups of a number must lie apart: their
silhouette is heard as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from novakind.objective.joins import Groups, Joins, cut, spreads

SHIFTS, VARIES = np.arange(-6, 6.1, 0.25), 1.0  # of the odds, and how much they vary between data
BELIEF = 4.0  # in counts of held-out classes
CAUTION = 2.5  # the odds of joins are not independent: so much less do they say
RARE = 0.01  # a count that is held for as good as impossible may yet be right
SHARPNESS = 0.07  # of silhouettes: so much more is e times as likely
WIDER = 4.0  # power of the ratio by which groups spread more than held-out classes do, or less: so much less plausible
SEVERAL = 0.5  # power of the number before anything is seen: who looks for new classes seldom has but one
SEEN, EACH, LIMIT = 600, 8, 2000  # items whose silhouette is looked at, for each class where they are many, and at most
WAYS = 100  # numbers of classes for which it is; of more items fewer, and what is between them lies between
HARDLY = 1e-4  # so small a chance is none

Rows = Float[np.ndarray, "items dim"]
Chances = dict[int, float]
Shifted = Float[np.ndarray, "shifts numbers"]


class Belief(NamedTuple):
    """What held-out classes say."""

    shifts: Float[np.ndarray, " shifts"]
    """How much each shift is believed."""
    spread: float
    """How far items lie from the mean of their group, as a mean square, where groups are as many as classes; 0: not
    known."""


class Hidden(NamedTuple):
    """Known classes that were hidden: how many, their items, and how those join."""

    classes: int
    rows: Rows
    joins: Joins


def plausible(joins: Joins) -> Shifted:
    """The chance of each number of classes, from 1 to as many as there are groups, with every shift."""
    sums = np.cumsum(np.append(0, joins.odds[::-1]))
    taken = np.arange(len(joins.odds), -1, -1)  # joins that leave so many
    logs = (sums[-1] - sums + SHIFTS[:, None] * taken) / CAUTION
    chance = np.exp(logs - logs.max(1, keepdims=True))
    return chance / chance.sum(1, keepdims=True)


def believed(probes: Sequence[Hidden]) -> Belief:
    """The usual shift, and what counts these held-out classes rightly; and how far their items spread."""
    log, spread = -0.5 * (SHIFTS / VARIES) ** 2, 0.0
    if probes:
        right = [np.log(of_number(plausible(one.joins), one.classes) + RARE) for one in probes]
        log = log + BELIEF * np.mean(right, 0)
        told = [spreads(one.rows, one.joins) for one in probes]
        spread = float(np.mean([seen[min(one.classes, len(seen)) - 1] for one, seen in zip(probes, told, strict=True)]))
    shifts = np.exp(log - log.max())
    return Belief(shifts / shifts.sum(), spread)


def of_number(chance: Shifted, number: int) -> Float[np.ndarray, " shifts"]:
    return chance[:, number - 1] if number <= chance.shape[1] else np.zeros(len(chance))


def weighed(rows: Rows, joins: Joins, belief: Belief, limits: tuple[int, int]) -> Chances:
    """The chance of each number within the limits, smallest first."""
    chance = belief.shifts @ plausible(joins)
    every = np.arange(1, len(chance) + 1)
    chance *= every**SEVERAL * alike(spreads(rows, joins), belief.spread)
    chance /= chance.sum()
    numbers = np.clip(every, *limits)
    found = {int(one): float(chance[numbers == one].sum()) for one in np.unique(numbers)}
    found = {number: share for number, share in found.items() if share > HARDLY}
    seen = min(max(SEEN, EACH * quantile(found, 0.5)), LIMIT)
    numbers = np.array(list(found))
    some = numbers[:: max(1, len(numbers) * seen // (SEEN * WAYS))]
    apart = np.interp(numbers, some, silhouettes(rows, [cut(joins, number) for number in some.tolist()], seen))
    heard = np.exp((apart - apart.max()) / SHARPNESS) * list(found.values())
    found = dict(zip(found, (heard / heard.sum()).tolist(), strict=True))
    return {number: share for number, share in found.items() if share > HARDLY}


def alike(found: Float[np.ndarray, " numbers"], usual: float) -> Float[np.ndarray, " numbers"]:
    """How likely groups spread so far, where classes usually do so; all the same where that is not known."""
    if not usual:
        return np.ones(len(found))
    return np.exp(-WIDER * np.abs(np.log(np.maximum(found, 1e-9 * usual) / usual)))


def silhouettes(rows: Rows, ways: Sequence[Groups], seen: int = SEEN) -> Float[np.ndarray, " ways"]:
    """How far apart the groups of each way lie by angle, from -1 to 1 (Rousseeuw, 1987); 0 for a single group."""
    step = max(1, -(-len(rows) // seen))
    rows = rows[::step] / np.maximum(np.linalg.norm(rows[::step], axis=1, keepdims=True), 1e-12)
    far = np.sqrt(np.maximum(2 - 2 * rows @ rows.T, 0))
    return np.array([silhouette(far, groups[::step]) for groups in ways])


def silhouette(far: Float[np.ndarray, "items items"], groups: Groups) -> float:
    """Of each item how much farther the next group is than its own; an item by itself counts as 0."""
    names, groups = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        return 0.0
    sizes = np.bincount(groups)
    sums, items = far @ np.eye(len(names))[groups], np.arange(len(groups))
    own = sums[items, groups] / np.maximum(sizes[groups] - 1, 1)
    others = sums / sizes
    others[items, groups] = np.inf
    next_one = others.min(1)
    apart = (next_one - own) / np.maximum(np.maximum(next_one, own), 1e-12)
    return float(np.where(sizes[groups] > 1, apart, 0).mean())


def expected(chances: Chances) -> int:
    """The mean of the numbers that may be right: of skewed chances the median is too low."""
    return round(sum(number * chance for number, chance in chances.items()) / sum(chances.values()))


def quantile(chances: Chances, level: float) -> int:
    total = 0.0
    for number, chance in chances.items():
        total += chance
        if total >= level * sum(chances.values()):
            return number
    return max(chances)
