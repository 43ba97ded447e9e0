"""The scoreboard of a comparison: what each method reached with each seed, as CSV, Markdown, text and picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from novakind.compare.bars import Row, draw
from novakind.disk import csv_bytes, remove, write_atomic

UPPER_BOUND = "oracle"
COLUMNS = {
    "known accuracy": "known_acc/{}/agnostic",
    "known, task-aware": "known_acc/{}/aware",
    "novel ACC, task-aware": "novel_acc/{}/aware",
    "novel ACC, task-agnostic": "novel_acc/{}/agnostic",
    "novel ACC, joint": "novel_acc/{}/joint",
    "NMI": "novel_nmi/{}/agnostic",
    "ARI": "novel_ari/{}/agnostic",
}
KNOWN, NOVEL = COLUMNS["known accuracy"], COLUMNS["novel ACC, task-agnostic"]


class Cell(NamedTuple):
    """One run of the comparison."""

    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.method}, seed {self.seed}"


@dataclass
class Scoreboard:
    """The cells that are asked for, in the order in which they run, and what is known of them so far."""

    cells: list[Cell]
    data: str
    part: str
    """Which part is scored: "test" or "train"."""
    terms: str
    """What all methods had in common: the split, the budget, the encoder, the batch."""
    command: str
    finished: dict[Cell, dict[str, Any]] = field(default_factory=dict)
    """metrics, minutes and warnings."""
    failed: dict[Cell, str] = field(default_factory=dict)

    def methods(self) -> list[str]:
        """In the order in which they were asked for; the upper bound, which is no competitor, last."""
        return sorted(dict.fromkeys(cell.method for cell in self.cells), key=lambda name: name == UPPER_BOUND)

    def values(self, method: str, column: str) -> dict[int, float]:
        """One score of a method by seed, where it is a number."""
        key = column.format(self.part)
        found = {cell.seed: answer["metrics"].get(key, np.nan) for cell, answer in self.of(method)}
        return {seed: value for seed, value in found.items() if np.isfinite(value)}

    def of(self, method: str) -> list[tuple[Cell, dict[str, Any]]]:
        return [(cell, self.finished[cell]) for cell in self.cells if cell.method == method and cell in self.finished]

    def line(self, cell: Cell) -> str:
        """The result of a cell in one line."""
        answer = self.finished[cell]
        shown = [
            f"{name} {100 * answer['metrics'][column.format(self.part)]:.1f} %"
            for name, column in (("known", KNOWN), ("novel", NOVEL))
            if column.format(self.part) in answer["metrics"]
        ]
        return ", ".join([*shown, f"{answer['minutes']:.2f} min"])

    def write(self, folder: Path) -> None:
        """Each file is complete at any moment, so that it can be opened while the comparison runs."""
        write_atomic(folder / "compare.csv", self.csv())
        write_atomic(folder / "compare.md", self.markdown().encode(errors="replace"))
        title, rows = f"{self.data}: known and novel classes, {self.part} part", self.picture_rows()
        if rows:
            write_atomic(folder / "compare.svg", draw(title, self.terms, rows).encode(errors="replace"))
        else:  # one from an earlier comparison would show something else
            remove(folder / "compare.svg")

    def csv(self) -> bytes:
        """One line per cell, with every metric that any of them has."""
        metrics = list(dict.fromkeys(key for answer in self.finished.values() for key in answer["metrics"]))
        rows = []
        for method in self.methods():
            for cell in (cell for cell in self.cells if cell.method == method):
                if answer := self.finished.get(cell):
                    scores = [answer["metrics"].get(key, "") for key in metrics]
                    rows.append([*cell, *scores, answer["minutes"], "; ".join(answer["warnings"]), ""])
                elif cell in self.failed:
                    rows.append([*cell, *("" for _ in metrics), "", "", self.failed[cell]])
        return csv_bytes(["method", "seed", *metrics, "minutes", "warnings", "failed"], rows)

    def table(self, bold: str = "") -> list[list[str]]:
        """Header and rows; `bold` goes around the best scores. The upper bound never counts as best."""
        contenders = [method for method in self.methods() if method != UPPER_BOUND]
        best = {
            column: max((tenths(self.values(method, column)) for method in contenders), default=0.0)
            for column in COLUMNS.values()
        }
        lines = [["method", "n", *COLUMNS, "minutes"]]
        for method in self.methods():
            row = [self.name(method), str(len(self.of(method)))]
            for column in COLUMNS.values():
                values = self.values(method, column)
                mark = bold if values and method in contenders and tenths(values) == best[column] else ""
                row.append(f"{mark}{percent(values)}{mark}")
            lines.append([*row, spread([answer["minutes"] for _, answer in self.of(method)], 2)])
        return lines

    def name(self, method: str) -> str:
        """A method, and which of its seeds failed."""
        seeds = [str(cell.seed) for cell in self.failed if cell.method == method]
        return f"{method} (seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)} failed)" if seeds else method

    def markdown(self) -> str:
        header, *rows = self.table("**")
        lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        return f"{table}\n{self.caption()} `{self.command}`\n" + "".join(f"\n{note}\n" for note in self.notes())

    def text(self) -> str:
        """The same, aligned for a terminal."""
        lines = self.table()
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        table = [
            "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines
        ]
        return "\n".join([*table, "", self.caption(), *self.notes()])

    def caption(self) -> str:
        return (
            f"Data: {self.data}; {self.terms}. Scores in percent on the {self.part} part, mean ± standard deviation "
            "of n seeds; known accuracy, NMI and ARI are task-agnostic. Joint: known outputs may stand for novel "
            "classes in the matching, as AutoNovel and others count. A dash: no answer over all classes is defined."
        )

    def notes(self) -> list[str]:
        """What a reader of the table must also know."""
        notes = [f"Failed: {cell}: {text}" for cell, text in self.failed.items()]
        warned = [str(cell) for cell, answer in self.finished.items() if answer["warnings"]]
        if warned:
            notes.append(f"Warned, see compare.csv: {'; '.join(warned)}.")
        left = len(self.cells) - len(self.finished) - len(self.failed)
        return [*notes, *([f"{left} of {len(self.cells)} runs are still to do."] if left else [])]

    def picture_rows(self) -> list[Row]:
        """The best at discovery first, the upper bound last; methods without a score are left out."""
        rows = []
        for method in self.methods():
            known, novel = self.values(method, KNOWN), self.values(method, NOVEL)
            note = "upper bound" if method == UPPER_BOUND else ""
            rows.append(Row(method, known, novel, percent(known), percent(novel), note))
        return sorted((row for row in rows if row.novel), key=lambda row: (bool(row.note), -tenths(row.novel)))


def percent(values: dict[int, float]) -> str:
    return spread([100 * value for value in values.values()], 1)


def spread(values: Sequence[float], digits: int) -> str:
    """Mean and standard deviation; the mean alone of a single value."""
    if not values:
        return "-"
    mean = f"{np.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def tenths(values: dict[int, float]) -> float:
    """The mean in percent as it is shown, so that what looks equal is equal; below all others where there is none."""
    return round(100 * float(np.mean(list(values.values()))), 1) if values else -np.inf
