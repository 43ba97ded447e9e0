"""Files in an export: copied or linked, beside whatever is there already, under names that every file system takes."""

from __future__ import annotations

import filecmp
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from novakind import disk
from novakind.data.forms import FILES
from novakind.results.forms import Bring

LONGEST = 255  # bytes of a name
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names that Windows keeps for devices


def is_copy(file: Path, source: Path) -> bool:
    """Whether a file is still what an export put there."""
    if file.is_symlink():
        return file.readlink() == source.absolute()
    return file.is_file() and source.is_file() and filecmp.cmp(source, file, shallow=False)


def remove_empty(folder: Path) -> None:
    if not any(folder.iterdir()):
        disk.step(folder, os.rmdir, folder)


def copied(destination: Path, root: Path, link: bool, gone: list[str], alike: bool = True) -> Bring:
    """Copies or links files below `root` into data/, as they lie there; `gone` hears of those that cannot be had.

    Not `alike`: names differ in more than their endings.
    """

    def every(paths: Sequence[str]) -> list[str]:
        used, found = Counter[Path](), []
        for path in paths:
            if not is_readable(root / path):
                gone.append(path)
                found.append("")
                continue
            inside = PurePosixPath(os.path.normpath(path))
            outside = inside.is_absolute() or ".." in inside.parts
            place = destination / FILES / (inside.name if outside else inside)
            brought = bring(root / path, place, link, used, alike)
            found.append(brought.relative_to(destination).as_posix())
        return found

    return every


def is_readable(file: Path) -> bool:
    return file.is_file() and os.access(file, os.R_OK)


def bring(source: Path, target: Path, link: bool, used: Counter[Path], alike: bool = True) -> Path:
    """Copy or link a file to a place, or beside what is there already: the newcomer gets a number."""
    disk.make_folder(target.parent)
    key = target if alike else target.with_suffix("")
    while True:
        used[key] += 1
        place = numbered(target, used[key])
        if put(source.absolute(), place, link):
            return place


def numbered(target: Path, number: int) -> Path:
    """The same with a number in its name, which stays short enough for a file system."""
    if number == 1:
        return target
    more = f" ({number}){target.suffix}"
    stem = os.fsencode(target.stem)[: LONGEST - len(os.fsencode(more))]
    return target.with_name(os.fsdecode(stem).encode("utf-8", "ignore").decode() + more)


def put(source: Path, target: Path, link: bool) -> bool:
    """Link or copy a file, unless it is there already; False, and nothing done, where anything else is at `target`."""
    try:
        (disk.link_new if link else disk.copy_new)(source, target)
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
