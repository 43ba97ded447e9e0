"""python -m experiments.pretrained pictures --seeds 3: run what is not finished of a table, and write it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.pretrained import few, photographs, pictures, text, vectors
from experiments.pretrained.cases import OURS, Case, Table, run
from experiments.pretrained.sheet import COLUMNS, Sheet
from experiments.records import slug
from novakind.compare.plan import reason
from novakind.training.memory import keep_memory

TABLES = {module.__name__.rpartition(".")[2]: module.TABLE for module in (pictures, few, photographs, text, vectors)}
RESULTS = Path("experiments") / "results" / "pretrained"


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.pretrained",
        description="What published encoders give. Data sets are looked for in NOVAKIND_DATA, vectors that were "
        "computed are kept in NOVAKIND_CACHE. To run a row again, remove it from the table's JSON file.",
    )
    tables = parser.add_subparsers(dest="table", required=True)
    for name, table in TABLES.items():
        own = tables.add_parser(name, help=table.about, description=table.about)
        own.add_argument("--seeds", type=int, default=3, help="runs of each row, unless it has fewer")
        own.add_argument("--only", default="", help="run the rows alone whose name has this in it")
        own.add_argument("--out", type=Path, default=RESULTS, help="where the table and its JSON file go")
        own.add_argument("--runs", type=Path, default=Path("runs") / "pretrained", help="where the run folders go")
        own.add_argument("--write", action="store_true", help="run nothing, only write the table")
        table.options(own)
    return parser.parse_args(words)


def answer(cases: Sequence[Case], sheet: Sheet, options: argparse.Namespace) -> int:
    """Run what is not finished, seed by seed, so that the table is complete early; how many runs failed."""
    failures = 0
    for seed in range(options.seeds):
        for case in cases:
            if seed >= case.seeds or options.only not in case.name:
                continue
            try:
                if sheet.finished(case.name, seed, case.ask(seed)):
                    continue
                print(f"{case.name}, seed {seed}", flush=True)
                folder = options.runs / options.table / slug(case.name) / str(seed)
                found = run(case, seed, folder, silent=not sys.stderr.isatty())
                sheet.keep(case.name, seed, found)
                shown = (f"{title} {100 * found['metrics'][OURS][metric]:.1f}" for title, metric in told(found))
                print(f"  {', '.join(shown)}; {found['total_minutes']} min", flush=True)
            except Exception as error:  # whatever befalls one row, the others are still worth running
                failures += 1
                print(f"  failed: {reason(error)}", flush=True)
    return failures


def command(words: Sequence[str]) -> str:
    """The command without what changes no number."""
    kept = [word for word in words if word != "--write"]
    for name in ("--only", "--out", "--runs"):
        while name in kept:
            del kept[kept.index(name) : kept.index(name) + 2]
    return " ".join(["python -m experiments.pretrained", *kept])


def told(found: dict) -> list[tuple[str, str]]:
    return [pair for pair in COLUMNS.items() if pair[1] in found["metrics"][OURS]]


def main(words: list[str] | None = None) -> int:
    """0: all is there; 1: some runs failed; 130: interrupted, to be gone on with."""
    keep_memory()
    options = parse(words)
    table: Table = TABLES[options.table]
    sheet = Sheet(options.table, table.about, options.out, command(sys.argv[1:] if words is None else words))
    cases, failures = list(table.cases(options)), 0
    try:
        failures = 0 if options.write else answer(cases, sheet, options)
    except KeyboardInterrupt:
        print("stopped; what is finished is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    finally:
        if sheet.rows:
            print(sheet.write([case.name for case in cases], table.pictures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
