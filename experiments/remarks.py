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
        ours = {line.row.name: mean(run["metrics"][NOVEL] for run in line.runs) for line in group}
        paper = {line.row.name: line.reported.novel or 0.0 for line in group}
        pairs = list(combinations(ours, 2))
        alike = sum((ours[a] - ours[b]) * (paper[a] - paper[b]) > 0 for a, b in pairs)
        said.append(
            f"From worst to best, {name}: {' < '.join(sorted(ours, key=ours.__getitem__))}. "
            f"The paper: {' < '.join(sorted(paper, key=paper.__getitem__))}. "
            f"{alike} of {len(pairs)} pairs stand in the same order."
        )
    return said


def mergers(lines: Iterable[Line]) -> list[str]:
    """What each new category holds of the hidden classes, of the first seed."""
    said = []
    for line in lines:
        if line.runs:
            found = line.runs[0]["confusion"]
            known, shares = found["known"], by_row(found["counts"])
            hidden = dict(zip(found["classes"][known:], shares[known:], strict=True))
            held = [
                [f"{name} {100 * row[number]:.0f} %" for name, row in hidden.items() if row[number] >= MUCH]
                for number in range(known, len(found["categories"]))
            ]
            lost = [
                f"{name} {100 * sum(row[:known]):.0f} %" for name, row in hidden.items() if sum(row[:known]) >= MUCH
            ]
            scattered = [name for name, row in hidden.items() if max(row, default=0.0) < MUCH]
            text = "; ".join(f"[{', '.join(each)}]" for each in held if each) or "no category holds much of any class"
            text += f"; taken for known classes: {', '.join(lost)}" if lost else ""
            text += f"; scattered: {', '.join(scattered)}" if scattered else ""
            said.append(f"{line.row.name}, seed 0, shares of at least {100 * MUCH:.0f} % of a class: {text}.")
    return said


REMARKS: dict[str, Callable[[Iterable[Line]], list[str]]] = {"order": order, "mergers": mergers}
