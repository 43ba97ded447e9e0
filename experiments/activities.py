"""New activities in sensor recordings: MobiAct and USC-HAD, by person, recording or window; what augmentation carries.

    NOVAKIND_DATA=... python experiments/activities.py    # all tables; or name some: mobiact usc-had splits ...
    python experiments/activities.py --write      # the tables again, from the runs that are there

Every run is one that `novakind compare` makes, with the settings below; a run that is finished is not made again.
Writes experiments/results/activities.json and activities.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from novakind import __version__
from novakind.compare.plan import run_compare
from novakind.config import Config, starting
from novakind.data.source import Source
from novakind.modality.series import Series
from novakind.objective.metrics import matched_confusion
from novakind.runs.discovery import Discovery
from novakind.training.memory import keep_memory

EPOCHS = 20
SCORES = ("known_acc/test/agnostic", "novel_acc/test/aware", "novel_acc/test/agnostic")
STEPS = "standing,jogging,jumping,stepping into a car,stepping out of a car"  # novel: walking, stairs, sitting down
RESULTS = Path(__file__).parent / "results"
MEANT = ("mobiact", "usc-had")  # tables whose rows are the same question about other classes


class Row(NamedTuple):
    """One comparison: data, what is changed of the sensors preset, and which methods with how many seeds."""

    name: str
    source: Source
    methods: dict[str, int]
    changes: dict[str, Any] = {}  # noqa: RUF012 of the augmentation
    encoder: str = "auto"


def partitions(
    data: str, known: dict[str, str], methods: dict[str, int], changes: dict[str, Any] | None = None
) -> list[Row]:
    """The same data with other novel classes; "random:5 seed 1" draws them, and the test people, with split seed 1."""
    rows = []
    for name, chosen in known.items():
        classes, _, seed = chosen.partition(" seed ")
        rows.append(
            Row(name, Source(data, known=classes, split_seed=int(seed or 0), balance=True), methods, changes or {})
        )
    return rows


METHODS = {"ours": 3, "uno": 3, "supervised": 3, "oracle": 1}
HARD = Source("mobiact", known=STEPS, balance=True)
LEFT_OUT = {"rotate": 0.0, "time_warp": 0.0, "slice": 1.0, "scale": 0.0, "magnitude_warp": 0.0, "jitter": 0.0}
TABLES: dict[str, list[Row]] = {
    "mobiact": partitions(
        "mobiact",
        {
            "5/4, first five known": "5",
            "5/4, walking, stairs and sitting down novel": STEPS,
            "5/4, drawn": "random:5 seed 1",
            "6/3, first six known": "6",
            "6/3, walking and stairs novel": f"{STEPS},sitting down",
            "6/3, drawn": "random:6 seed 1",
        },
        METHODS,
    ),
    "splits": [
        Row(f"split by {by}", replace(HARD, split="" if by == "subject" else by), {"ours": 3, "oracle": 1})
        for by in ("subject", "trial", "random")
    ],
    "augmentation": [
        Row("strong", HARD, {"ours": 3}),
        Row("weak", HARD, {"ours": 3}, {"strength": "weak"}),
        Row("none", HARD, {"ours": 3}, {"strength": "none"}),
        *(
            Row(f"strong without {name.replace('_', ' ')}", HARD, {"ours": 3}, {name: off})
            for name, off in LEFT_OUT.items()
        ),
        Row("strong, and permute", HARD, {"ours": 3}, {"permute": 0.5}),
    ],
    "encoders": [
        Row(name, HARD, {"ours": n}, {}, name) for name, n in (("auto", 3), ("sensorcnn", 1), ("resnet1d", 1))
    ],
    "usc-had": partitions(
        "usc-had",
        {"7/5, first seven known": "7", "7/5, drawn": "random:7 seed 1", "7/5, drawn again": "random:7 seed 2"},
        METHODS,
        {"rotate": 15.0},  # worn at the hip, always the same way up: sitting and lying differ by the angle alone
    ),
}


def settings(row: Row) -> Config:
    config = replace(starting(Series), epochs=EPOCHS, encoder=row.encoder)
    return replace(config, views=replace(config.views, **row.changes))


def folder(runs: Path, row: Row) -> Path:
    """One folder per question, so that tables share what they have in common."""
    s = row.source
    encoder = [] if row.encoder == "auto" else [row.encoder]
    parts = [
        s.data,
        s.known,
        f"{s.split_seed}",
        s.split or "subject",
        *(f"{k}={v}" for k, v in row.changes.items()),
        *encoder,
    ]
    return runs / " ".join(part.replace("/", "-") for part in parts)


def run(row: Row, runs: Path) -> None:
    seeds = sorted(set(row.methods.values()))
    for count in seeds:  # those with fewer seeds first, so that the last table written holds the others
        methods = ",".join(name for name, wanted in row.methods.items() if wanted == count)
        options = [f"--known '{row.source.known}'", f"--split-seed {row.source.split_seed}", f"--epochs {EPOCHS}"]
        options += [f"--split {row.source.split}"] if row.source.split else []
        options += [f"--views.{name.replace('_', '-')} {value}" for name, value in row.changes.items()]
        options += [f"--encoder {row.encoder}"] if row.encoder != "auto" else []
        command = f"novakind compare {row.source.data} {' '.join(options)} --methods {methods} --seeds {count}"
        print(command, flush=True)
        board = run_compare(row.source, settings(row), methods, count, folder(runs, row), command)
        print(board.text(), flush=True)


def collect(row: Row, runs: Path) -> dict[str, Any]:
    """Scores of the finished runs of a row, by method: mean, spread and number; and who is taken for whom."""
    found: dict[str, Any] = {}
    for method, seeds in row.methods.items():
        cells = [folder(runs, row) / method / str(seed) / "cell.json" for seed in range(seeds)]
        cells = [cell for cell in cells if cell.exists()]
        answers = [json.loads(cell.read_text()) for cell in cells]
        if answers:
            found[method] = {key: spread([answer["metrics"][key] for answer in answers]) for key in SCORES}
            found[method]["minutes"] = spread([answer["minutes"] for answer in answers])
            found[method]["confusion"] = confusion(cells[0].parent)
    return found


def spread(values: list[float]) -> dict[str, Any]:
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": std, "n": len(values), "values": values}


def confusion(run: Path) -> dict[str, Any]:
    """Test items by true class (rows) and category, matched, for seed 0."""
    found = Discovery.load(run)
    chosen = [number for number, split in enumerate(found.splits) if split == "test"]
    assert found.truth_classes is not None
    truth = np.array([found.truth_classes.index(found.truth[number]) for number in chosen])
    table, _ = matched_confusion(truth, found.category[chosen], found.known, len(found.names))
    return {"classes": list(found.truth_classes), "counts": table.tolist()}


def write(runs: Path) -> None:
    tables = {name: {row.name: collect(row, runs) for row in rows} for name, rows in TABLES.items()}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {
        "command": f"python experiments/activities.py {' '.join(TABLES)}",
        "commit": commit.stdout.strip(),
        "version": __version__,
        "protocol": f"preset sensors, {EPOCHS} epochs, batch 256; test = a fifth of the people unless said otherwise",
        "cores": os.cpu_count(),
        "tables": tables,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "activities.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / "activities.md").write_text(markdown(record))


def markdown(record: dict[str, Any]) -> str:
    lines = ["# New activities in sensor recordings", "", f"`{record['command']}`: {record['protocol']}. In percent."]
    for name, rows in record["tables"].items():
        lines += [
            "",
            f"## {name}",
            "",
            "| setting | method | known accuracy | novel ACC, task-aware | task-agnostic | n | minutes |",
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for setting, methods in rows.items():
            for method, scores in methods.items():
                cells = [percent(scores[key]) for key in SCORES]
                minutes = f"{scores['minutes']['mean']:.1f}"
                lines.append(f"| {setting} | {method} | {' | '.join(cells)} | {scores[SCORES[0]]['n']} | {minutes} |")
        means = average(rows)
        lines += [f"| all | {method} | {' | '.join(cells)} | | |" for method, cells in means.items() if name in MEANT]
        for setting, methods in rows.items():
            if "ours" in methods and name in ("mobiact", "splits", "usc-had"):
                lines += [
                    "",
                    f"Who is taken for whom, {setting}, ours, seed 0:",
                    "",
                    *matrix(methods["ours"]["confusion"]),
                ]
    return "\n".join(lines) + "\n"


def percent(score: dict[str, Any]) -> str:
    return f"{100 * score['mean']:.1f}" + (f" ± {100 * score['std']:.1f}" if score["std"] is not None else "")


def average(rows: dict[str, Any]) -> dict[str, list[str]]:
    """The mean over the settings, by method."""
    methods = dict.fromkeys(method for row in rows.values() for method in row)
    return {
        method: [
            f"{100 * np.mean([row[method][key]['mean'] for row in rows.values() if method in row]):.1f}"
            for key in SCORES
        ]
        for method in methods
    }


def matrix(confusion: dict[str, Any]) -> list[str]:
    names, counts = confusion["classes"], confusion["counts"]
    width = len(counts[0])
    head = [*names, *(f"more {number}" for number in range(width - len(names)))]
    lines = [f"| | {' | '.join(head)} |", "|---" * (width + 1) + "|"]
    return [*lines, *(f"| {name} | {' | '.join(map(str, row))} |" for name, row in zip(names, counts, strict=False))]


def main() -> None:
    keep_memory()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--runs", type=Path, default=Path("runs") / "activities")
    parser.add_argument("--write", action="store_true", help="only write the tables, from what is there")
    options = parser.parse_args()
    for name in () if options.write else options.tables or TABLES:
        for row in TABLES[name]:
            run(row, options.runs)
            write(options.runs)
    write(options.runs)


if __name__ == "__main__":
    main()
