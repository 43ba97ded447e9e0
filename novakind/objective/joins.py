"""Which groups are one class, by the links between them? Small groups join, the pair first that parts least.

Every item is linked to its nearest neighbours. Between two halves of one class nearly as many links cross as if the
halves were drawn at random; between two classes few do. How few, how small the smaller one is, and how large both are
beside a known class: the odds that they are one class. The sum of the odds of all joins so far, less those of what is
joined beyond, says how plausible each number of classes is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.space import finest

EACH, MANY = 8, 1000  # items of a small group, on average, and small groups at most
PART, FEWEST, MOST = 20, 5, 40  # neighbours: one in so many items, as with fewer, larger classes fall into pieces
# odds that two groups are one class: by the links that cross, by the size of the smaller one, by that of both; fitted
# to joins of many data
LINKS, SMALLER, BOTH, USUAL = 1.9, 0.5, 1.0, 5.9
LARGE, UNLIKE = 80, 4  # a smaller one of more items counts as that; known classes may be so much smaller or larger

Rows = Float[np.ndarray, "items dim"]
Groups = Int[np.ndarray, " items"]


class Joins(NamedTuple):
    """Small groups and the order in which they join; groups are numbered as scipy's linkage does."""

    groups: Groups
    pairs: Int[np.ndarray, "joins 2"]
    odds: Float[np.ndarray, " joins"]
    """Log-odds that the two are one class."""


def join(rows: Rows, usual: float, known: int = 0) -> Joins:
    """From small groups to one; a known class, of which there are so many, has about `usual` items."""
    groups = finest(rows, max(1, min(len(rows) // EACH, MANY)))
    most = min(MOST, usual) if known > PART else MOST  # where classes are many, one in twenty items is more than one
    links, sizes = between(rows, groups, int(most)), np.bincount(groups).astype(np.float64)
    count = len(sizes)
    names, alive, one_class = np.arange(count), np.ones(count, dtype=bool), np.full((count, count), -np.inf)
    for first in range(count):
        one_class[first] = odds(links, sizes, first, usual)
    pairs, found = np.zeros((count - 1, 2), np.int64), np.zeros(count - 1)
    partner = one_class.argmax(1)
    for number in range(count - 1):
        best = int(one_class[np.arange(count), partner].argmax())
        first, second = sorted((best, int(partner[best])))
        pairs[number], found[number] = (names[first], names[second]), one_class[first, second]
        links[first] += links[second]
        links[:, first] += links[:, second]
        sizes[first] += sizes[second]
        alive[second], names[first] = False, count + number
        one_class[second], one_class[:, second] = -np.inf, -np.inf
        row = np.where(alive, odds(links, sizes, first, usual), -np.inf)
        one_class[first], one_class[:, first] = row, row
        stale = (partner == first) | (partner == second) | (row >= one_class[np.arange(count), partner])
        stale[[first, second]] = True
        partner[stale] = one_class[stale].argmax(1)
    return Joins(groups, pairs, found)


def cut(joins: Joins, number: int) -> Groups:
    """Of every item one of `number` groups; where there are no more small groups than that, its small group."""
    return np.unique(roots(joins, number)[joins.groups], return_inverse=True)[1]


def roots(joins: Joins, number: int) -> Int[np.ndarray, " groups"]:
    """What each small group is a part of once `number` are left."""
    count = len(joins.odds) + 1
    into = np.arange(2 * count - 1)
    for made in range(count - number - 1, -1, -1):  # a group is handed down to all that is within it
        into[joins.pairs[made]] = into[count + made]
    return into[:count]


def spreads(rows: Rows, joins: Joins) -> Float[np.ndarray, " numbers"]:
    """How far items lie from the mean of their group, as a mean square, for each number of groups, from 1 on."""
    sizes = np.bincount(joins.groups).astype(np.float64)
    means = np.stack([np.bincount(joins.groups, axis) for axis in rows.T], 1) / sizes[:, None]
    held, grown = [*zip(means, sizes, strict=True)], np.zeros(len(joins.odds))
    for made, (first, second) in enumerate(joins.pairs.tolist()):
        (one, items), (other, others) = held[first], held[second]
        both = items + others
        grown[made] = items * others / both * np.square(one - other).sum()
        held.append(((items * one + others * other) / both, both))
    within = np.square(rows - means[joins.groups]).sum()
    return (within + np.append(0, np.cumsum(grown))[::-1]) / len(rows)


def between(rows: Rows, groups: Groups, most: int = MOST) -> Float[np.ndarray, "groups groups"]:
    """The links between every two groups; within one each counts twice."""
    nearest, count = neighbours(rows, most), int(groups.max()) + 1
    links = np.zeros((count, count))
    np.add.at(links, (np.repeat(groups, nearest.shape[1]), groups[nearest.ravel()]), 1)
    return links + links.T


def neighbours(rows: Rows, most: int = MOST) -> Int[np.ndarray, "items count"]:
    """The places of the nearest others: one in twenty of all, but no more than `most`."""
    count = min(max(FEWEST, min(len(rows) // PART, most)), max(1, len(rows) // 4), len(rows) - 1)
    squares = (rows**2).sum(1)
    found = np.empty((len(rows), count), dtype=np.int64)
    for start in range(0, len(rows), 1000):
        near = 2 * rows[start : start + 1000] @ rows.T - squares
        near[np.arange(len(near)), start + np.arange(len(near))] = -np.inf
        found[start : start + 1000] = np.argpartition(-near, max(0, count - 1), axis=1)[:, :count]
    return found


def odds(
    links: Float[np.ndarray, "groups groups"], sizes: Float[np.ndarray, " groups"], one: int, usual: float
) -> Float[np.ndarray, " groups"]:
    """Log-odds that this group and each other are one class; -inf for itself."""
    both, smaller = sizes + sizes[one], np.minimum(sizes, sizes[one])
    within = (np.diag(links) + links[one, one]) / 2 + links[one]
    by_chance = 2 * sizes * sizes[one] / both**2
    fewer = np.log((links[one] / np.maximum(within, 1) + 0.002) / by_chance)
    larger = np.clip(np.log(both / usual), -np.log(UNLIKE), np.log(UNLIKE))
    found = LINKS * fewer - SMALLER * np.log(np.minimum(smaller, LARGE)) - BOTH * larger + USUAL
    found[one] = -np.inf
    return found
