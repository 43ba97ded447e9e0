"""Shards: rows end to end in files of about a gigabyte, which only grow."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from jaxtyping import Int

from novakind.disk import appending, cut, remove
from novakind.given import is_regular
from novakind.rows import Rows

SIZE = 2**30  # bytes of a shard
NAME = re.compile(r"rows-(\d{1,9})-(\d{4,9})\.bin")


def newest(folder: Path) -> int:
    """The latest generation of which there is a shard; -1 where there is none."""
    return max((int(found[1]) for name in os.listdir(folder) if (found := NAME.fullmatch(name))), default=-1)


class Shards:
    """Those of one generation: row i is in shard i // each. Rows that are there are never written again."""

    def __init__(self, folder: Path, generation: int, shape: Sequence[int], dtype: str) -> None:
        self.folder, self.generation, self.shape, self.dtype = folder, generation, tuple(shape), np.dtype(dtype)
        self.row_bytes = int(np.prod(self.shape)) * self.dtype.itemsize
        self.each = max(1, SIZE // self.row_bytes)
        self.rows = [self.rows_in(number) for number in range(max(self.numbers(), default=-1) + 1)]
        self.open = ExitStack()
        self.file: Any = None
        self.number = -1

    def numbers(self) -> list[int]:
        found = [NAME.fullmatch(name) for name in os.listdir(self.folder)]
        return [int(name[2]) for name in found if name and int(name[1]) == self.generation]

    def path(self, number: int) -> Path:
        return self.folder / f"rows-{self.generation}-{number:04}.bin"

    def rows_in(self, number: int) -> int:
        path = self.path(number)
        return min(self.each, path.stat().st_size // self.row_bytes) if is_regular(path) else 0

    @property
    def top(self) -> int:
        """The number of the next row."""
        return max(0, len(self.rows) - 1) * self.each + (self.rows[-1] if self.rows else 0)

    def hold(self, first: int, count: int) -> bool:
        """Whether these rows are there."""
        if count == 0:
            return True
        last = first + count - 1
        inside = range(first // self.each, last // self.each + 1)
        return all(
            number < len(self.rows) and min(last - number * self.each, self.each - 1) < self.rows[number]
            for number in inside
        )

    def add(self, rows: np.ndarray) -> int:
        """Write these behind the others, and tell the number of the first."""
        first, rest = self.top, np.ascontiguousarray(rows, self.dtype)
        while len(rest):
            number, used = divmod(self.top, self.each)
            part, rest = rest[: self.each - used], rest[self.each - used :]
            file = self.opened(number)
            file.write(part.reshape(-1).view(np.uint8).data)
            file.flush()
            self.rows[number] += len(part)
        return first

    def opened(self, number: int) -> Any:
        """The shard to add to, without half a row that a killed process left."""
        if self.file is None or number != self.number:
            self.open.close()
            if number == len(self.rows):
                self.rows.append(0)
            path = self.path(number)
            if is_regular(path) and path.stat().st_size != self.rows[number] * self.row_bytes:
                cut(path, self.rows[number] * self.row_bytes)
            self.file, self.number = self.open.enter_context(appending(path)), number
        return self.file

    def mapped(self, where: Int[np.ndarray, " rows"]) -> Rows:
        """The rows of these numbers, which stay on disk until they are asked for."""
        maps = [
            np.memmap(self.path(number), self.dtype, "r", shape=(count, *self.shape))
            if count
            else np.zeros((0, *self.shape), self.dtype)
            for number, count in enumerate(self.rows or [0])
        ]
        return Rows(maps, self.each, where)

    def clear(self) -> None:
        """Without what a killed process left of this generation."""
        for number in self.numbers():
            remove(self.path(number))
        self.rows = []

    def remove_others(self) -> None:
        """Files of other generations are gone; who has them mapped keeps them."""
        for name in os.listdir(self.folder):
            found = NAME.fullmatch(name)
            if name == "rows.bin" or (found and int(found[1]) != self.generation):
                remove(self.folder / name)

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.open.close()
        self.file = None
