"""Rows: items that lie in several files on disk, in any order, as one array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

MEMORY = 2**26  # bytes of items that statistics are measured on: a video is as large as a hundred pictures


class Rows:
    """What is asked for is read: `rows[3]`, `rows[5:9]`, `rows[numbers]`, `rows[marks]` are arrays, as of an array.

    Row i is row `where[i]` of the `shards` end to end, which hold `each` rows, the last one perhaps fewer.
    """

    def __init__(self, shards: Sequence[np.ndarray], each: int, where: Int[np.ndarray, " rows"]) -> None:
        self.shards, self.each, self.where = shards, each, where
        self.dtype = shards[0].dtype
        self.shape = (len(where), *shards[0].shape[1:])
        self.ndim = len(self.shape)
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, key: Any) -> Any:
        first, *others = key if isinstance(key, tuple) else (key,)
        places = self.where[first]
        if np.ndim(places) == 0:
            shard, row = divmod(int(places), self.each)
            found = self.shards[shard][row]
            return found[tuple(others)] if others else found
        found = self.gather(places)
        return found[(slice(None), *others)] if others else found

    def gather(self, places: Int[np.ndarray, " some"]) -> np.ndarray:
        """A copy of the rows at these places, in the memory of this process."""
        if len(self.shards) == 1:
            return self.shards[0][places]
        found = np.empty((len(places), *self.shape[1:]), self.dtype)
        shard, row = np.divmod(places, self.each)
        for number in np.unique(shard):
            here = shard == number
            found[here] = self.shards[number][row[here]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self[:], dtype)


Items = np.ndarray | Rows


def sample(items: Items, numbers: Int[np.ndarray, " rows"]) -> Int[np.ndarray, " some"]:
    """So many of these items as statistics need and memory holds, evenly."""
    most = min(50_000, max(500, MEMORY // max(1, items[:1].nbytes)))
    return numbers[:: max(1, len(numbers) // most)]


def stacked(rows: Sequence[np.ndarray], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Rows as one array, end to end in memory, however each of them lies there."""
    found = np.empty((len(rows), *shape), dtype)
    for place, row in enumerate(rows):
        found[place] = row
    return found
