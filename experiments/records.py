"""A cell's JSON file: where it is, what of it still counts, how it is laid out, and how its numbers are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from experiments.cells import Cell
from novakind.compare.plan import read_json


def cell_file(results: Path, cell: Cell) -> Path:
    """Called by its id: INDEX.md beside the data sets' folders tells what each one asks."""
    return results / "cells" / cell.scale / slug(cell.title) / f"{cell.id}.json"


def record_of(results: Path, cell: Cell) -> dict[str, Any]:
    """What is on record for the cell; nothing if its settings have changed since."""
    record = read_json(cell_file(results, cell))
    return record if record.get("settings") == cell.essence() else {}


def runs_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The runs of a cell that came to an end, by seed."""
    return [run for run in record.get("runs", {}).values() if "metrics" in run]


def laid_out(value: Any, depth: int = 4, indent: str = "") -> str:
    """JSON with a line for each setting and metric, but a list on one."""
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value)
    inner = indent + " "
    lines = [f"{inner}{json.dumps(name)}: {laid_out(each, depth - 1, inner)}" for name, each in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def percents(runs: list[dict[str, Any]], metric: str) -> list[float]:
    return [100 * run["metrics"][metric] for run in runs if metric in run["metrics"]]


def spread(values: list[float]) -> str:
    """Mean and standard deviation; the mean alone of a single value."""
    if not values:
        return ""
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def slug(text: str) -> str:
    """A name for a file, the same for the same text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
