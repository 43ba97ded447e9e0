"""The report: a finished run as one self-contained page that opens from a file, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from novakind.data.collection import Collection
from novakind.datasets.gather import gather
from novakind.disk import write_atomic
from novakind.errors import UserError
from novakind.modality.display import Display, Pictures
from novakind.progress import Reporter
from novakind.results.report.contents import contents
from novakind.results.report.page import report_page
from novakind.runs.folder import Run

__all__ = ["draw_again", "draw_report", "write_report"]


def write_report(run: Path, shown: Display) -> Path:
    """Write `report.html` into a finished run folder, with what there is to see of its items."""
    path = run / "report.html"
    write_atomic(path, report_page(contents(run, shown)).encode())
    return path


def draw_report(run: Path, collection: Collection) -> Path:
    """The page of a run, with its items as their kind of data shows them."""
    shown = collection.before or collection
    return write_report(run, shown.modality.display(lambda number: np.asarray(shown.items[number])))


def draw_again(run: Path) -> Path:
    """Write report.html again, from the data as they were; a report that is there is never replaced by a poorer one."""
    folder = Run(run)
    settings = folder.settings()
    reason = "the data have changed since the run"
    try:
        with Reporter() as report:
            collection, _ = gather(
                folder.source(), run / "store", settings.get("val", 0.1), report.decoding, report.embedding
            )
        if collection.digest() == settings["data"].get("digest"):
            return draw_report(run, collection)
    except UserError as error:
        reason = str(error)
    if (run / "report.html").exists():
        raise UserError(f"the report cannot be drawn again with its pictures and stays as it is, because {reason}")
    print(f"the report shows no pictures, because {reason}", file=sys.stderr)
    return write_report(run, Pictures(lambda number: None))
