"""A table that grows while items are sorted, a piece at a time: what a killed process has done is not done again.

Beside NAME.csv stand, while it grows, the rows so far and for each piece of them how many bytes, items and skipped
files it has; a piece counts from the moment that its line is there. Several processes write a share each, and the first
one joins them in the order of the pieces.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from novakind.disk import Door, append, csv_bytes, remove, replacing, write_atomic, writing
from novakind.errors import UserError
from novakind.given import opened

HEADER = ["path", "category", "probability"]
CHUNK = 2**20


class Piece(NamedTuple):
    """What one piece of the work came to."""

    size: int  # bytes
    items: int
    skipped: int


class Growing:
    """One process's share of a table: the pieces whose number leaves `rank` when divided by `shares`."""

    def __init__(self, out: Path, work: Any, rank: int = 0, shares: int = 1) -> None:
        self.rows = out.with_name(f".{out.name}.{rank}.rows")
        self.index = out.with_name(f".{out.name}.{rank}.index")
        self.rank, self.shares = rank, shares
        head = hashlib.sha256(repr((work, shares)).encode(errors="surrogateescape")).hexdigest()[:16]
        self.pieces = self.earlier(head)
        if self.pieces is None:
            self.pieces = []
            remove(self.rows)
            write_atomic(self.index, f"{head}\n".encode())
        with Door(self.rows, os.O_WRONLY | os.O_CREAT) as file:
            file.truncate(sum(piece.size for piece in self.pieces))  # without what was being written

    def earlier(self, head: str) -> list[Piece] | None:
        """What an interrupted process has done of the same work."""
        try:
            with opened(self.index) as file:
                lines = file.read().decode().split("\n")[:-1]  # the last one is whole only where an end follows
            with opened(self.rows) as file:
                there = file.seek(0, os.SEEK_END)
            pieces = [Piece(*map(int, line.split())) for line in lines[1:]]
        except Exception:  # whatever is not there or damaged is done again
            return None
        return pieces if lines[:1] == [head] and sum(piece.size for piece in pieces) <= there else None

    def wants(self, number: int) -> bool:
        """Whether a piece belongs to this share and is still to be done."""
        done = self.pieces or []
        return number % self.shares == self.rank and number // self.shares >= len(done)

    def add(self, rows: list[list[Any]], skipped: int) -> None:
        """The next piece that it wanted; rows before index: an index line vouches for its rows."""
        assert self.pieces is not None
        content = csv_bytes(HEADER, rows)[len(csv_bytes(HEADER, [])) :]
        append(self.rows, content)
        append(self.index, f"{len(content)} {len(rows)} {skipped}\n".encode())
        self.pieces.append(Piece(len(content), len(rows), skipped))

    def remove(self) -> None:
        remove(self.index)
        remove(self.rows)


def totals(shares: Iterable[Growing]) -> tuple[int, int]:
    """How many items are sorted, and how many files were skipped."""
    pieces = [piece for share in shares for piece in share.pieces or []]
    return sum(piece.items for piece in pieces), sum(piece.skipped for piece in pieces)


def join(out: Path, shares: list[Growing]) -> None:
    """The table, in the order of the pieces; as Parquet where its name says so."""
    if out.suffix.lower() == ".parquet":
        to_parquet(out, shares)
        return
    with writing(out) as file:
        for content in contents(shares):
            file.write(content)


def contents(shares: list[Growing]) -> Iterator[bytes]:
    """The bytes of the table, a little at a time."""
    yield csv_bytes(HEADER, [])
    with ExitStack() as stack:
        files = [stack.enter_context(opened(share.rows)) for share in shares]
        for number in range(max(len(share.pieces or []) for share in shares)):
            for share, file in zip(shares, files, strict=True):
                pieces = share.pieces or []
                left = pieces[number].size if number < len(pieces) else 0
                while left > 0:
                    content = file.read(min(left, CHUNK))
                    left -= len(content)
                    yield content


def to_parquet(out: Path, shares: list[Growing]) -> None:
    check_parquet(out)
    import pyarrow
    from pyarrow import csv, parquet

    types = {"path": pyarrow.string(), "category": pyarrow.string(), "probability": pyarrow.float64()}
    whole = out.with_name(f".{out.name}.csv")
    try:
        with writing(whole) as file:
            for content in readable(contents(shares)):
                file.write(content)
        reading = csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        lines = csv.ParseOptions(newlines_in_values=True)
        with (
            replacing(out) as part,
            csv.open_csv(whole, parse_options=lines, convert_options=reading) as batches,
            parquet.ParquetWriter(part, batches.schema) as writer,
        ):
            for batch in batches:
                writer.write_batch(batch)
    finally:
        remove(whole)


def readable(contents: Iterator[bytes]) -> Iterator[bytes]:
    """The same as UTF-8, which text in Parquet is: other bytes of names become U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for content in contents:
        yield decoder.decode(content).encode()
    yield decoder.decode(b"", final=True).encode()


def check_parquet(out: Path) -> None:
    """Refuse before the work what would fail after it."""
    if out.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise UserError(f"{out} needs pyarrow: pip install 'novakind[parquet]', or give a .csv") from None
