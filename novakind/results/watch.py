"""predict --watch: what arrives in a folder is sorted as it comes, until somebody stops it."""

from __future__ import annotations

import csv
import io
import os
import time
from collections.abc import Callable
from pathlib import Path

from novakind.data.paths import list_items
from novakind.disk import append, csv_bytes
from novakind.errors import UserError
from novakind.given import opened
from novakind.model import load_model
from novakind.results.export import keep_files
from novakind.results.growing import HEADER
from novakind.results.predict import FILES, Files, answers, read_piece
from novakind.runs.folder import Run

PAUSE = 2.0  # seconds between two looks; a file is sorted when it has not changed from one to the next

Stamp = tuple[int, int]


def watch_items(run: Path, folders: list[Path], out: Path | None, say: Callable[[str], object] = print) -> None:
    """Append a line to `out` for every item that is in the folders or arrives there; never twice for one name."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is no folder, and --watch waits for what arrives in one: give a folder")
    if out is None or out.suffix.lower() != ".csv":
        raise UserError(f"--watch adds to a table as items arrive, and {out} is none: give --out sorted.csv")
    keep_files(run, out)
    model = load_model(Run(run).model_file)
    done, before = earlier(out), dict[str, Stamp]()
    say(f"sorting what arrives into {out}; Ctrl-C ends it, the same command goes on")
    while True:
        now = {name: stamp for name, stamp in arrived(folders).items() if name not in done}
        settled = [name for name, stamp in now.items() if before.get(name) == stamp]
        for start in range(0, len(settled), FILES):
            some = settled[start : start + FILES]
            lines = answers(model, read_piece(model.reads, Files([(name, Path(name)) for name in some], [])))
            append(out, csv_bytes(HEADER, lines)[len(csv_bytes(HEADER, [])) :])
            done |= set(some)
        if settled:
            say(f"{len(settled)} more items: {out}")
        before = now
        time.sleep(PAUSE)


def earlier(out: Path) -> set[str]:
    """The names that the table has already; a new table gets its header. A line that was cut short is one too many."""
    if not os.path.lexists(out):
        append(out, csv_bytes(HEADER, []))
        return set()
    with opened(out) as file:
        text = file.read().decode(errors="surrogateescape")
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or rows[0] != HEADER:
        raise UserError(f"{out} is no table of predict, and would be added to: give another place with --out")
    if not text.endswith("\n"):
        append(out, b"\n")
        rows.pop()
    return {row[0] for row in rows[1:]}


def arrived(folders: list[Path]) -> dict[str, Stamp]:
    """Every file that is there, with its size and the time of its last change."""
    found: dict[str, Stamp] = {}
    for folder in folders:
        listing = list_items(folder, labeled=False)
        for name in listing.names:
            try:
                status = os.stat(listing.root / name)
            except OSError:  # gone again
                continue
            found[str(listing.root / name)] = status.st_size, status.st_mtime_ns
    return found
