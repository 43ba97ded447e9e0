"""What the verbs after discover do: sort new items, draw the report again, take the result away."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from novakind.datasets.source import Source, gather
from novakind.disk import csv_bytes, write_atomic
from novakind.errors import UserError
from novakind.model import load_model, predict
from novakind.progress import Reporter
from novakind.results.export import to_csv, to_folders, to_npz
from novakind.results.inbox import read_items
from novakind.results.report import draw_report, write_report
from novakind.runs.discovery import Discovery
from novakind.runs.folder import Run


def sort_new_items(run: Path, items: list[Path], out: Path | None) -> None:
    """A table of path, category and probability, printed or written to `out`."""
    if not items:
        raise UserError("no items are given: name the files or folders to sort after the run folder")
    model = load_model(Run(run).model_file)
    rows: list[list[Any]] = []
    skipped: list[tuple[str, str]] = []
    for names, batch in read_items(items, model, skipped):
        _, logp = predict(model, batch)
        for name, line in zip(names, logp, strict=True):
            best = int(line.argmax())
            rows.append([name, model.card.categories[best], f"{np.exp(line[best]):.6f}"])
    for path, reason in skipped:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    if not rows:
        raise UserError(
            f"none of the given items can be read ({len(skipped)} skipped): give images, or an .npz for vectors"
        )
    table = csv_bytes(["path", "category", "probability"], rows)
    if out is None:
        sys.stdout.buffer.write(table)
    else:
        write_out(out, lambda path: write_atomic(path, table))
        print(f"{len(rows)} items sorted, {len(skipped)} skipped: {out}")


def draw_again(run: Path) -> Path:
    """Write report.html anew, from the data as they were; a report that is there is never replaced by a poorer one."""
    settings = Run(run).settings()
    kept = {key: value for key, value in settings["data"].items() if key != "digest"}
    reason = "the data have changed since the run"
    try:
        with Reporter() as report:
            collection, _ = gather(Source(**kept), run / "store", settings["val"], report.decoding)
        if collection.digest() == settings["data"]["digest"]:
            return draw_report(run, collection)
    except UserError as error:
        reason = str(error)
    if (run / "report.html").exists():
        raise UserError(f"the report cannot be drawn again with its pictures and stays as it is, because {reason}")
    print(f"the report shows no pictures, because {reason}", file=sys.stderr)
    return write_report(run, lambda number: None)


def take_away(run: Path, out: Path, to: str, link: bool, everything: bool) -> str:
    """Export as the user asked, or as the ending of `out` suggests; a sentence on what was written."""
    discovery = Discovery.load(run)
    if to == "auto":
        to = {".csv": "csv", ".npz": "npz"}.get(out.suffix.lower(), "folders")
    if to != "folders":
        if link or everything:
            option = "--link" if link else "--everything"
            raise UserError(f"{option} is for folders, and {to} holds every item: leave it out, or give --to folders")
        write_out(out, lambda path: {"csv": to_csv, "npz": to_npz}[to](discovery, path))
        return f"{len(discovery.paths)} items: {out}"
    source = Path(Run(run).settings()["data"]["data"])
    root = source.parent if source.suffix.lower() in (".csv", ".npz") else source
    written: list[Any] = []
    write_out(out, lambda path: written.extend(to_folders(discovery, path, root, link, everything)))
    count, gone = written
    return f"{count} files in {out}" + (f"; {len(gone)} are gone from {root}, e.g. {gone[0]}" if gone else "")


def write_out(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a result where the user asked for it; refuse in a sentence where that cannot be."""
    try:
        write(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}): give another place with --out") from None
