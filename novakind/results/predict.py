"""predict: new items sorted by a trained model, read from files, folders, tables and arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from novakind.data.paths import list_items
from novakind.disk import csv_bytes, write_atomic
from novakind.errors import UnreadableError, UserError
from novakind.modality import from_array
from novakind.model import Model, load_model, predict
from novakind.results.export import keep_files, write_out
from novakind.runs.folder import Run

BATCH = 512


class Rows(NamedTuple):
    """Items that are not files of their own."""

    names: Sequence[str]
    items: np.ndarray


def predict_items(run: Path, items: list[Path], out: Path | None) -> None:
    """A table of path, category and probability, printed or written to `out`."""
    if not items:
        raise UserError("no items are given: name the files or folders to sort after the run folder")
    if out is not None:
        keep_files(run, out)
    model = load_model(Run(run).model_file)
    rows: list[list[Any]] = []
    skipped: list[tuple[str, str]] = []
    for names, batch in read_items(items, model, skipped):
        _, logp = predict(model, model.look(batch))
        for name, line in zip(names, logp, strict=True):
            best = int(line.argmax())
            rows.append([name, model.card.categories[best], f"{np.exp(line[best]):.6f}"])
    for path, reason in skipped:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    if not rows and not skipped:
        raise UserError(f"{items[0]} holds no file to sort: give {model.reads.example}")
    if not rows:
        raise UserError(f"none of the given items can be read ({len(skipped)} skipped): give {model.reads.example}")
    table = csv_bytes(["path", "category", "probability"], rows)
    if out is None:
        sys.stdout.buffer.write(table)
    else:
        write_out(out, lambda path: write_atomic(path, table))
        print(f"{len(rows)} items sorted, {len(skipped)} skipped: {out}")


def read_items(
    given: list[Path], model: Model, skipped: list[tuple[str, str]]
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Names and rows, a batch at a time; what cannot be read goes to `skipped`."""
    names, rows = [], []
    for one in named_files(given, model, skipped):
        if isinstance(one, Rows):
            if rows:
                yield names, np.stack(rows)
                names, rows = [], []
            yield list(one.names), one.items
            continue
        name, file = one
        try:
            if not file.is_file():
                raise UnreadableError("no such file")
            for suffix, row in model.reads.read(file):
                rows.append(row)
                names.append(name + suffix)
        except UnreadableError as error:
            skipped.append((name, str(error)))
        if len(rows) >= BATCH:
            yield names, np.stack(rows)
            names, rows = [], []
    if rows:
        yield names, np.stack(rows)


def named_files(given: list[Path], model: Model, skipped: list[tuple[str, str]]) -> Iterator[tuple[str, Path] | Rows]:
    """Each file with the name that it goes by, or the rows of an array or a table of texts."""
    for path in given:
        if not path.exists():
            skipped.append((str(path), "no such file"))
            continue
        listing = list_items(path, labeled=False)
        skipped += [(str(path / name), reason) for name, reason in listing.skipped]
        if listing.arrays is not None:
            yield Rows(listing.names, fitting_rows(listing.arrays["X"], model, str(path)))
            continue
        is_list = path.is_file() and listing.names != [path.name]
        for name in listing.names:
            yield name if is_list else str(listing.root / name), listing.root / name


def fitting_rows(X: np.ndarray, model: Model, what: str) -> np.ndarray:
    """Arrays as rows of the kind and shape that the model was trained on."""
    rows, modality = from_array(X, model.reads.reading())
    if type(modality) is not type(model.reads) or modality.shape != model.reads.shape:
        raise UserError(
            f"{what} holds {modality.noun} of shape {modality.shape}, but the model was trained on "
            f"{model.reads.noun} of shape {model.reads.shape}: give items of the same kind and size"
        )
    return rows
