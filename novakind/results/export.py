"""Export: the result taken away as a table, as arrays, or as files sorted into folders."""

from __future__ import annotations

import csv
import os
import re
import shutil
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np

from novakind.disk import replacing
from novakind.errors import UserError
from novakind.runs.discovery import Discovery

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names that Windows keeps for devices


def to_csv(discovery: Discovery, path: Path) -> None:
    """`path,label` and how each label came about: a manifest that can be loaded as the next collection."""
    with replacing(path) as part, part.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "label", "given", "id", "probability"])
        writer.writerows(
            zip(
                discovery.paths,
                discovery.final,
                discovery.labels,
                discovery.category,
                discovery.probability,
                strict=True,
            )
        )


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

    No existing file is ever overwritten: the newcomer gets a number. Returns how many files were written, and the
    paths of those that are gone or cannot be read.
    """
    if all(path.isdecimal() for path in discovery.paths) and not any(
        (root / path).exists() for path in discovery.paths[:99]
    ):
        raise UserError("these items are rows of an array and only files go into folders: export csv or npz instead")
    recording, mark, _ = discovery.paths[0].rpartition("@")
    if mark and not (root / discovery.paths[0]).exists() and (root / recording).exists():
        raise UserError(
            "these items are windows of recordings and only files go into folders: export csv or npz instead"
        )
    if destination.exists() and not destination.is_dir():
        raise UserError(f"{destination} is a file, and an export needs a folder: name another destination")
    if destination.resolve() == root.resolve() or root.resolve() in destination.resolve().parents:
        raise UserError(
            f"{destination} is in the data folder, where exported files would pass for data: name another destination"
        )
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
    """Link or copy a file; False, and nothing done, where anything stands at `target` already."""
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
        return False


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
