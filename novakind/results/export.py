"""Export: the result as a table, as arrays, as files sorted into folders, or in the forms of other tools."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.manifest import IGNORED, LABELED
from novakind.data.paths import SORTED, in_files, root_of
from novakind.data.source import Source
from novakind.data.store import STORE
from novakind.datasets import is_named
from novakind.datasets.texts import said
from novakind.disk import check_place, csv_bytes, remove, write_atomic, writing
from novakind.errors import UnreadableError, UserError
from novakind.given import opened
from novakind.results.files import bring, copied, folder_names, is_copy, is_readable, remove_empty
from novakind.results.forms import Bring, to_fiftyone, to_imagefolder, to_labelstudio
from novakind.results.outcome import COLUMNS, Outcome, outcome
from novakind.results.rows import rows_of
from novakind.runs.discovery import Discovery
from novakind.runs.folder import EDITS, FILES, Run

TABLES = ("csv", "npz")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet runs, where a cell begins with it


def export(
    run: Path,
    out: Path,
    to: str,
    link: bool = False,
    everything: bool = False,
    spreadsheet: bool = False,
    movable: bool = False,
) -> str:
    """Write the result as `to` asks, or as the ending of `out` suggests; a sentence on what was written.

    A table or arrays that are `movable` name files by their whole paths, and so are read from wherever they are put.
    """
    discovery, source = Discovery.load(run), Run(run).source()
    result, given = outcome(discovery), Path(source.data)
    keep_files(run, out, source)
    named = is_named(source.data, source.root)
    root = root_of(given) if not named and in_files(given) else None
    rows, texts = (None, None) if named or root is not None else rows_of(given, discovery, run)
    if named:
        texts = said(source.data, source.root) or None
    if to == "auto":
        to = {".csv": "csv", ".npz": "npz"}.get(out.suffix.lower(), "folders")
    if (link and to in TABLES) or (everything and to != "folders"):
        option = "--link" if link and to in TABLES else "--everything"
        raise UserError(f"{option} is for folders, and {to} holds every item: leave it out, or give --to folders")
    if spreadsheet and to != "csv":
        raise UserError(f"--spreadsheet is for a table, and this writes {to}: leave it out, or give --to csv")
    if to == "csv":
        write_out(out, lambda path: to_csv(result, path, root, texts, spreadsheet, movable))
        return f"{len(result.paths)} items: {out}"
    if to == "npz":
        write_out(out, lambda path: to_npz(discovery, result, path, root, rows, movable))
        return f"{len(result.paths)} items: {out}"
    if texts is not None and to == "labelstudio":
        write_out(out, lambda path: to_labelstudio(result, path, source.kind, None, texts, run.name))
        return f"{len(result.paths)} tasks in {out}"
    if root is None:
        raise UserError("these items are rows of an array or table, and only files go into folders: export csv or npz")
    check_outside(out, root, given)
    check_files(result, root, to, everything)
    written: list[Any] = []
    write_out(out, lambda path: written.extend(to_folder(to, result, path, root, source.kind, link, everything, run)))
    count, gone = written
    return f"{count} files in {out}" + (f"; {len(gone)} are gone from {root}, e.g. {gone[0]}" if gone else "")


def to_folder(
    to: str, result: Outcome, out: Path, root: Path, kind: str, link: bool, everything: bool, run: Path
) -> tuple[int, list[str]]:
    """A folder of files in one of its forms: how many are there, and which are gone."""
    if to == "folders":
        return to_folders(result, out, root, link, everything)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file, and an export needs a folder: name another destination")
    gone: list[str] = []
    files: Bring = copied(out, root, link, gone, alike=to != "fiftyone")
    if has_windows(result, root):
        files = partial(seen_from, out, root)
    if to == "labelstudio":
        return to_labelstudio(result, out, kind, files, None, run.name), gone
    return (to_imagefolder if to == "imagefolder" else to_fiftyone)(result, out, files), gone


def check_outside(out: Path, root: Path, given: Path) -> None:
    """Refuse to mix exported files with data."""
    if given.is_dir() and root.resolve() in (out.resolve(), *out.resolve().parents):
        raise UserError(
            f"{out} is in the data folder, where exported files would pass for data: name another destination"
        )


def check_files(result: Outcome, root: Path, to: str, everything: bool) -> None:
    """Refuse where there is no file to export, and windows of recordings where a form has files alone."""
    if has_windows(result, root):
        if to == "labelstudio":
            return
        raise UserError(
            "these items are windows of recordings and only files go into folders: export csv or npz instead"
        )
    every = everything or to != "folders"
    chosen = [path for path, status in zip(result.paths, result.status, strict=True) if every or status != LABELED]
    if chosen and not any((root / path).exists() for path in chosen):
        raise UserError(
            f"none of the {len(chosen)} files is in {root}, where the run found them: put the data folder back, "
            "or run novakind discover again from its new place"
        )


def has_windows(result: Outcome, root: Path) -> bool:
    """Whether the items are windows of recordings, called FILE@START."""
    recording, mark, _ = result.paths[0].rpartition("@")
    return bool(mark) and not (root / result.paths[0]).exists() and (root / recording).exists()


def keep_files(run: Path, out: Path, source: Source | None = None) -> None:
    """Refuse to write over a run, its data or their truth, and in the place of what is no file."""
    check_place(out)
    place, folder = out.resolve(), run.resolve()
    if place == folder or (place.parent == folder and place.name in (*FILES, EDITS, STORE)):
        raise UserError(f"{out} belongs to the run, which would be lost: give another place with --out")
    if source and place.is_file() and place in (Path(source.data).resolve(), Path(source.truth).resolve()):
        raise UserError(f"{out} is what the run was made from, which would be lost: give another place with --out")


def write_out(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a result where the user asked for it; refuse in a sentence where that cannot be."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another place with --out") from None


def seen_from(folder: Path, root: Path | None, paths: Sequence[str], movable: bool = False) -> list[str]:
    """Paths of files below `root` as they are seen from a folder, or from anywhere; rows have no files."""
    if root is None:
        return list(paths)
    if movable:
        return [os.path.normpath(root.resolve() / path) for path in paths]
    here = os.path.relpath(root.resolve(), folder.resolve())
    return [os.path.normpath(os.path.join(here, path)) for path in paths]


def to_csv(
    result: Outcome,
    path: Path,
    root: Path | None,
    texts: Mapping[str, str] | None = None,
    spreadsheet: bool = False,
    movable: bool = False,
) -> None:
    """A table that `discover` reads as the next collection: labels that were given or confirmed, and what was found.

    `label` is empty for all other items, so that a next round has something to sort; `category` is where the item is
    now, and `status` tells why: labeled, confirmed, suggested or ignored. `suggested` is the model's own answer, of
    labeled items too, with its `probability`. Paths of files below `root` are as seen from the table's folder. Texts
    that were rows of a table have an id in the place of a path, and a last column for what they say.
    """
    names = seen_from(path.parent, root, result.paths, movable)
    header = ["path", *COLUMNS]
    columns: list[Sequence[Any]] = [names, *(getattr(result, name) for name in COLUMNS)]
    if texts is not None:
        header = ["id", *header[1:], "text"]  # by a column path, a next round would look for files
        columns.append([texts.get(name, "") for name in names])
    rows = zip(*columns, strict=True)
    write_atomic(path, csv_bytes(header, ([as_words(cell) for cell in row] for row in rows) if spreadsheet else rows))


def as_words(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, whatever a file or a class is called."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def to_npz(
    discovery: Discovery,
    result: Outcome,
    path: Path,
    root: Path | None,
    rows: np.ndarray | None,
    movable: bool = False,
) -> None:
    """Arrays in the order of the items, which `discover` reads: `y` is the name of a label that was given or confirmed,
    else ""; X are the rows, or `path` the files as seen from the folder of this one."""
    arrays = {name: getattr(discovery, name) for name in ("category", "probability", "embedding", "logp")}
    arrays |= {name: np.array(list(getattr(result, name)), dtype=str) for name in ("status", "suggested", "names")}
    arrays |= {"final": np.array(list(result.category), dtype=str), "y": np.array(result.label, dtype=str)}
    if rows is not None:
        arrays["X"] = rows.astype(str) if rows.dtype.kind == "O" else rows
    with writing(path) as file:
        np.savez_compressed(file, path=np.array(seen_from(path.parent, root, result.paths, movable)), **arrays)


def to_folders(
    result: Outcome, destination: Path, root: Path, link: bool, everything: bool = False
) -> tuple[int, list[str]]:
    """Copy or link the files of unlabeled items (or of `everything`) into folders named after their categories.

    A table beside the folders says what is only suggested, so that a next round does not take it for labels. No file of
    anybody else is ever overwritten: the newcomer gets a number. What an earlier export has put there stays as it is,
    but goes from a folder that is no longer its own. Returns how many files are there, and the paths of those that are
    gone or cannot be read.
    """
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file, and an export needs a folder: name another destination")
    folders, used, gone = folder_names((*result.names, *result.category)), Counter[Path](), []
    rows, earlier, changed = {}, exported(destination), []
    for path, row in zip(result.paths, result.rows(), strict=True):
        if row["status"] == IGNORED or (row["status"] == LABELED and not everything):
            continue
        target = None
        if is_readable(source := root / path):
            target = bring(source, destination / folders[str(row["category"])] / source.name, link, used)
        if target is None:
            gone.append(path)
        else:
            place = target.relative_to(destination).as_posix()
            rows[place] = (*row.values(), path)
            usual = target.with_name(source.name).relative_to(destination).as_posix()
            changed += [place] if place != usual and earlier.get(usual) == path and place not in earlier else []
    for place, origin in earlier.items():
        inside = not os.path.isabs(place) and ".." not in place.split("/")
        if inside and place not in rows and is_copy(destination / place, root / origin):
            remove(destination / place)
            remove_empty((destination / place).parent)
    write_atomic(
        destination / SORTED, csv_bytes(["path", *COLUMNS, "source"], [(place, *row) for place, row in rows.items()])
    )
    if changed:
        print(f"{len(changed)} files differ from an earlier export and stand beside it: {changed[0]}", file=sys.stderr)
    return len(rows), gone


def exported(destination: Path) -> dict[str, str]:
    """What an earlier export says that it has put there, and where it came from."""
    try:
        with opened(destination / SORTED) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
            return {row["path"]: row["source"] or "" for row in csv.DictReader(text)}
    except (OSError, UnreadableError, KeyError, csv.Error):
        return {}
