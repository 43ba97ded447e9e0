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
    """The rows, which of the given files they come from, and the files that could not be read, with the reason."""

    rows: np.ndarray
    kept: list[int]
    skipped: list[tuple[int, str]]


def decode(
    files: Sequence[Path], names: Sequence[str], folder: Path, modality: Modality, watch: Callable[[int, int], None]
) -> Stored:
    """Rows of all readable files; those already in the store, unchanged on disk, are not read again.

    `names` identify the files, `watch(done, total)` hears of progress.
    """
    folder.mkdir(parents=True, exist_ok=True)
    index, rows_file = folder / "index.jsonl", folder / "rows.bin"
    row_bytes = int(np.prod(modality.shape))
    head = json.dumps({"shape": list(modality.shape), "kind": modality.kind})
    stamps = [_stamp(file, name) for file, name in zip(files, names, strict=True)]

    errors = _still_valid(index, head, stamps, rows_file, row_bytes)
    if not errors:
        index.write_text(head + "\n", encoding="utf-8")
    else:
        _truncate_index(index, 1 + len(errors))
    with (
        rows_file.open("ab") as rows,
        index.open("a", encoding="utf-8") as log,
        warnings.catch_warnings(),  # threads that enter and leave this in any order lose the filters; restored here
        ThreadPoolExecutor() as pool,
    ):
        warnings.simplefilter("ignore")
        rows.truncate(sum(error is None for error in errors) * row_bytes)
        for start in range(len(errors), len(files), CHUNK):
            watch(start, len(files))
            chunk = range(start, min(start + CHUNK, len(files)))
            for number, row in zip(chunk, pool.map(lambda i: _try_read(modality, files[i]), chunk), strict=True):
                error = row if isinstance(row, str) else None
                if not isinstance(row, str):
                    rows.write(row.tobytes())
                errors.append(error)
                log.write(json.dumps([*stamps[number], error]) + "\n")
            rows.flush()  # rows before index: an index line vouches for its row
            log.flush()
        watch(len(files), len(files))

    kept = [number for number, error in enumerate(errors) if error is None]
    shape = (len(kept), *modality.shape)
    mapped = np.memmap(rows_file, np.uint8, "r", shape=shape) if kept else np.zeros(shape, np.uint8)
    return Stored(mapped, kept, [(number, error) for number, error in enumerate(errors) if error is not None])


def _stamp(file: Path, name: str) -> tuple[str, int, int]:
    """What identifies a file's contents without reading them."""
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # ValueError: a name with a NUL, from a manifest
        return name, -1, -1
    return name, status.st_size, status.st_mtime_ns


def _try_read(modality: Modality, file: Path) -> np.ndarray | str:
    if not os.path.isfile(file):  # Path.is_file raises on names that are too long
        return "no such file"
    try:
        return modality.read(file)
    except UnreadableError as error:
        return str(error)


def _still_valid(
    index: Path, head: str, stamps: list[tuple[str, int, int]], rows_file: Path, row_bytes: int
) -> list[str | None]:
    """The outcomes (None or the error) of those leading files that the store holds as they are on disk now."""
    if not index.exists() or not rows_file.exists():
        return []
    with index.open(encoding="utf-8", errors="replace") as lines:
        if next(lines, "").rstrip("\n") != head:
            return []
        errors: list[str | None] = []
        rows_left = rows_file.stat().st_size // row_bytes
        for line, stamp in zip(lines, stamps, strict=False):
            try:
                *seen, error = json.loads(line)
            except (ValueError, TypeError):  # the line that was being written when the process died
                break
            rows_left -= error is None
            if tuple(seen) != stamp or rows_left < 0 or not line.endswith("\n"):
                break
            errors.append(error)
    return errors


def _truncate_index(index: Path, lines: int) -> None:
    with index.open("r+b") as file:
        for _ in range(lines):
            file.readline()
        file.truncate(file.tell())
