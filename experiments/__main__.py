"""python -m experiments table7 --scale cpu --seeds 3: run what is not finished of a table, and write the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from experiments.cells import Cell
from experiments.exhibits import Exhibit
from experiments.matrix import Matrix
from experiments.scales import DATA, SCALES
from experiments.tables import ALIASES, EXHIBITS, cells_of, tables_of
from experiments.write import write
from novakind.errors import UserError
from novakind.progress import Reporter
from novakind.training.memory import keep_memory

HERE = Path(__file__).parent
REPORTS = {"cpu": HERE / "RESULTS.md", "paper": HERE / "RESULTS-paper.md"}


def places(scale: str, out: Path | None) -> tuple[Path, Path]:
    """The folder of the cells and figures, and the report; a check of the machinery leaves the repository alone."""
    if out is None and scale in REPORTS:
        return HERE / "results", REPORTS[scale]
    folder = out or Path("runs") / "smoke"
    return folder, folder / "RESULTS.md"


def parse(words: list[str] | None) -> argparse.Namespace:
    names = ", ".join((*EXHIBITS, *ALIASES))
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="The paper's tables and figures, on this machine, next to the paper's numbers.",
        epilog=f"Names: all, {names}. Data sets are looked for in NOVAKIND_DATA.",
    )
    scales = "; ".join(f"{name}: {scale.about}" for name, scale in SCALES.items())
    parser.add_argument("names", nargs="*", help="which tables, figures, settings and cases, or all", metavar="NAME")
    parser.add_argument("--scale", choices=SCALES, default="smoke", help=scales)
    parser.add_argument(
        "--data", nargs="+", choices=DATA, default=list(DATA), help="these data sets alone", metavar="D"
    )
    parser.add_argument("--seeds", type=int, default=0, help="runs of each cell; by default 1 for smoke, else 3")
    parser.add_argument("--out", type=Path, help="where the JSON files, the figures and the report go")
    parser.add_argument("--runs", type=Path, default=Path("runs") / "experiments", help="where the run folders go")
    parser.add_argument("--write", action="store_true", help="run nothing, only write the report from what is there")
    parser.add_argument("--list", action="store_true", help="run nothing, only tell how much is finished")
    parser.add_argument(
        "--keep-old", action="store_true", help="numbers that older code has measured count as finished"
    )
    return parser.parse_args(words)


def cells_on(data: list[str], exhibits: Iterable[Exhibit], scale: str) -> dict[Cell, int]:
    return {cell: most for cell, most in cells_of(exhibits, scale).items() if cell.data in data}


def show_list(matrix: Matrix, exhibits: Iterable[Exhibit], data: list[str], seeds: int) -> None:
    for exhibit in exhibits:
        cells = cells_on(data, [exhibit], matrix.scale)
        wanted = [(cell, seed) for cell, most in cells.items() for seed in range(min(seeds, most))]
        done = sum(matrix.finished(*each) for each in wanted)
        print(f"{exhibit.name:10} {done:4} of {len(wanted):4} runs   {exhibit.title}")


def main(words: list[str] | None = None) -> int:
    """0: all is there; 1: some runs failed; 2: a mistake in the command; 130: interrupted, to be gone on with."""
    keep_memory()
    options = parse(words)
    seeds = options.seeds or SCALES[options.scale].seeds
    results, report = places(options.scale, options.out)
    quiet = not sys.stderr.isatty()  # on a terminal the epochs are a bar that goes away
    try:
        wanted = tables_of(options.names)
        if seeds < 1:
            raise UserError(f"--seeds {seeds} is out of range, it must be at least 1: give --seeds 3")
        with Reporter() as said:
            matrix = Matrix(options.scale, results, options.runs, said, quiet, options.keep_old)
            if options.list:
                show_list(matrix, wanted or EXHIBITS.values(), options.data, seeds)
                return 0
            if not wanted and not options.write:
                raise UserError("no table is named: give a name such as table7, or all; --list shows them")
            try:
                cells = cells_on(options.data, wanted, options.scale)
                failures = 0 if options.write else matrix.run(cells, seeds)
            finally:
                write(options.scale, results, report)
            said.say(f"{report} is up to date" + (f"; {failures} runs failed" if failures else ""))
    except UserError as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; what is finished is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
