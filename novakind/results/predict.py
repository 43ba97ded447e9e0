"""predict: new items sorted by a trained model, read from files, folders, tables and arrays, a piece at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from novakind.data.paths import list_items
from novakind.data.readers import in_order
from novakind.disk import csv_bytes
from novakind.errors import UnreadableError, UserError
from novakind.modality import Modality
from novakind.model import Model, load_model, predict
from novakind.objective.batch import processes
from novakind.results.export import keep_files, write_out
from novakind.results.growing import HEADER, Growing, check_parquet, join, totals
from novakind.results.rows import fitting_rows
from novakind.rows import stacked
from novakind.runs.folder import Run
from novakind.training.distributed import agreed, is_first, rank

ROWS = 512  # of an array in a piece
FILES = 64  # in a piece


class Rows(NamedTuple):
    """Items that are not files of their own."""

    names: Sequence[str]
    items: np.ndarray


class Files(NamedTuple):
    """Files with the names that they go by, and what was passed over on the way to them."""

    named: list[tuple[str, Path]]
    passed: list[tuple[str, str]]


class Read(NamedTuple):
    """The items of a piece, and what could not be read of it."""

    names: list[str]
    rows: np.ndarray | None
    skipped: list[tuple[str, str]]


def predict_items(run: Path, items: list[Path], out: Path | None, readers: int = 0) -> None:
    """A table of path, category and probability, printed or written to `out`."""
    if not items:
        raise UserError("no items are given: name the files or folders to sort after the run folder")
    if out is not None:
        keep_files(run, out)
        check_parquet(out)
    elif processes() > 1:
        raise UserError("several processes need a place to write to: give --out sorted.csv")
    model = load_model(Run(run).model_file)
    if out is None:
        done = to_screen(model, items, readers)
    else:
        done = [0, 0]
        write_out(out, lambda path: done.__setitem__(slice(None), to_file(model, run, items, path, readers)))
    if not is_first():
        return
    sorted_items, skipped = done
    if not sorted_items and not skipped:
        raise UserError(f"{items[0]} holds no file to sort: give {model.reads.example}")
    if not sorted_items:
        raise UserError(f"none of the given items can be read ({skipped} skipped): give {model.reads.example}")
    if out is not None:
        print(f"{sorted_items} items sorted, {skipped} skipped: {out}")


def to_screen(model: Model, items: list[Path], readers: int) -> list[int]:
    """Rows as they come; how many, and how many files were skipped."""
    done = [0, 0]
    for read in read_ahead(pieces(items, model), model.reads, readers):
        lines = answers(model, read)
        table = csv_bytes(HEADER, lines)
        sys.stdout.buffer.write(table if not done[0] and lines else table[len(csv_bytes(HEADER, [])) :])
        done = [done[0] + len(lines), done[1] + len(read.skipped)]
    return done


def to_file(model: Model, run: Path, items: list[Path], out: Path, readers: int) -> list[int]:
    """A table that a killed process leaves as far as it came; how many items, and how many files were skipped."""
    if out.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(out))
    stamp = os.stat(Run(run).model_file)
    work = ([str(item) for item in items], stamp.st_size, stamp.st_mtime_ns)
    share = Growing(out, work, rank(), processes())
    wanted = (piece for number, piece in enumerate(pieces(items, model)) if share.wants(number))
    for read in read_ahead(wanted, model.reads, readers):
        share.add(answers(model, read), len(read.skipped))
    agreed(lambda: None)  # all shares are complete
    if not is_first():
        return [0, 0]
    shares = [share, *(Growing(out, work, other, processes()) for other in range(1, processes()))]
    done = totals(shares)
    if done[0]:
        join(out, shares)
    for each in shares:
        each.remove()
    return list(done)


def answers(model: Model, read: Read) -> list[list[Any]]:
    """The lines of the table for what was read; what was not is said."""
    for path, reason in read.skipped:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    if read.rows is None:
        return []
    _, logp = predict(model, model.look(read.rows))
    best = logp.argmax(1)
    probability = np.exp(logp[np.arange(len(best)), best])
    chosen = zip(read.names, best.tolist(), probability.tolist(), strict=True)
    return [[name, model.card.categories[number], f"{share:.6f}"] for name, number, share in chosen]


def read_ahead(given: Iterator[Rows | Files], reads: Modality, readers: int) -> Iterator[Read]:
    """The pieces in their order; those of large work by several processes, which never read far ahead."""
    return in_order(partial(read_piece, reads), given, readers, lambda piece: isinstance(piece, Rows))


def read_piece(reads: Modality, piece: Rows | Files) -> Read:
    """Decoded rows; a file that cannot be read is skipped."""
    if isinstance(piece, Rows):
        return Read(list(piece.names), piece.items, [])
    names, rows, skipped = [], [], list(piece.passed)
    for name, file in piece.named:
        try:
            if not os.path.lexists(file):
                raise UnreadableError("no such file")
            for suffix, row in reads.read(file):
                rows.append(row)
                names.append(name + suffix)
        except UnreadableError as error:
            skipped.append((name, str(error)))
    return Read(names, stacked(rows, reads.shape, reads.dtype) if rows else None, skipped)


def pieces(given: list[Path], model: Model) -> Iterator[Rows | Files]:
    """What there is to sort, in the order in which it was given; always the same pieces of the same items."""
    files, passed = [], []
    for path in given:
        if not os.path.exists(path):  # Path.exists raises on names that are too long
            passed.append((str(path), "no such file"))
            continue
        listing = list_items(path, labeled=False)
        passed += [(str(path / name), reason) for name, reason in listing.skipped]
        if listing.arrays is not None:
            if files or passed:
                yield Files(files, passed)
                files, passed = [], []
            X = listing.arrays["X"]
            for start in range(0, len(X), ROWS):
                names = listing.names[start : start + ROWS]
                yield Rows(names, fitting_rows(X[start : start + ROWS], model, str(path)))
            continue
        is_list = path.is_file() and listing.names != [path.name]
        for name in listing.names:
            files.append((name if is_list else str(listing.root / name), listing.root / name))
            if len(files) == FILES:
                yield Files(files, passed)
                files, passed = [], []
    if files or passed:
        yield Files(files, passed)
