"""The merge tree that is told and drawn: which groups become one, in which order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from novakind.objective.joins import Joins, cut, roots


class Merge(NamedTuple):
    """Two groups by their numbers, the log-odds that they are one class, and the items of both."""

    first: int
    second: int
    odds: float
    items: int


class Tree(NamedTuple):
    """Groups are numbered from 0, and each merge makes the next number, as scipy's linkage does."""

    sizes: tuple[int, ...]
    """Items of the groups that it begins with."""
    merges: tuple[Merge, ...]
    leaves: Int[np.ndarray, " items"]
    """The group of each item."""


def merge_tree(joins: Joins, most: int) -> Tree:
    """From at most so many groups down to one."""
    count = len(joins.odds) + 1
    begin, leaves = max(0, count - most), cut(joins, most)
    held = np.bincount(leaves).tolist()
    names = {root: leaf for leaf, root in enumerate(np.unique(roots(joins, most)).tolist())}
    merges = []
    for made in range(begin, count - 1):
        first, second = (names[one] for one in joins.pairs[made].tolist())
        names[count + made] = len(held)
        held.append(held[first] + held[second])
        merges.append(Merge(first, second, round(float(joins.odds[made]), 3), held[-1]))
    return Tree(tuple(held[: len(held) - len(merges)]), tuple(merges), leaves)
