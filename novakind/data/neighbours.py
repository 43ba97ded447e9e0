"""Nearest neighbours among vectors: exact, in blocks; among very many approximate, in cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

EXACT = 100_000  # items: beyond, all pairs take too long
CELL, CELLS = 1000, 4  # items of a cell on average, and cells in which neighbours are looked for
SAMPLE, ROUNDS = 50, 5  # items for each centre, and rounds, to find the centres
BLOCK = 2**25  # likenesses at a time, 128 MB


def nearest(rows: Float[np.ndarray, "items dim"], count: int, exact: int = EXACT) -> Int[np.ndarray, "items count"]:
    """For each row the places of the `count` others of greatest cosine, the nearest first."""
    if len(rows) > exact:
        return approximate(rows, count)
    unit = unit_rows(rows)
    found = torch.empty(len(unit), count, dtype=torch.int64)
    step = max(1, BLOCK // len(unit))
    for start in range(0, len(unit), step):
        likeness = unit[start : start + step] @ unit.T
        here = torch.arange(len(likeness))
        likeness[here, start + here] = -torch.inf  # nobody is a neighbour of himself
        found[start : start + step] = likeness.topk(count).indices
    return found.numpy()


def unit_rows(rows: Float[np.ndarray, "items dim"]) -> Float[Tensor, "items dim"]:
    return normalize(torch.from_numpy(np.ascontiguousarray(rows, np.float32)), dim=1)


def mutual(places: Int[np.ndarray, "items count"]) -> Int[np.ndarray, "items count"]:
    """The same, but an item itself stands for each neighbour that does not have it among its own: items far from all
    others have neighbours of any class."""
    here = np.arange(len(places))[:, None]
    returned = [(places[column] == here).any(1) for column in places.T]
    return np.where(np.stack(returned, 1), places, here)


def approximate(rows: Float[np.ndarray, "items dim"], count: int, cell: int = CELL) -> Int[np.ndarray, "items count"]:
    """Rows are put into cells around centres, and neighbours are looked for in the cell of a row and those nearest to
    it: the time is that of the rows, not of their pairs. Of rows that form groups few neighbours are missed."""
    centres = centres_of(rows, max(1, len(rows) // cell))
    inside = np.concatenate([(part @ centres.T).argmax(1).numpy() for part in blocks(rows)])
    order = np.argsort(inside, kind="stable")
    members = np.split(order, np.searchsorted(inside[order], np.arange(1, len(centres))))
    around = (centres @ centres.T).fill_diagonal_(torch.inf).argsort(1, descending=True).tolist()
    found = np.empty((len(rows), count), np.int64)
    for here, others in zip(members, around, strict=True):
        near: list[np.ndarray] = []
        for number in others:  # so many cells, or more where they are nearly empty
            if len(near) >= CELLS and sum(map(len, near)) > count:
                break
            near.append(members[number])
        places = np.concatenate(near)
        unit = unit_rows(rows[places])
        step = max(1, BLOCK // len(unit))
        for start in range(0, len(here), step):  # the rows of this cell are the first of those around
            some = torch.arange(start, min(start + step, len(here)))
            likeness = unit[some] @ unit.T
            likeness[some - start, some] = -torch.inf
            found[here[start : start + step]] = places[likeness.topk(count).indices.numpy()]
    return found


def centres_of(rows: Float[np.ndarray, "items dim"], count: int) -> Float[Tensor, "count dim"]:
    """Where k-means with cosines puts `count` centres after some rounds, by a sample; the same ones each time."""
    rng = np.random.default_rng(0)
    some = unit_rows(rows[np.sort(rng.permutation(len(rows))[: SAMPLE * count])])
    centres = some[torch.from_numpy(rng.permutation(len(some))[:count])]
    for _ in range(ROUNDS):
        inside = torch.cat([(part @ centres.T).argmax(1) for part in some.split(2**14)])
        sums = torch.zeros_like(centres).index_add_(0, inside, some)
        centres = torch.where(sums.any(1, keepdim=True), normalize(sums, dim=1), centres)
    return centres


def blocks(rows: Float[np.ndarray, "items dim"]) -> Iterator[Float[Tensor, "some dim"]]:
    return (unit_rows(rows[start : start + 2**14]) for start in range(0, len(rows), 2**14))
