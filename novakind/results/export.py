"""Export: the result as a table, as arrays, or as files sorted into folders."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.arrays import holds_arrays
from novakind.data.manifest import has_texts, read_texts
from novakind.data.paths import root_of
from novakind.data.source import Source
from novakind.data.store import STORE
from novakind.datasets import is_named
from novakind.disk import csv_bytes, replacing, write_atomic
from novakind.errors import UserError
from novakind.runs.discovery import Discovery
from novakind.runs.folder import EDITS, FILES, Run

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names that Windows keeps for devices


def export(run: Path, out: Path, to: str, link: bool = False, everything: bool = False) -> str:
    """Write the result as `to` asks, or as the ending of `out` suggests; a sentence on what was written."""
    discovery, source = Discovery.load(run), Run(run).source()
    given = Path(source.data)
    keep_files(run, out, source)
    texts = None if is_named(source.data, source.root) else texts_of(given)
    is_array = is_named(source.data, source.root) or holds_arrays(given)
    root = None if is_array or texts is not None else root_of(given)
    if to == "auto":
        to = {".csv": "csv", ".npz": "npz"}.get(out.suffix.lower(), "folders")
    if to != "folders" and (link or everything):
        option = "--link" if link else "--everything"
        raise UserError(f"{option} is for folders, and {to} holds every item: leave it out, or give --to folders")
    if to == "csv":
        write_out(out, lambda path: to_csv(discovery, path, root, texts))
        return f"{len(discovery.paths)} items: {out}"
    if to == "npz":
        write_out(out, lambda path: to_npz(discovery, path))
        return f"{len(discovery.paths)} items: {out}"
    if root is None:
        raise UserError("these items are rows of an array or table, and only files go into folders: export csv or npz")
    if given.is_dir() and (out.resolve() == root.resolve() or root.resolve() in out.resolve().parents):
        raise UserError(
            f"{out} is in the data folder, where exported files would pass for data: name another destination"
        )
    written: list[Any] = []
    write_out(out, lambda path: written.extend(to_folders(discovery, path, root, link, everything)))
    count, gone = written
    return f"{count} files in {out}" + (f"; {len(gone)} are gone from {root}, e.g. {gone[0]}" if gone else "")


def keep_files(run: Path, out: Path, source: Source | None = None) -> None:
    """Refuse to write over a run, its data or their truth."""
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


def texts_of(given: Path) -> dict[str, str] | None:
    """What the rows of a table of texts say, by name; None for any other data, and for a table that is gone."""
    try:
        table = read_texts(given, labels=False) if has_texts(given) else None
    except UserError:
        return None
    return None if table is None else dict(zip(table.names, table.texts, strict=True))


def to_csv(discovery: Discovery, path: Path, root: Path | None, texts: Mapping[str, str] | None = None) -> None:
    """A table that `discover` reads as the next collection: the labels that were given, and what was found.

    `label` is empty for items that had none, so that a next round has something to sort; `category` is the label or the
    category that was found, and `status` tells which: given or suggested. `suggested` is the model's own answer, of
    labeled items too, with its `probability`. Paths of files below `root` are as seen from the table's folder. Texts
    that were rows of a table have an id in the place of a path, and a last column for what they say.
    """
    paths = discovery.paths
    if root is not None:
        here = os.path.relpath(root.resolve(), path.parent.resolve())
        paths = [os.path.normpath(os.path.join(here, one)) for one in paths]
    status = ["given" if label else "suggested" for label in discovery.labels]
    suggested = [discovery.names[number] for number in discovery.category]
    columns = [paths, discovery.labels, discovery.final, status, suggested, discovery.probability]
    header = ["path", "label", "category", "status", "suggested", "probability"]
    if texts is not None:
        header = ["id", *header[1:], "text"]  # by a column path, a next round would look for files
        columns.append([texts.get(name, "") for name in paths])
    write_atomic(path, csv_bytes(header, zip(*columns, strict=True)))


def to_npz(discovery: Discovery, path: Path) -> None:
    """Arrays in the order of the items; `y` is the given label's number where there is one, else the category."""
    numbers = {name: number for number, name in enumerate(discovery.names[: discovery.known])}
    y = [numbers.get(label, int(number)) for label, number in zip(discovery.labels, discovery.category, strict=True)]
    arrays = {name: getattr(discovery, name) for name in ("category", "probability", "embedding", "logp")}
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(
            file, path=np.array(discovery.paths), names=np.array(discovery.names), y=np.array(y), **arrays
        )


def to_folders(
    discovery: Discovery, destination: Path, root: Path, link: bool, everything: bool = False
) -> tuple[int, list[str]]:
    """Copy or link the files of unlabeled items (or of `everything`) into folders named after their categories.

    No existing file is ever overwritten: the newcomer gets a number, and what an earlier export has put there stays as
    it is. Returns how many files are there, and the paths of those that are gone or cannot be read.
    """
    recording, mark, _ = discovery.paths[0].rpartition("@")
    if mark and not (root / discovery.paths[0]).exists() and (root / recording).exists():
        raise UserError(
            "these items are windows of recordings and only files go into folders: export csv or npz instead"
        )
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file, and an export needs a folder: name another destination")
    folders, gone, used = folder_names((*discovery.names, *discovery.final)), [], Counter()
    chosen = [item for item, label in enumerate(discovery.labels) if everything or not label]
    if chosen and not any((root / discovery.paths[item]).exists() for item in chosen):
        raise UserError(
            f"none of the {len(chosen)} files is in {root}, where the run found them: put the data folder back, "
            "or run novakind discover again from its new place"
        )
    for item in chosen:
        source, folder = root / discovery.paths[item], destination / folders[discovery.final[item]]
        if not source.is_file() or not os.access(source, os.R_OK):
            gone.append(discovery.paths[item])
            continue
        folder.mkdir(parents=True, exist_ok=True)
        target, placed = folder / source.name, False
        while not placed:
            used[target] += 1
            number = "" if used[target] == 1 else f" ({used[target]})"
            placed = put(source.absolute(), target.with_stem(target.stem + number), link)
    return len(chosen) - len(gone), gone


def put(source: Path, target: Path, link: bool) -> bool:
    """Link or copy a file, unless it is there already; False, and nothing done, where anything else is at `target`."""
    try:
        if link:
            target.symlink_to(source)
            return True
        with source.open("rb") as reader, target.open("xb") as writer:
            try:
                shutil.copyfileobj(reader, writer)
            except OSError:
                target.unlink()  # half a copy would pass for a whole one
                raise
        shutil.copystat(source, target)
        return True
    except FileExistsError:
        if link or target.is_symlink():
            return link and target.is_symlink() and target.readlink() == source
        return target.is_file() and filecmp.cmp(source, target, shallow=False)


def safe_name(name: str) -> str:
    """A folder name for any file system: what some forbid becomes "_", accents and emoji stay, at most 120 bytes."""
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f\x7f]', "_", unicodedata.normalize("NFC", name))
    name = name.encode("utf-8", "replace")[:120].decode("utf-8", "ignore").strip(" .")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def folder_names(names: tuple[str, ...]) -> dict[str, str]:
    """A folder for each name: names that differ never share one, even where a file system ignores case."""
    folders: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        folder, number = safe_name(name), 1
        while folder.casefold() in taken:
            number += 1
            folder = f"{safe_name(name)} ({number})"
        taken.add(folder.casefold())
        folders[name] = folder
    return folders
