"""predict --watch: what arrives in a folder is sorted as it comes, until somebody stops it."""

from __future__ import annotations

import csv
import io
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from novakind.data.paths import list_folder
from novakind.disk import append, csv_bytes, cut
from novakind.errors import UnreadableError, UserError
from novakind.given import memory, read_whole
from novakind.model import load_model
from novakind.results.export import keep_files
from novakind.results.growing import HEADER
from novakind.results.predict import FILES, Files, answers, read_piece
from novakind.runs.folder import Run

PAUSE = 2.0  # seconds between two looks; a file is sorted when it has not changed from one to the next

LONGEST = 8192  # bytes of a line that was cut off while it was written

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
    done, before, passed = earlier(out), dict[str, Stamp](), set[str]()
    say(f"sorting what arrives into {out}; Ctrl-C ends it, the same command goes on")
    while True:
        there, odd = arrived(folders)
        for line in sorted(odd - passed):
            print(line, file=sys.stderr)
        passed |= odd
        now = {name: stamp for name, stamp in there.items() if name not in done}
        settled = [name for name, stamp in now.items() if before.get(name) == stamp]
        sorted_items = 0
        for start in range(0, len(settled), FILES):
            some = settled[start : start + FILES]
            lines = answers(model, read_piece(model.reads, Files([(name, Path(name)) for name in some], [])))
            append(out, csv_bytes(HEADER, lines)[len(csv_bytes(HEADER, [])) :])
            done |= set(some)
            sorted_items += len(lines)
        if sorted_items:
            say(f"{sorted_items} more items: {out}")
        before = now
        time.sleep(PAUSE)


def earlier(out: Path) -> set[str]:
    """The names that the table has already; a new table gets its header, also in the place of one that a killed process
    has only begun. A line that was cut off is taken away."""
    header = csv_bytes(HEADER, [])
    if not os.path.lexists(out):
        append(out, header)
        return set()
    try:
        content = read_whole(out, memory())
    except UnreadableError as error:
        raise UserError(f"{out} cannot be added to ({error}): give another place with --out") from None
    if header.startswith(content) and content != header:
        cut(out, 0)
        append(out, header)
        return set()
    whole = whole_rows(content)
    rest = content[whole:]
    try:
        rows = list(csv.reader(io.StringIO(content[:whole].decode(errors="surrogateescape"), newline=""), strict=True))
    except csv.Error:
        rows = []
    if not rows or rows[0] != HEADER:
        raise UserError(f"{out} is no table of predict, and would be added to: give another place with --out")
    if rest.endswith(b"\n") or len(rest) > LONGEST:
        raise UserError(f"{out} has a quote that nothing closes: mend it, or give another place with --out")
    if rest:
        cut(out, whole)
    return {row[0] for row in rows[1:] if row}


def whole_rows(content: bytes) -> int:
    """Where the last row of a table ends: at a line break outside of quotes."""
    end = place = quotes = 0
    for line in io.BytesIO(content):
        place += len(line)
        quotes += line.count(b'"')
        if line.endswith(b"\n") and quotes % 2 == 0:
            end = place
    return end


def arrived(folders: list[Path]) -> tuple[dict[str, Stamp], set[str]]:
    """Every file that is there, with its size and the time of its last change; and a line for all that is no file."""
    found: dict[str, Stamp] = {}
    odd: set[str] = set()
    for folder in folders:
        try:
            listing = list_folder(folder, labeled=False)  # whatever tables arrive in it: they are no list of items
        except UserError as error:
            odd.add(f"skipped {folder} for now: {error}")
            continue
        odd |= {f"skipped {folder / name}: {reason}" for name, reason in listing.skipped}
        for name in listing.names:
            try:
                status = os.stat(listing.root / name)
            except OSError:  # gone again
                continue
            found[str(listing.root / name)] = status.st_size, status.st_mtime_ns
    return found, odd
