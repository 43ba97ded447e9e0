"""How many classes are there, by the links that a split cuts? Ward's tree of the items, cut where few neighbours part.

Every item is linked to its nearest neighbours. Where a split of the tree runs between two classes few links cross it;
where it runs through one, nearly as many as if its sides were drawn at random. How few, with how many items: the
evidence of a split, and a set of splits is as good as the sum of theirs. What is enough differs between data: from the
strictest demand to the mildest the number only grows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

PART, FEWEST, MOST = 20, 5, 40  # neighbours: one in so many items, as with fewer, larger classes fall into pieces
LEAST = 6  # items on each side of a split
# evidence of a split: as few links as these, so many items, and what is usual; fitted to splits of many data
FEW, MANY, USUAL = 2.3, 0.5, -4.8

Rows = Float[np.ndarray, "items dim"]


class Splits(NamedTuple):
    """The splits of a tree, those of few items first; parts are numbered as scipy's linkage does."""

    parts: Int[np.ndarray, "splits 2"]
    evidence: Float[np.ndarray, " splits"]
    """That a split is one between classes, as log-odds; -inf where a side has too few items."""


def splits(rows: Rows, most: int = MOST) -> Splits:
    """Ward's tree; an item is linked to one in twenty others, but at most to `most`."""
    from scipy.cluster.hierarchy import linkage

    count = len(rows)
    parts = linkage(rows, "ward")[:, :2].astype(np.int64)
    wanted = max(FEWEST, min(count // PART, most, MOST))
    nearest = neighbours_of(rows, min(wanted, max(1, count // 4)))
    start, end = np.repeat(np.arange(count), nearest.shape[1]), nearest.ravel()
    start, end = np.concatenate([start, end]), np.concatenate([end, start])
    order = np.argsort(start, kind="stable")
    linked = np.split(end[order], np.searchsorted(start[order], np.arange(1, count)))
    part_of, within, evidence = np.arange(count), np.zeros(2 * count - 1), np.full(count - 1, -np.inf)
    members = {item: np.array([item]) for item in range(count)}
    for number, (one, other) in enumerate(parts):
        first, second = members.pop(int(one)), members.pop(int(other))
        small, large = (first, other) if len(first) < len(second) else (second, one)
        crossing = int((part_of[np.concatenate([linked[item] for item in small])] == large).sum())
        both = np.concatenate([first, second])
        part_of[both], members[count + number] = count + number, both
        within[count + number] = within[one] + within[other] + crossing
        if len(small) >= LEAST:
            by_chance = 2 * len(first) * len(second) / len(both) ** 2
            fewer = np.log((crossing / max(within[count + number], 1) + 0.002) / by_chance)
            evidence[number] = -FEW * fewer + MANY * np.log(len(both)) + USUAL
    return Splits(parts, evidence)


def neighbours_of(rows: Rows, count: int) -> Int[np.ndarray, "items count"]:
    """The places of the nearest others."""
    squares = (rows**2).sum(1)
    found = np.empty((len(rows), count), dtype=np.int64)
    for start in range(0, len(rows), 1000):
        near = 2 * rows[start : start + 1000] @ rows.T - squares
        near[np.arange(len(near)), start + np.arange(len(near))] = -np.inf
        found[start : start + 1000] = np.argpartition(-near, count - 1, axis=1)[:, :count]
    return found


def cuts(tree: Splits, demands: Float[np.ndarray, " demands"]) -> list[Int[np.ndarray, " items"]]:
    """For each demand the group of every item: the splits whose evidence beyond it sums up to the most."""
    count = len(tree.parts) + 1
    best = np.zeros((2 * count - 1, len(demands)))
    for number, (one, other) in enumerate(tree.parts):
        if np.isfinite(tree.evidence[number]):
            best[count + number] = np.maximum(0, tree.evidence[number] - demands + best[one] + best[other])
    found = []
    for way in range(len(demands)):
        groups, names, open_parts = np.zeros(2 * count - 1, dtype=np.int64), 0, [2 * count - 2]
        while open_parts:
            part = open_parts.pop()
            if part >= count and best[part, way] > 0:
                open_parts += tree.parts[part - count].tolist()
            else:
                groups[part], names = names + 1, names + 1
        for number in range(count - 2, -1, -1):  # a group is handed down to all that is within it
            if groups[count + number]:
                groups[tree.parts[number]] = groups[count + number]
        found.append(groups[:count] - 1)
    return found
