"""CIFAR-10, five classes known and five novel: how long until the novel ones are found, ours against UNO's objective.

    NOVAKIND_DATA=... python bench/cifar.py --minutes 5 --seeds 3      # half an hour; `novakind data cifar10` first

Both train the same encoder on the same views for the same time, as `novakind compare --preset fast` does: ours;
uno-direct, UNO's objective from the first epoch on; and, if asked for, uno, which begins with a supervised stage.
Prints the table (test part) and the minutes until a novel ACC is reached (validation items), and draws curves.svg. What
is finished is not run again.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from novakind.app.discover import assemble
from novakind.compare import curves
from novakind.compare.board import spread
from novakind.compare.plan import run_compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", default="ours,uno-direct")
    parser.add_argument("--encoder", default="fastnet", help="fastnet for minutes, fastnet-wide for half an hour")
    parser.add_argument("--targets", default="60,70,75,80,85,90", help="novel ACC in percent, task-agnostic")
    parser.add_argument("--out", type=Path, default=Path("runs") / "bench-cifar")
    options = parser.parse_args()
    command = f"python bench/cifar.py --minutes {options.minutes:g} --seeds {options.seeds} --methods {options.methods}"
    command += "" if options.encoder == "fastnet" else f" --encoder {options.encoder}"
    changed = {"known": "5", "encoder": options.encoder, "epochs": 0, "minutes": options.minutes}
    source, config = assemble("cifar10", "fast", changed)
    board = run_compare(source, config, options.methods, options.seeds, options.out, command)
    print(board.text())
    print("\nminutes until a novel ACC is reached (task-agnostic, validation items), and by how many of the seeds")
    for method in board.methods():
        runs = [curves.read(options.out / method / str(cell.seed)) for cell, _ in board.of(method)]
        for target in options.targets.split(","):
            times = [minutes for run in runs if math.isfinite(minutes := curves.reached(run, float(target) / 100))]
            print(f"{method:12} {target:>4} %: {spread(times, 1):>11}   {len(times)} of {len(runs)}")


if __name__ == "__main__":
    main()
