"""Centres of clusters, moved until they rest; those of known classes stay near their labeled items."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

ROUNDS = 50  # of moving centres to the items that are nearest to them
BLOCK = 2**23  # distances at a time: those of all items would be gigabytes
HELD = 0.5  # so far a centre of a known class is held at the mean of its labeled items: else a novel one draws it away

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]
Centres = Float[np.ndarray, "classes dim"]


def settled(rows: Rows, labels: Labels, ways: list[Centres]) -> Centres:
    """The best of several starts, known classes first: labeled items stay in their class, others go to the nearest."""
    free, known = labels < 0, int(labels.max(initial=-1)) + 1
    held, best = labeled_means(rows, labels), (np.inf, ways[0])
    for centres in ways:
        distance = np.inf
        for _ in range(ROUNDS):
            places, squares = nearest(rows, centres)
            distance, members = float(squares[free].sum()), np.where(free, places, labels)
            moved = means_of(rows, members, centres)
            moved[:known] = HELD * held + (1 - HELD) * moved[:known]
            if np.abs(moved - centres).max() < 1e-5:
                break
            centres = moved
        best = min(best, (distance, centres), key=lambda found: found[0])
    return best[1]


def labeled_means(rows: Rows, labels: Labels) -> Centres:
    means = [rows[labels == one].mean(0) for one in range(int(labels.max(initial=-1)) + 1)]
    return np.stack(means) if means else rows[:0]


def means_of(rows: Rows, members: Labels, centres: Centres) -> Centres:
    """The means of the clusters; one without items stays where it was."""
    order, sizes = np.argsort(members, kind="stable"), np.bincount(members, minlength=len(centres))
    filled = np.flatnonzero(sizes)
    moved = centres.copy()
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])[filled]
    moved[filled] = np.add.reduceat(rows[order], starts, axis=0) / sizes[filled, None]
    return moved


def nearest(rows: Rows, centres: Centres) -> tuple[Labels, Float[np.ndarray, " items"]]:
    """The nearest centre of each row, and the square of its distance."""
    places, squares = np.empty(len(rows), np.int64), np.empty(len(rows), np.result_type(rows, centres))
    step = max(1, BLOCK // max(1, len(centres)))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        found = squared_distances(rows[part], centres)
        places[part], squares[part] = found.argmin(1), found.min(1)
    return places, squares


def squared_distances(rows: Rows, centres: Centres) -> Float[np.ndarray, "items classes"]:
    squares = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)
    return np.maximum(squares, 0)


def unit(rows: Rows) -> Rows:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
