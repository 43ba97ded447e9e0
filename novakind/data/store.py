"""The store: every file decoded once, appended to one file of raw rows, and memory-mapped ever after.

`rows.bin` holds the rows of the files that could be read, end to end; `index.jsonl` says, one line per file, what was
read and what was not. Both are append-only, so decoding that was interrupted goes on where it stopped, and rows that
another process has mapped never change under it.
"""

from __future__ import annotations

import itertools
import json
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from novakind.disk import appending, cut, locked, remove, write_atomic, writing
from novakind.errors import UnreadableError
from novakind.given import is_regular
from novakind.modality import Modality
from novakind.structure import misfit

CHUNK = 256
STORE = "store"  # its name in a run folder
ROWS, INDEX = "rows.bin", "index.jsonl"


@dataclass(frozen=True)
class Stored:
    """The rows, which of the given files they come from, and the files that could not be read, with the reason.

    A file may hold several items: `suffixes` tell their names apart.
    """

    rows: np.ndarray
    kept: list[int]
    suffixes: list[str]
    skipped: list[tuple[int, str]]


Outcome = list[str] | str  # the suffixes of a file's items, or why it cannot be read


def decode(
    files: Sequence[Path], names: Sequence[str], folder: Path, modality: Modality, watch: Callable[[int, int], None]
) -> Stored:
    """Rows of all readable files; those already in the store, unchanged on disk, are not read again.

    `names` identify the files, `watch(done, total)` hears of progress. One process at a time decodes into a store.
    """
    stamps = [_stamp(file, name) for file, name in zip(files, names, strict=True)]
    with locked(folder, wait=True):
        outcomes = _prepare(folder, modality, stamps)
        with (
            appending(folder / ROWS) as rows,
            appending(folder / INDEX) as log,
            warnings.catch_warnings(),  # threads that enter and leave this in any order lose the filters; restored here
            ThreadPoolExecutor() as pool,
        ):
            warnings.simplefilter("ignore")
            for start in range(len(outcomes), len(files), CHUNK):
                watch(start, len(files))
                chunk = range(start, min(start + CHUNK, len(files)))
                for number, found in zip(chunk, pool.map(lambda i: _try_read(modality, files[i]), chunk), strict=True):
                    if not isinstance(found, str):
                        rows.writelines(np.asarray(row, modality.dtype).tobytes() for _, row in found)
                    outcomes.append(found if isinstance(found, str) else [suffix for suffix, _ in found])
                    log.write(f"{json.dumps([*stamps[number], outcomes[-1]])}\n".encode())
                rows.flush()  # rows before index: an index line vouches for its rows
                log.flush()
            watch(len(files), len(files))
        read = [(item, suffix) for item, found in enumerate(outcomes) if isinstance(found, list) for suffix in found]
        shape = (len(read), *modality.shape)
        mapped = np.memmap(folder / ROWS, modality.dtype, "r", shape=shape) if read else np.zeros(shape, modality.dtype)
    skipped = [(number, found) for number, found in enumerate(outcomes) if isinstance(found, str)]
    return Stored(mapped, [number for number, _ in read], [suffix for _, suffix in read], skipped)


def _prepare(folder: Path, modality: Modality, stamps: list[tuple[str, int, int]]) -> list[Outcome]:
    """Leave in the store only what is still valid, ready to be appended to: the outcomes of those leading files.

    A training may have the rows mapped into its memory, so rows that the index vouches for are never changed in place:
    where some are no longer valid, the others are copied into a new file that takes the place of the old one.
    """
    index, rows = folder / INDEX, folder / ROWS
    head = json.dumps(modality.decoding())
    row_bytes = int(np.prod(modality.shape)) * np.dtype(modality.dtype).itemsize
    outcomes, is_whole = _still_valid(index, head, stamps, rows, row_bytes)
    kept = sum(map(_items, outcomes)) * row_bytes
    lines = _first_lines(index, 1 + len(outcomes)) if outcomes else f"{head}\n".encode()
    if is_whole:
        cut(rows, kept)  # without what was being written when the process died
    else:
        remove(index)  # nothing vouches for the old rows any more
        with writing(rows) as file:
            if kept:
                with rows.open("rb") as earlier:
                    _copy(earlier, file, kept)
    write_atomic(index, lines)
    return outcomes


def _items(outcome: Outcome) -> int:
    return 0 if isinstance(outcome, str) else len(outcome)


def _stamp(file: Path, name: str) -> tuple[str, int, int]:
    """What identifies a file's contents without reading them."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # ValueError: a name with a NUL, from a manifest
        return name, -1, -1
    return name, status.st_size, status.st_mtime_ns


def _try_read(modality: Modality, file: Path) -> list[tuple[str, np.ndarray]] | str:
    try:
        if not os.path.lexists(file):
            return "no such file"
        return modality.read(file)
    except UnreadableError as error:
        return str(error)


def _still_valid(
    index: Path, head: str, stamps: list[tuple[str, int, int]], rows_file: Path, row_bytes: int
) -> tuple[list[Outcome], bool]:
    """The outcomes of those leading files that the store holds as they are on disk now; whether it holds no others."""
    if not is_regular(index) or not is_regular(rows_file):
        return [], False
    with index.open(encoding="utf-8", errors="replace") as lines:
        if next(lines, "").rstrip("\n") != head:
            return [], False
        outcomes: list[Outcome] = []
        rows_left = rows_file.stat().st_size // row_bytes
        for number, line in enumerate(lines):
            try:
                *seen, outcome = json.loads(line)
                rows_left -= _items(outcome) if not misfit(outcome, list[str] | str, "outcome") else rows_left + 1
            except (ValueError, TypeError, RecursionError):
                seen, outcome, rows_left = [], [], -1
            if rows_left < 0 or not line.endswith("\n"):  # the line that was being written when the process died
                return outcomes, next(lines, None) is None
            if number >= len(stamps) or tuple(seen) != stamps[number]:
                return outcomes, False
            outcomes.append(outcome)
    return outcomes, True


def _first_lines(file: Path, count: int) -> bytes:
    with file.open("rb") as opened:
        return b"".join(itertools.islice(opened, count))


def _copy(source: Any, target: Any, count: int) -> None:
    """The first `count` bytes, a piece at a time."""
    while count > 0 and (piece := source.read(min(count, 1 << 24))):
        target.write(piece)
        count -= len(piece)
