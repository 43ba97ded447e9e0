"""Sentences that follow from the numbers: the order of rows, ours and the paper's; which classes merge or split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from statistics import mean
from typing import Any, NamedTuple

from experiments.exhibits import Row
from experiments.figures import by_row
from experiments.paper import Reported

NOVEL = "novel_acc/test/agnostic"
MUCH = 0.3  # of a class: so much of it in one category is worth telling


class Line(NamedTuple):
    """A row of a table: what the paper has, and our runs."""

    row: Row
    reported: Reported
    runs: list[dict[str, Any]]


def order(lines: Iterable[Line]) -> list[str]:
    """How many pairs of rows stand in the paper's order, by groups of rows, where all of a group were run."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        if line.reported.novel is not None:
            groups.setdefault(line.row.group, []).append(line)
    said = []
    for name, group in groups.items():
        if len(group) < 2 or not all(line.runs for line in group):
            continue
        ours = {line.row.name: round(mean(100 * run["metrics"][NOVEL] for run in line.runs), 1) for line in group}
        paper = {line.row.name: line.reported.novel or 0.0 for line in group}
        pairs = list(combinations(ours, 2))
        alike = sum((ours[a] - ours[b]) * (paper[a] - paper[b]) > 0 for a, b in pairs)
        said.append(
            f"From worst to best, {name}: {ranked(ours)}. The paper: {ranked(paper)}. "
            f"{alike} of {len(pairs)} pairs stand in the same order."
        )
    return said


def ranked(scores: dict[str, float]) -> str:
    """Names from the lowest score to the highest, equal ones as such."""
    levels: dict[float, list[str]] = {}
    for name, score in sorted(scores.items(), key=lambda pair: pair[1]):
        levels.setdefault(score, []).append(name)
    return " < ".join(" = ".join(names) for names in levels.values())


def mergers(lines: Iterable[Line]) -> list[str]:
    """What each new category holds of the novel classes, of the first seed."""
    said = []
    for line in lines:
        if line.runs:
            found = line.runs[0]["confusion"]
            known, shares = found["known"], by_row(found["counts"])
            novel = dict(zip(found["classes"][known:], shares[known:], strict=True))
            held = [
                [f"{name} {100 * row[number]:.0f} %" for name, row in novel.items() if row[number] >= MUCH]
                for number in range(known, len(found["categories"]))
            ]
            lost = [f"{name} {100 * sum(row[:known]):.0f} %" for name, row in novel.items() if sum(row[:known]) >= MUCH]
            scattered = [name for name, row in novel.items() if max(row, default=0.0) < MUCH]
            text = "; ".join(f"[{', '.join(each)}]" for each in held if each) or "no category holds much of any class"
            text += f"; taken for known classes: {', '.join(lost)}" if lost else ""
            text += f"; scattered: {', '.join(scattered)}" if scattered else ""
            text += ceiling([sum(row) for row in found["counts"][known:]], len(found["categories"]) - known)
            said.append(f"{line.row.name}, seed 0, shares of at least {100 * MUCH:.0f} % of a class: {text}.")
    return said


def ceiling(sizes: list[int], categories: int) -> str:
    """What a matching of one category with one class can reach at most, where there are too few of them."""
    if categories >= len(sizes):
        return ""
    best = sum(sorted(sizes)[-categories:]) / sum(sizes)
    return f"; ACC is {100 * best:.1f} at most"


REMARKS: dict[str, Callable[[Iterable[Line]], list[str]]] = {"order": order, "mergers": mergers}
