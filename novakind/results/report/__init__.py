"""The report: a finished run as one self-contained page that opens from a file, without a network."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.collection import Collection
from novakind.disk import write_atomic
from novakind.modality.series import Series
from novakind.modality.video import Video
from novakind.results.report.clips import Clips
from novakind.results.report.contents import contents
from novakind.results.report.signals import Signals

__all__ = ["Clips", "Signals", "draw_report", "write_report"]

STYLES = ("page.css", "signals.css", "clips.css")
SCRIPTS = ("page.js", "signals.js", "clips.js", "cards.js", "map.js", "charts.js")  # one scope, in this order


def write_report(
    run: Path, thumbnail: Callable[[int], bytes | None], signals: Signals | None = None, clips: Clips | None = None
) -> Path:
    """Write `report.html` into a finished run folder. `thumbnail(i)` is item i's picture (PNG, WebP) or None.

    Time series are given as `signals` and videos as `clips`; they are shown instead of pictures, and no thumbnail is
    asked for.
    """
    path = run / "report.html"
    write_atomic(path, render(contents(run, thumbnail, signals, clips)).encode())
    return path


def draw_report(path: Path, collection: Collection) -> Path:
    """The page with what there is to see of the items: pictures, courses of time series, or clips."""
    modality = collection.modality

    def row(number: int) -> np.ndarray:
        return np.asarray(collection.items[number])

    signals = Signals(modality.channels, modality.rate, modality.unit, row) if isinstance(modality, Series) else None
    clips = Clips(modality.fps, row) if isinstance(modality, Video) else None
    return write_report(path, lambda number: modality.thumbnail(row(number)), signals, clips)


def render(data: dict[str, Any]) -> str:
    """The page around its data; nothing in a name or a path can end the block of data or become markup."""
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
    """The same data with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
