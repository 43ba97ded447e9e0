"""Writing to disk: every file is whole or absent, also after a crash, and one process at a time."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[None]:
    """Keep other processes out of the folder; the lock goes with this process, however it ends.

    Where another process holds it: wait for that one to end, or raise BlockingIOError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def csv_bytes(header: list[str], rows: Iterable[Iterable[Any]]) -> bytes:
    """A table as UTF-8 CSV."""
    buffer = io.StringIO()
    plain = csv.writer(buffer, lineterminator="\n")
    quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in itertools.chain([header], map(tuple, rows)):
        # A carriage return ends a row for readers, but the writer quotes only the line ends that it writes itself.
        (quoted if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return buffer.getvalue().encode(errors="surrogateescape")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to: it takes the place of `path` when the block ends well, else it vanishes."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())  # the name must not outlive a crash that the contents did not
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_atomic(path: Path, content: bytes) -> None:
    """The file is either as it was or whole, also after a crash."""
    with replacing(path) as part:
        part.write_bytes(content)
