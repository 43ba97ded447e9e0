"""paths: the one way from what a user gives (a folder, a table, arrays, a file) to items and their files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from novakind.data.arrays import holds_arrays, like, read
from novakind.data.forms import is_form, read_form
from novakind.data.manifest import (
    MANIFESTS,
    UNLABELED,
    check_unlabeled,
    columns_of,
    has_texts,
    is_manifest,
    read_manifest,
    read_texts,
)
from novakind.data.store import INDEX, STORE
from novakind.errors import UserError
from novakind.given import is_regular
from novakind.modality import Kind, from_array, kind_of_files

GLANCE = 200  # files tell what the others are
SORTED = "categories.csv"  # what an export into folders says of the files there


@dataclass(frozen=True)
class Listing:
    """Files below `root`, or the rows of arrays and of tables of texts."""

    root: Path
    names: Sequence[str]
    """Of files as seen from `root`; of rows their numbers, or what their table calls them."""
    labels: Sequence[str] = ()
    """"" is unlabeled; empty as a whole where no labels were asked for, and for an .npz, whose y has them."""
    skipped: tuple[tuple[str, str], ...] = ()
    """What is passed over, and why."""
    arrays: Mapping[str, np.ndarray] | None = None
    windows: Mapping[str, str] = field(default_factory=dict)
    """Labels of single windows of recordings, by their names FILE@START."""

    @cached_property
    def files(self) -> list[Path]:
        return [self.root / name for name in self.names]


def root_of(given: Path) -> Path:
    """The folder that the names of items are relative to: the one that was given, or that of the file.

    What is no longer there was a folder, unless it ends as a manifest does.
    """
    is_file = given.exists() or given.suffix.lower() in (*MANIFESTS, ".json", ".npz")
    return given.parent if is_file and not given.is_dir() else given


def in_files(given: Path) -> bool:
    """Whether items are files, and not rows of arrays or tables; a form that is gone was one of files."""
    with suppress(UserError):
        if is_form(given):
            return list_form(given, labeled=False).arrays is None
    return not holds_arrays(given) and not has_texts(given)


def list_items(given: Path, labeled: bool = True) -> Listing:
    """What is there: with their labels (a folder's are the names of its sub-folders), or any items to be sorted."""
    if is_form(given):
        return list_form(given, labeled)
    if given.is_dir():
        return list_folder(given, labeled)
    if not given.exists():
        raise UserError(f"{given} does not exist: give a folder, a .csv or .parquet manifest, or an .npz file")
    if holds_arrays(given):
        arrays, names = read(given, labeled)
        return Listing(given.parent, names, arrays=arrays)
    if has_texts(given):
        return list_texts(given, labeled)
    if given.suffix.lower() in MANIFESTS and (labeled or is_manifest(given)):
        return list_manifest(given, labeled)
    if labeled:
        raise UserError(f"{given} is neither a folder, a .csv or .parquet manifest nor an .npz file: give one of those")
    return Listing(given.parent, [given.name])


def list_manifest(given: Path, labeled: bool) -> Listing:
    """The files that a table names; a row for a window of a recording is a label of that window."""
    names, labels = read_manifest(given, labels=labeled)
    return list_named(given, given.parent, names, labels)


def list_form(given: Path, labeled: bool) -> Listing:
    """What another tool's form lists: files, or texts of its own."""
    root, entries = read_form(given)
    if entries[0].text is not None:
        texts = np.array([entry.text or "" for entry in entries], dtype=object)
        labels = [entry.label for entry in entries]
        arrays = {"X": texts, "y": np.array(labels)}
        return Listing(root, [entry.name for entry in entries], labels if labeled else (), arrays=arrays)
    return list_named(given, root, [entry.name for entry in entries], [entry.label for entry in entries])


def list_named(given: Path, root: Path, names: Sequence[str], labels: Sequence[str]) -> Listing:
    """The files that these names mean, as seen from `root`."""
    check_unlabeled(given, labels)
    places = [os.path.abspath(os.path.join(root, name)) for name in names]
    counts = Counter(places)
    twice = [name for name, place in zip(names, places, strict=True) if counts[place] > 1]
    if twice:
        raise UserError(f'{given} names "{twice[0]}" more than once, but an item has one row: remove the others')
    files: dict[str, str] = {}
    windows: dict[str, str] = {}
    for name, label in zip(names, labels, strict=True):
        file, label = file_of(root, name), "" if label == UNLABELED else label
        if file == name:
            files[name] = label
        else:
            files.setdefault(file, "")
            windows[name] = label
    return Listing(root, list(files), list(files.values()), windows=windows)


def list_texts(given: Path, labeled: bool) -> Listing:
    """The rows of a table of texts, but for empty ones."""
    table = read_texts(given, labels=labeled)
    check_unlabeled(given, table.labels)
    labels = ["" if label == UNLABELED else label for label in table.labels] if labeled else []
    # as objects: strings of one width would all be as wide as the longest
    arrays = {"X": np.array(table.texts, dtype=object), "y": np.array(labels)}
    return Listing(given.parent, table.names, labels, tuple(table.empty), arrays)


def file_of(root: Path, name: str) -> str:
    """The file that an item is in: windows of recordings are called FILE@START."""
    file, at, _ = name.rpartition("@")
    return file if at and not os.path.lexists(root / name) and os.path.isfile(root / file) else name


def list_folder(root: Path, labeled: bool) -> Listing:
    """The files below `root`, but for names that begin with a point; with labels those in the folder of a class."""
    names, labels, skipped, closed = [], [], [], []
    sorted_by, base = sorted_labels(root), os.path.join(root, "")
    for parts in sorted(file[len(base) :].split(os.sep) for file in walk(root, closed)):
        inside = "/".join(parts)  # no Path, which takes long to make for each of a million files
        if not os.path.isfile(file := base + inside):
            skipped.append((inside, "not a file" if os.path.exists(file) else "a broken link"))
        elif sorted_by and inside == SORTED:
            continue
        elif labeled and len(parts) < 2:
            skipped.append((inside, "not in the folder of a class"))
        else:
            names.append(inside)
            folder = "" if parts[0] == UNLABELED else parts[0]
            labels.append(sorted_by.get(inside, folder))
    skipped += [(Path(folder).relative_to(root).as_posix(), reason) for folder, reason in closed]
    if labeled:
        check_unlabeled(root, {name.partition("/")[0] for name in names})
    if labeled and not names:
        raise UserError(
            f"{root} holds no file in a sub-folder: put known items into one folder for each class, "
            f"and the rest into {UNLABELED}/"
        )
    return Listing(root, names, labels if labeled else (), tuple(skipped))


def sorted_labels(root: Path) -> Mapping[str, str]:
    """The labels of the files that novakind sorted into these folders, by their places: what was only suggested has
    none. A file that lies elsewhere now was moved by a person, and has the label of its folder."""
    table = root / SORTED
    if not is_regular(table) or not {"path", "label", "status"} <= set(columns_of(table)):
        return {}
    names, labels = read_manifest(table)
    return dict(zip(names, labels, strict=True))


def walk(root: Path, closed: list[tuple[str, str]] | None = None) -> Iterator[str]:
    """Everything below `root` that is no folder; names that begin with a point, of folders too, are passed over.

    So are the folders of runs: what novakind wrote about the data is no part of them. Folders that cannot be looked
    into, and links to folders, which may lead in a circle, are added to `closed` with the reason.
    """
    found: list[tuple[str, str]] = [] if closed is None else closed
    for folder, inner, files in os.walk(root, onerror=lambda error: found.append(why_closed(error))):
        links = [name for name in inner if not name.startswith(".") and os.path.islink(os.path.join(folder, name))]
        found.extend((os.path.join(folder, name), "a link to a folder, which is not followed") for name in links)
        inner[:] = [name for name in inner if not name.startswith(".") and not is_run(Path(folder, name))]
        yield from (os.path.join(folder, name) for name in files if not name.startswith("."))


def why_closed(error: OSError) -> tuple[str, str]:
    return str(error.filename), f"a folder that cannot be opened: {error.strerror}"


def is_run(folder: Path) -> bool:
    """Whether files were decoded into a folder, which a run does first of all."""
    return is_regular(folder / STORE / INDEX)


def kind_of(given: Path) -> Kind:
    """The kind of data, as far as a look can tell; what is wrong with it is told when it is read."""
    with suppress(UserError, KeyError):
        if is_form(given):
            listing = list_form(given, labeled=False)
            return kind_of_files(listing.files) if listing.arrays is None else type(from_array(listing.arrays["X"])[1])
        if is_regular(given) and holds_arrays(given):
            return type(from_array(like(given))[1])
        if has_texts(given):
            return type(from_array(np.array(["a text"]))[1])
        if is_regular(given) and is_manifest(given):
            names = read_manifest(given, labels=False)[0]
            return kind_of_files(given.parent / file_of(given.parent, name) for name in names)
    return kind_of_files(map(Path, islice(walk(given), GLANCE)))
