"""The store: every file decoded once, appended to one file of raw rows, and memory-mapped ever after.

`rows.bin` holds the rows of the files that could be read, end to end; `index.jsonl` says, one line a file, what was
read and what was not. Both are append-only, so decoding that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from novakind.errors import UnreadableError
from novakind.modality import Modality

CHUNK = 256


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

    `names` identify the files, `watch(done, total)` hears of progress.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index, rows_file = folder / "index.jsonl", folder / "rows.bin"
    row_bytes = int(np.prod(modality.shape)) * np.dtype(modality.dtype).itemsize
    head = json.dumps(modality.settings())
    stamps = [_stamp(file, name) for file, name in zip(files, names, strict=True)]

    outcomes = _still_valid(index, head, stamps, rows_file, row_bytes)
    if not outcomes:
        index.write_text(head + "\n", encoding="utf-8")
    else:
        _truncate_index(index, 1 + len(outcomes))
    with (
        rows_file.open("ab") as rows,
        index.open("a", encoding="utf-8") as log,
        warnings.catch_warnings(),  # threads that enter and leave this in any order lose the filters; restored here
        ThreadPoolExecutor() as pool,
    ):
        warnings.simplefilter("ignore")
        rows.truncate(sum(map(_items, outcomes)) * row_bytes)
        for start in range(len(outcomes), len(files), CHUNK):
            watch(start, len(files))
            chunk = range(start, min(start + CHUNK, len(files)))
            for number, found in zip(chunk, pool.map(lambda i: _try_read(modality, files[i]), chunk), strict=True):
                if not isinstance(found, str):
                    rows.writelines(np.asarray(row, modality.dtype).tobytes() for _, row in found)
                outcomes.append(found if isinstance(found, str) else [suffix for suffix, _ in found])
                log.write(json.dumps([*stamps[number], outcomes[-1]]) + "\n")
            rows.flush()  # rows before index: an index line vouches for its rows
            log.flush()
        watch(len(files), len(files))

    read = [(number, suffix) for number, found in enumerate(outcomes) if isinstance(found, list) for suffix in found]
    shape = (len(read), *modality.shape)
    mapped = np.memmap(rows_file, modality.dtype, "r", shape=shape) if read else np.zeros(shape, modality.dtype)
    skipped = [(number, found) for number, found in enumerate(outcomes) if isinstance(found, str)]
    return Stored(mapped, [number for number, _ in read], [suffix for _, suffix in read], skipped)


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
    if not os.path.isfile(file):  # Path.is_file raises on names that are too long
        return "no such file"
    try:
        return modality.read(file)
    except UnreadableError as error:
        return str(error)


def _still_valid(
    index: Path, head: str, stamps: list[tuple[str, int, int]], rows_file: Path, row_bytes: int
) -> list[Outcome]:
    """The outcomes of those leading files that the store holds as they are on disk now."""
    if not index.exists() or not rows_file.exists():
        return []
    with index.open(encoding="utf-8", errors="replace") as lines:
        if next(lines, "").rstrip("\n") != head:
            return []
        outcomes: list[Outcome] = []
        rows_left = rows_file.stat().st_size // row_bytes
        for line, stamp in zip(lines, stamps, strict=False):
            try:
                *seen, outcome = json.loads(line)
            except (ValueError, TypeError):  # the line that was being written when the process died
                break
            rows_left -= _items(outcome)
            if tuple(seen) != stamp or rows_left < 0 or not line.endswith("\n"):
                break
            outcomes.append(outcome)
    return outcomes


def _truncate_index(index: Path, lines: int) -> None:
    with index.open("r+b") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())
