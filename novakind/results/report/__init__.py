"""The report: a finished run as one self-contained page that opens from a file, without a network."""

from __future__ import annotations

import html
import json
import math
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.collection import Collection
from novakind.datasets.gather import gather
from novakind.disk import write_atomic
from novakind.errors import UserError
from novakind.modality.display import Display, Pictures
from novakind.progress import Reporter
from novakind.results.report.contents import contents
from novakind.runs.folder import Run

__all__ = ["draw_again", "draw_report", "write_report"]

STYLES = ("page.css", "signals.css", "clips.css", "texts.css")
# one scope, in this order
SCRIPTS = (
    "page.js",
    "signals.js",
    "clips.js",
    "texts.js",
    "cards.js",
    "map.js",
    "charts.js",
)


def write_report(run: Path, shown: Display) -> Path:
    """Write `report.html` into a finished run folder, with what there is to see of its items."""
    path = run / "report.html"
    write_atomic(path, render(contents(run, shown)).encode())
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
            collection, _ = gather(folder.source(), run / "store", settings["val"], report.decoding, report.embedding)
        if collection.digest() == settings["data"]["digest"]:
            return draw_report(run, collection)
    except UserError as error:
        reason = str(error)
    if (run / "report.html").exists():
        raise UserError(f"the report cannot be drawn again with its pictures and stays as it is, because {reason}")
    print(f"the report shows no pictures, because {reason}", file=sys.stderr)
    return write_report(run, Pictures(lambda number: None))


def render(data: dict[str, Any]) -> str:
    """The page with its data; nothing in a name or a path can end the block of data or become markup."""
    # with "<" escaped no name can close the script element; ASCII carries file names that are not valid Unicode
    block = json.dumps(finite(data), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    here = files("novakind.results.report")
    parts = {
        "title": html.escape(data["name"].encode("utf-8", "replace").decode()),
        "style": "\n".join((here / name).read_text(encoding="utf-8") for name in STYLES),
        "data": block,
        "script": "\n".join((here / name).read_text(encoding="utf-8") for name in SCRIPTS),
    }
    template = (here / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def finite(value: Any) -> Any:
    """The same data with null for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
