"""Comparisons for tests: a quick command, and its cells and tables as they are on disk."""

import csv
import io
import json
from pathlib import Path

DATA = ["compare", "blobs.npz", "--known", "2", "--test", "0.2", "--batch", "20"]
COMMAND = [*DATA, "--methods", "ours,supervised", "--seeds", "2", "--epochs", "2"]
OUT = Path("runs/compare-blobs")
CELLS = [("ours", 0), ("ours", 1), ("supervised", 0), ("supervised", 1)]


def cell(method, seed, out=OUT):
    return json.loads((out / method / str(seed) / "cell.json").read_text())


def markdown(out=OUT):
    """The cells of the Markdown table by method and column."""
    lines = [line for line in (out / "compare.md").read_text().splitlines() if line.startswith("|")]
    header, _, *rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def table(out=OUT):
    return list(csv.DictReader(io.StringIO((out / "compare.csv").read_text())))
