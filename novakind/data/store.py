"""The store: every file decoded once, kept as raw rows in shards, and memory-mapped ever after.

`rows-0-0000.bin` and so on hold the rows of the files that could be read, end to end. `index.jsonl` says, one line for
each file, what was read and what was not, by the file's name, size and time: a file that is new or changed is decoded,
and no other one. Shards and index only grow, so decoding that was interrupted goes on where it stopped, and rows that
another process has mapped never change under it. Where more rows are of files that are gone than of others, the others
are copied into shards of a new generation, which take the place of the old ones.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from novakind.data.readers import in_order
from novakind.data.shards import Shards, newest
from novakind.disk import appending, check_inside, locked, write_atomic
from novakind.errors import UnreadableError
from novakind.given import opened
from novakind.modality import Modality
from novakind.rows import Items, stacked
from novakind.structure import is_whole

FILES, BYTES = 64, 2**24  # of the files that are read together, at most
STORE = "store"  # its name in a run folder
INDEX = "index.jsonl"

Stamp = tuple[str, int, int]  # the name, size and time of a file: what tells its contents without reading them
Outcome = list[str] | str  # the suffixes of a file's items, or why it cannot be read


@dataclass(frozen=True)
class Stored:
    """The rows, which of the given files they come from, and the files that could not be read, with the reason.

    A file may hold several items: `suffixes` tell their names apart.
    """

    rows: Items
    kept: list[int]
    suffixes: list[str]
    skipped: list[tuple[int, str]]


class Entry(NamedTuple):
    """What a line of the index says of a file."""

    first: int  # its first row
    outcome: Outcome

    @property
    def items(self) -> int:
        return 0 if isinstance(self.outcome, str) else len(self.outcome)

    def line(self, stamp: Stamp) -> bytes:
        """As JSON; of strings alone it is written in a third of the time."""
        name, size, time = stamp
        said = self.outcome if isinstance(self.outcome, str) else [json.dumps(suffix) for suffix in self.outcome]
        outcome = json.dumps(said) if isinstance(said, str) else f"[{', '.join(said)}]"
        return f"[{json.dumps(name)}, {size}, {time}, {self.first}, {outcome}]\n".encode()


def decode(
    files: Sequence[Path], names: Sequence[str], folder: Path, modality: Modality, watch: Callable[[int, int], None]
) -> Stored:
    """Rows of all readable files; those already in the store, unchanged on disk, are not read again.

    `names` identify the files, `watch(done, total)` hears of progress. One process at a time decodes into a store.
    """
    places = [os.fspath(file) for file in files]  # in a third of the time of paths, also on their way to a reader
    stamps = [_stamp(place, name) for place, name in zip(places, names, strict=True)]
    check_inside(folder)
    with locked(folder, wait=True):
        entries, shards = _opened(folder, modality, stamps)
        missing = [number for number, stamp in enumerate(stamps) if stamp not in entries]
        done = len(stamps) - len(missing)
        todo = list(_pieces(missing, stamps, shards.row_bytes))
        given = ([places[number] for number in piece] for piece in todo)
        with (
            shards,
            appending(folder / INDEX) as index,
            closing(in_order(partial(_read, modality), given, count=len(todo))) as read,
        ):
            for piece in todo:
                watch(done, len(files))
                rows, outcomes = next(read)
                first = shards.add(rows)  # rows before index: an index line vouches for its rows
                for number, outcome in zip(piece, outcomes, strict=True):
                    entry = entries[stamps[number]] = Entry(first, outcome)
                    index.write(entry.line(stamps[number]))
                    first += entry.items
                index.flush()
                done += len(piece)
            watch(done, len(files))
        found = [entries[stamp] for stamp in stamps]
        sizes = [entry.items for entry in found]
        where = np.repeat([entry.first for entry in found], sizes) + _counted(sizes)
        mapped = shards.mapped(where.astype(np.int64))
    return Stored(
        mapped,
        np.repeat(np.arange(len(found)), sizes).tolist(),
        [suffix for entry in found if entry.items for suffix in entry.outcome],
        [(number, entry.outcome) for number, entry in enumerate(found) if isinstance(entry.outcome, str)],
    )


def _counted(sizes: list[int]) -> np.ndarray:
    """0, 1, ... for each."""
    ends = np.cumsum(sizes, dtype=np.int64)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def _pieces(missing: list[int], stamps: list[Stamp], row_bytes: int) -> Iterator[list[int]]:
    """Files that are read together: few enough for all that wait to fit into memory."""
    piece: list[int] = []
    total = 0
    for number in missing:
        size = max(stamps[number][1], row_bytes)
        if piece and (len(piece) == FILES or total + size > BYTES):
            yield piece
            piece, total = [], 0
        piece.append(number)
        total += size
    if piece:
        yield piece


def _opened(folder: Path, modality: Modality, stamps: list[Stamp]) -> tuple[dict[Stamp, Entry], Shards]:
    """What the store holds, ready to be added to; rows of which the index does not know are left alone."""
    known, generation, is_whole = _known(folder / INDEX, modality)
    shards = Shards(folder, generation, modality.shape, modality.dtype)
    entries = {stamp: entry for stamp, entry in known.items() if shards.hold(entry.first, entry.items)}
    wanted = {stamp: entries[stamp] for stamp in stamps if stamp in entries}
    if 2 * sum(entry.items for entry in wanted.values()) < shards.top:
        newer = Shards(folder, generation + 1, modality.shape, modality.dtype)
        entries, shards = _copied(wanted, shards, newer), newer
    if shards.generation != generation or not is_whole or len(entries) < len(known):
        head = f"{_head(modality, shards.generation)}\n".encode()
        write_atomic(folder / INDEX, head + b"".join(entry.line(stamp) for stamp, entry in entries.items()))
    shards.remove_others()
    return entries, shards


def _copied(entries: dict[Stamp, Entry], source: Shards, target: Shards) -> dict[Stamp, Entry]:
    """The same files with their rows in other shards."""
    rows, found = source.mapped(np.zeros(0, np.int64)), dict[Stamp, Entry]()
    target.clear()
    with target:
        for stamp, (first, outcome) in entries.items():
            places = np.arange(first, first + (0 if isinstance(outcome, str) else len(outcome)))
            found[stamp] = Entry(target.add(rows.gather(places)), outcome)
    return found


def _head(modality: Modality, generation: int) -> str:
    return json.dumps([modality.decoding(), generation])


def _known(index: Path, modality: Modality) -> tuple[dict[Stamp, Entry], int, bool]:
    """What the index says of which files, the generation of its shards, and whether all of its lines are whole.

    A store of files that were decoded otherwise, or one that cannot be read, is of no use: a new generation begins.
    """
    try:
        file = opened(index)
    except UnreadableError:
        return {}, newest(index.parent) + 1, False
    entries: dict[Stamp, Entry] = {}
    is_whole = True
    with io.TextIOWrapper(file, encoding="utf-8", errors="replace") as lines:
        head = next(lines, "").rstrip("\n")
        generation = int(found[1]) if (found := re.search(r", (\d{1,9})\]$", head)) else -1
        if head != _head(modality, generation):
            return {}, newest(index.parent) + 1, False
        for line in lines:
            said = _said(line) if line.endswith("\n") else None
            if said is None:  # damaged, or being written when the process died
                is_whole = False
            else:
                entries[said[0]] = said[1]
    return entries, generation, is_whole


def _said(line: str) -> tuple[Stamp, Entry] | None:
    try:
        match json.loads(line):
            case [str(name), int(size), int(time), int(first), str() | list() as outcome]:
                if first >= 0 and all(isinstance(each, str) and is_whole(each) for each in (name, *outcome)):
                    return (name, size, time), Entry(first, outcome)
    except (ValueError, RecursionError):
        pass
    return None


def _stamp(file: str, name: str) -> Stamp:
    try:
        status = os.stat(file)
    except (OSError, ValueError):  # ValueError: a name with a NUL, from a manifest
        return name, -1, -1
    return name, status.st_size, status.st_mtime_ns


def _read(modality: Modality, files: list[str]) -> tuple[np.ndarray, list[Outcome]]:
    """The rows of these files, end to end, and what came of each."""
    rows: list[np.ndarray] = []
    outcomes: list[Outcome] = []
    for file in files:
        try:
            found = modality.read(Path(file))
        except UnreadableError as error:
            outcomes.append(str(error) if os.path.lexists(file) else "no such file")
        else:
            rows += [row for _, row in found]
            outcomes.append([suffix for suffix, _ in found])
    return stacked(rows, modality.shape, modality.dtype), outcomes
