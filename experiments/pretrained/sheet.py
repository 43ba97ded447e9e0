"""Sheet: the finished rows of a table, as one JSON file with every single number and one Markdown file with means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from experiments.pretrained.cases import Asked
from experiments.records import laid_out, spread
from novakind.compare.plan import read_json
from novakind.disk import write_atomic

COLUMNS = {
    "known": "known_acc/test/agnostic",
    "novel": "novel_acc/test/agnostic",
    "novel, task-aware": "novel_acc/test/aware",
    "all": "all_acc/unlabeled",
    "old": "old_acc/unlabeled",
    "new": "new_acc/unlabeled",
}
READING = """Accuracy of known classes and ACC of novel ones on test items in percent, task-agnostic unless said \
otherwise; mean ± standard deviation over n seeds."""
MIXED = """ All, old and new: the unlabeled items that were trained on, under one matching of categories to classes."""
TIMES = """ Minutes: of the training, and in brackets the longest run with reading and encoding, which only the first \
run of the same items has."""


class Sheet:
    """A table's files."""

    def __init__(self, name: str, about: str, out: Path, command: str) -> None:
        self.name, self.about, self.out, self.command = name, about, out, command
        self.rows: dict[str, Any] = read_json(self.file).get("rows", {})

    @property
    def file(self) -> Path:
        return self.out / f"{self.name}.json"

    def finished(self, row: str, seed: int, asked: Asked) -> bool:
        """Whether this very question has its answer."""
        return self.rows.get(row, {}).get(str(seed), {}).get("asked") == asked.plain()

    def keep(self, row: str, seed: int, run: Mapping[str, Any]) -> None:
        """Add an answer, and write the files anew."""
        runs = self.rows.get(row, {}) | {str(seed): dict(run)}
        self.rows[row] = dict(sorted(runs.items(), key=lambda pair: int(pair[0])))
        seeds = sorted({int(number) for runs in self.rows.values() for number in runs})
        head = {"table": self.name, "protocol": self.about, "command": self.command, "seeds": seeds}
        write_atomic(self.file, f"{laid_out({**head, 'rows': self.rows}, depth=5)}\n".encode())

    def write(self, order: list[str], pictures: Callable[[Mapping[str, Any]], Mapping[str, str]]) -> str:
        """Write the Markdown file and the pictures; the rows in this order, others after them."""
        drawn = pictures(self.rows)
        for name, text in drawn.items():
            write_atomic(self.out / name, text.encode())
        text = self.markdown(order) + "".join(f"\n![{self.about}]({name})\n" for name in drawn)
        write_atomic(self.out / f"{self.name}.md", text.encode())
        return text

    def markdown(self, order: list[str]) -> str:
        rows = [row for row in order if row in self.rows] + [row for row in self.rows if row not in order]
        runs = [run for row in rows for run in self.rows[row].values()]
        columns = {
            title: metric
            for title, metric in COLUMNS.items()
            if any(metric in found for run in runs for found in run["metrics"].values())
        }
        reading = READING + (MIXED if "all" in columns else "") + TIMES
        stamps = [sorted({run[part] for run in runs}) for part in ("commit", "machine")]
        lines = [
            f"# {self.about}",
            f"\n`{self.command}`\n\n{reading}\n",
            f"| | | {' | '.join(columns)} | n | minutes |",
            f"|---|---|{'---:|' * (len(columns) + 2)}",
            *(line for row in rows for line in self.lines(row, list(columns.values()))),
            f"\nCommits: {', '.join(stamps[0])}. Machines: {'; '.join(stamps[1])}.",
        ]
        return "\n".join(lines) + "\n"

    def lines(self, row: str, metrics: list[str]) -> list[str]:
        """One line per method."""
        runs = list(self.rows[row].values())
        lines = []
        for method in dict.fromkeys(method for run in runs for method in run["metrics"]):
            having = [run["metrics"][method] for run in runs if method in run["metrics"]]
            cells = [spread([100 * found[metric] for found in having if metric in found]) for metric in metrics]
            times = ""
            if method == next(iter(runs[0]["metrics"])):
                longest = max(run["total_minutes"] for run in runs)
                times = f"{spread([run['minutes'] for run in runs])} ({longest:.1f})"
            lines.append(f"| {row} | {method} | {' | '.join(cells)} | {len(having)} | {times} |")
        return lines
