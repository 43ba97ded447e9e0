"""CIFAR-10, five classes known, five novel, on two cores: half an hour, an hour, five minutes, the paper's setting.

    NOVAKIND_DATA=... python -m experiments.cifar    # all; or some: fast hour five paper (novakind data cifar10 first)
    python -m experiments.cifar --write              # the tables again, from the runs that are there

Every run is one that `novakind compare` makes; a run that is finished is not made again. The test set is read by the
runs of the final settings alone. Writes experiments/results/cifar10.json, .md and the curves beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from experiments.paper import TABLES as REPORTED
from novakind import __version__
from novakind.app.discover import assemble
from novakind.compare import curves
from novakind.compare.board import percent, spread
from novakind.compare.plan import CELL, run_compare
from novakind.config import Config
from novakind.data.source import Source
from novakind.training.memory import keep_memory

RESULTS = Path(__file__).parent / "results"
SCORES = {
    "known accuracy": "known_acc/test/agnostic",
    "known, task-aware": "known_acc/test/aware",
    "novel ACC": "novel_acc/test/agnostic",
    "novel, task-aware": "novel_acc/test/aware",
}


class Table(NamedTuple):
    title: str
    asked: tuple[Source, Config]
    methods: str
    seeds: int
    command: str


def assembled(preset: str, **options: Any) -> tuple[Source, Config]:
    return assemble("cifar10", preset, {"known": "5", **options})


TABLES = {
    "fast": Table(
        "Within half an hour",
        assembled("fast"),
        "ours",
        3,
        "novakind compare cifar10 --known 5 --preset fast --methods ours --seeds 3",
    ),
    "hour": Table(
        "Within an hour",
        assembled("fast", epochs=30),
        "ours",
        1,
        "novakind compare cifar10 --known 5 --preset fast --epochs 30 --methods ours --seeds 1",
    ),
    "five": Table(
        "Five minutes each, the same encoder (fastnet) and views",
        assembled("fast", encoder="fastnet", epochs=0, minutes=5.0),
        "ours,uno-direct",
        3,
        "python -m experiments.cifar five",
    ),
    "paper": Table(
        "The paper's own setting (ResNet-18, the authors' stem, SGD, alternating steps), as far as half an hour goes",
        assembled("paper", epochs=0, minutes=30.0),
        "ours",
        1,
        "novakind compare cifar10 --known 5 --preset paper --epochs 0 --minutes 30 --methods ours --seeds 1",
    ),
}
PAPER = {
    "the paper, ResNet-50, prototypes (its Table 2)": REPORTED["table2"]["CIFAR-10"]["Ours (prototype)"],
    "the paper, ResNet-18 (its Table 6)": REPORTED["table6"]["CIFAR-10"]["ResNet18"],
}


def collect(table: Table, runs: Path) -> dict[str, Any]:
    """What the finished runs of a table reached: by method, every seed's metrics, minutes and course."""
    found: dict[str, Any] = {}
    for method in table.methods.split(","):
        for seed in range(table.seeds):
            run = runs / method / str(seed)
            if (run / CELL).exists():
                answer = json.loads((run / CELL).read_text())
                course = [tuple(round(value, 4) for value in point) for point in curves.read(run)]
                found.setdefault(method, []).append(
                    {"seed": seed, "metrics": answer["metrics"], "minutes": answer["minutes"], "course": course}
                )
    return found


def write(runs: Path) -> None:
    """The record, the page and the curves. Runs that were recorded before keep the commit that they were made at."""
    file = RESULTS / "cifar10.json"
    before = json.loads(file.read_text())["tables"] if file.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    tables = {}
    for name, table in TABLES.items():
        found = json.loads(json.dumps(collect(table, runs / name)))
        known = before.get(name, {})
        tables[name] = (
            known if not found or known.get("runs") == found else {"commit": commit.stdout.strip(), "runs": found}
        )
        if (runs / name / "curves.svg").exists():
            shutil.copyfile(runs / name / "curves.svg", RESULTS / f"cifar10-{name}.svg")
    record = {
        "version": __version__,
        "protocol": "official test set, task-agnostic unless said otherwise; settings were chosen on validation items",
        "cores": os.cpu_count(),
        "tables": tables,
    }
    RESULTS.mkdir(exist_ok=True)
    file.write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "cifar10.md").write_text(markdown(record))


def markdown(record: dict[str, Any]) -> str:
    lines = [
        "# CIFAR-10, five classes known, five novel",
        "",
        f"{record['protocol'].capitalize()}. In percent, mean ± standard deviation over n seeds; two CPU cores.",
        "`python -m experiments.cifar` makes all of it.",
    ]
    for name, made in record["tables"].items():
        table = TABLES[name]
        lines += ["", f"## {table.title}", ""]
        if not made:
            lines.append(f"Not run here: `{table.command}`")
            continue
        lines += [f"`{table.command}`, at {made['commit']}", ""]
        lines += [f"| | {' | '.join(SCORES)} | n | minutes |", "|---|---|---|---|---|---|---|"]
        for method, cells in made["runs"].items():
            scores = [percent({cell["seed"]: cell["metrics"][key] for cell in cells}) for key in SCORES.values()]
            minutes = spread([cell["minutes"] for cell in cells], 1)
            lines.append(f"| {method} | {' | '.join(scores)} | {len(cells)} | {minutes} |")
        lines += [f"| {what} | {said.known:.1f} | | {said.novel:.1f} | | | |" for what, said in PAPER.items()]
        lines += ["", f"![Accuracy over time](cifar10-{name}.svg)"]
    return "\n".join(lines) + "\n"


def main() -> None:
    keep_memory()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--runs", type=Path, default=Path("runs") / "cifar10")
    parser.add_argument("--write", action="store_true", help="only write the tables, from what is there")
    options = parser.parse_args()
    for name in () if options.write else options.tables or TABLES:
        table = TABLES[name]
        board = run_compare(*table.asked, table.methods, table.seeds, options.runs / name, table.command)
        print(board.text(), flush=True)
        write(options.runs)
    write(options.runs)


if __name__ == "__main__":
    main()
