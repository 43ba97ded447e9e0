"""Vectors that were computed once, by the content of their item: one small database per encoder and way of reading.

Whatever happens to it, nothing is lost but time: rows that are missing or damaged are computed again, a database that
cannot be read is replaced, and where none can be written there is none: `unkept` says why.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.disk import UnwritableError, make_folder, remove, step

TOGETHER = 500  # keys in a question
PATIENCE = 60.0  # seconds to wait for another process that writes

Vectors = Float[np.ndarray, "items dim"]


def content_key(row: np.ndarray) -> bytes:
    """What tells the content of rows apart; zeros at their end do not, as rows of one shape end alike, and what is
    shorter than others is filled up with them."""
    return hashlib.sha256(np.ascontiguousarray(row).tobytes().rstrip(b"\0")).digest()[:16]


class Cache:
    """Vectors of `dim` numbers by key, for one way of making them; nothing is kept where there is no folder."""

    def __init__(self, folder: Path | None, way: dict[str, Any], dim: int) -> None:
        self.dim = dim
        name = hashlib.sha256(json.dumps(way, sort_keys=True).encode()).hexdigest()[:16]
        self.file = (folder or Path()) / f"{name}.sqlite"
        self.open: sqlite3.Connection | None = None
        self.unkept = ""
        if folder is None:
            return
        try:
            self.connect()
        except UnwritableError as error:
            self.refuse(error)
        except sqlite3.Error as error:
            self.recover(error)

    def connect(self) -> None:
        make_folder(self.file.parent)
        self.open = sqlite3.connect(self.file, timeout=PATIENCE)
        if not self.open.execute("SELECT name FROM sqlite_master WHERE name = 'vectors'").fetchone():
            table = "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, sum INTEGER, vector BLOB)"
            step(self.file, self.open.execute, table)
        self.open.execute("SELECT key, sum, vector FROM vectors LIMIT 1").fetchone()

    def recover(self, error: sqlite3.Error) -> None:
        """A new database in the place of one that cannot be read; none where it is in use, or cannot be written."""
        self.close()
        if "locked" in str(error):
            return
        try:
            for ending in ("", "-journal"):  # an old journal would be played back into the new database
                remove(self.file.with_name(self.file.name + ending))
            self.connect()
        except (UnwritableError, sqlite3.Error) as refused:
            self.close()
            self.refuse(refused)

    def refuse(self, error: Exception) -> None:
        """It cannot be written, but perhaps read."""
        fact = error.fact if isinstance(error, UnwritableError) else f"{self.file} cannot be written ({error})"
        self.unkept = self.unkept or f"{fact}: free some space, or name another folder by NOVAKIND_CACHE"

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Float[np.ndarray, " dim"]]:
        """What is known of these keys, and whole."""
        found: dict[bytes, np.ndarray] = {}
        for start in range(0, len(keys), TOGETHER):
            some = keys[start : start + TOGETHER]
            for key, total, vector in self.ask(some):
                if isinstance(vector, bytes) and len(vector) == 4 * self.dim and zlib.crc32(vector) == total:
                    found[key] = np.frombuffer(vector, "<f4")
        return found

    def ask(self, keys: Sequence[bytes]) -> list[tuple]:
        marks = ",".join("?" * len(keys))
        try:
            if self.open is not None:
                wanted = f"SELECT key, sum, vector FROM vectors WHERE key IN ({marks})"
                return self.open.execute(wanted, keys).fetchall()
        except sqlite3.Error as error:
            self.recover(error)
        return []

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep these, all or none of them."""
        rows = []
        for key, vector in zip(keys, vectors, strict=True):
            content = np.ascontiguousarray(vector, "<f4").tobytes()
            rows.append((key, zlib.crc32(content), content))
        try:
            self.write(rows)
        except (UnwritableError, sqlite3.OperationalError) as error:
            self.refuse(error)
            if "locked" in str(error):  # by a process that does not end: do not wait for it again
                self.close()
        except sqlite3.Error as error:  # a damaged page
            self.recover(error)
            with suppress(sqlite3.Error, UnwritableError):
                self.write(rows)

    def write(self, rows: list[tuple]) -> None:
        if self.open is not None:
            with self.open:
                step(self.file, self.open.executemany, "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        if self.open is not None:
            with suppress(sqlite3.Error):
                self.open.close()
            self.open = None
