"""The pictures of the exhibits, from the cells' JSON files alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import draw
from experiments.exhibits import Exhibit
from experiments.records import record_of, runs_of, slug
from experiments.tables import EXHIBITS


class Part(NamedTuple):
    """A row of an exhibit on one data set, and the runs that are there."""

    name: str
    runs: list[dict[str, Any]]
    settings: dict[str, Any]


def parts_of(exhibit: Exhibit, data: str, scale: str, results: Path) -> list[Part]:
    """The rows that have been run."""
    found = []
    for place, row, cell in exhibit.places(scale):
        record = record_of(results, cell) if cell and place == data else {}
        if runs := runs_of(record):
            found.append(Part(row.name, runs, record["settings"]))
    return found


def confusion_panels(parts: list[Part]) -> list[draw.Panel]:
    """True classes by categories, of the first seed."""
    panels = []
    for part in parts:
        found = part.runs[0]["confusion"]
        panels.append(draw.heat(part.name, by_row(found["counts"]), found["classes"], found["categories"]))
    return panels


def merge_panels(parts: list[Part]) -> list[draw.Panel]:
    """Novel classes by new categories, of the first seed: a column with two dark places is a merger, a row a split."""
    panels = []
    for part in parts:
        found = part.runs[0]["confusion"]
        known, shares = found["known"], by_row(found["counts"])
        joined = [[sum(row[:known]), *row[known:]] for row in shares[known:]]
        columns = ["any known class", *found["categories"][known:]]
        panels.append(draw.heat(part.name, joined, found["classes"][known:], columns))
    return panels


def recall_panels(parts: list[Part]) -> list[draw.Panel]:
    """How much of each novel class is found, by assumption: the mean over seeds."""
    classes = parts[0].runs[0]["confusion"]
    names = classes["classes"][classes["known"] :]
    shares = [[float(value) for value in np.mean([recall(run["confusion"]) for run in part.runs], 0)] for part in parts]
    return [draw.heat("share of each novel class that is found", shares, [part.name for part in parts], names)]


def map_panels(parts: list[Part]) -> list[draw.Panel]:
    """t-SNE of test items, of the first seed."""
    return [
        draw.points(part.name, part.runs[0]["map"], found["classes"], found["known"])
        for part in parts
        if "map" in part.runs[0]
        for found in [part.runs[0]["confusion"]]
    ]


def kl_panels(parts: list[Part]) -> list[draw.Panel]:
    """L_kl by epoch, without its weight in the loss."""
    courses = {}
    for part in parts:
        seeds = [[value / run["kl_weight"] for value in run["losses"].get("kl", ())] for run in part.runs]
        if any(seeds):
            courses[part.name] = [seed for seed in seeds if seed]
    return [draw.curves("L_kl", courses, "epoch")] if courses else []


def by_row(counts: list[list[int]]) -> list[list[float]]:
    """Shares of each true class."""
    return [[count / max(sum(row), 1) for count in row] for row in counts]


def recall(found: dict[str, Any]) -> list[float]:
    """The share of each novel class that lies in the category that is matched with it."""
    known, shares = found["known"], by_row(found["counts"])
    return [row[number] if number < len(row) else 0.0 for number, row in enumerate(shares) if number >= known]


KINDS: dict[str, tuple[str, Callable[[list[Part]], list[draw.Panel]]]] = {
    "confusion": (
        "true classes (rows) by categories (columns), percent of a row; test items, seed 0",
        confusion_panels,
    ),
    "merge": ("novel classes (rows) by categories (columns), percent of a row; test items, seed 0", merge_panels),
    "recall": (
        "percent of each novel class in the category matched with it; test items, mean over seeds",
        recall_panels,
    ),
    "map": ("t-SNE of test items, seed 0; rings are known classes, dots novel ones", map_panels),
    "kl": ("divergence of the mean prediction from the prior; a thin line per seed, a thick one their mean", kl_panels),
}


def figure_name(exhibit: Exhibit, data: str, kind: str) -> str:
    return f"{exhibit.name}-{slug(data)}-{kind}.svg"


def figures(scale: str, results: Path) -> dict[str, str]:
    """Every picture that can be drawn from what is there, by file name."""
    drawn = {}
    for exhibit in EXHIBITS.values():
        for data in exhibit.data:
            parts = parts_of(exhibit, data, scale, results)
            for kind in exhibit.pictures if parts else ():
                about, panels = KINDS[kind]
                if found := panels(parts):
                    real = parts[0].settings["data"]
                    named = exhibit.title if real in exhibit.title else f"{exhibit.title} ({real})"
                    drawn[figure_name(exhibit, data, kind)] = draw.picture(named, about, found)
    return drawn
