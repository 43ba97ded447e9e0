"""Networks that learn from scratch where shares, or the share of known classes, are not known: one JSON file.

    NOVAKIND_DATA=... python -m experiments.from_scratch [--only digits] [--ways auto,uniform] [--seeds 5]

Rows are data with shares imposed on the novel classes, or with known ones among the unlabeled items; ways are what a
run is told: `uniform` (the paper's assumption), `given` (the true shares as a multiset), `ordered` (the true shares in
the order of the outputs, as in the paper), `auto` (nothing), `mixed given` and `mixed auto` (how many are known, or
nothing of it), and rivals that learn shares. Each finished run is written at once, and the same command goes on.
Scores are of the test items, task-agnostic, and of the unlabeled items trained on, under one matching.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from experiments.stamp import code_digest, commit, machine
from novakind.app.discover import assemble
from novakind.data.files import quiet
from novakind.datasets.gather import gather
from novakind.disk import write_atomic
from novakind.model import predict
from novakind.objective import metrics
from novakind.progress import Reporter
from novakind.training.loop import fit
from novakind.training.unknown import settle

FILE = Path(__file__).parent / "results" / "open_world" / "from_scratch.json"


class Row(NamedTuple):
    """Data and what is imposed on them."""

    data: str
    options: dict[str, Any]
    shares: str = ""
    preset: str = "auto"


DIGITS: dict[str, Any] = {"known": "5"}
MIXED = {  # share of the unlabeled items that are known: known classes, and the share of them that is labeled
    "none": ("5", 1.0),
    "a tenth": ("5", 0.889),
    "a third": ("5", 0.5),
    "half": ("6", 0.333),
}
ROWS = {
    "digits, 1/2 and four of 1/8": Row("digits", DIGITS, "1/2,1/8,1/8,1/8,1/8", "glyphs"),
    "digits, .4 .3 .15 .1 .05": Row("digits", DIGITS, ".4,.3,.15,.1,.05", "glyphs"),
    "digits, even": Row("digits", DIGITS, "", "glyphs"),
    "mobiact, as recorded": Row("mobiact", {"known": "5", "epochs": 20}),
    "mobiact, balanced": Row("mobiact", {"known": "5", "epochs": 20, "balance": True}),
} | {
    f"digits with known ones, {name} of the unlabeled": Row("digits", {"known": known, "labeled": part}, "", "glyphs")
    for name, (known, part) in MIXED.items()
}
WAYS: dict[str, dict[str, Any]] = {
    "uniform": {"prior": "uniform"},
    "auto": {"prior": "auto"},
    "given": {"prior": "true"},
    "ordered": {"prior": "true", "overclustering": 1},
    "uno, learnt shares": {"prior": "auto", "method": "uno-direct"},
    "simgcd": {"method": "simgcd"},
    "k-means": {"method": "kmeans"},
    "mixed given": {"prior": "uniform", "known_share": "true"},
    "mixed auto": {"prior": "uniform", "mixed": "auto"},
}


def run(row: Row, way: str, seed: int) -> dict[str, Any]:
    """One training, and what came out."""
    told = dict(row.options) | WAYS[way] | {"seed": seed, "split_seed": seed}
    share = told.pop("known_share", None)
    if row.shares:
        told["impose"] = row.shares
    given = told.get("prior") == "true"
    source, config = assemble(row.data, row.preset, told | ({"prior": "auto"} if given else {}))
    with tempfile.TemporaryDirectory() as store:
        collection, split = gather(source, Path(store), config.val, quiet)
    known = len(collection.classes)
    free = split.train[collection.labels[split.train] < 0]
    config = replace(config, novel=len(collection.truth_classes) - known, views=config.views or source.learnt.Views())
    rho = float((collection.truth[free] < known).mean())
    sizes = np.bincount(collection.truth[free])[known:]
    if given:
        config = replace(config, prior=row.shares or ",".join(f"{size}/{sizes.sum()}" for size in sizes))
    if share:
        config = replace(config, known_share=rho)
    began = time.process_time()
    config, _ = settle(collection, split, config, True, Reporter(quiet=True))
    model, warnings, history = fit(collection, split, config)
    seconds = time.process_time() - began
    logp, held = predict(model, collection.items[free])[1], predict(model, collection.items[split.test])[1]
    matched = metrics.one_matching(collection.truth[free], logp.argmax(1), known)
    found = np.bincount(logp.argmax(1), minlength=len(model.card.categories))[known:]
    return {
        "test": metrics.scores(collection.truth[split.test], held, known, "test"),
        "train": {name: value for name, value in matched.items() if not np.isnan(value)},
        "share_distance": metrics.share_distance(
            (found / max(1, found.sum())).tolist(), (sizes / sizes.sum()).tolist()
        ),
        "known_share": {"true": rho, "told": config.known_share},
        "cpu_seconds": round(seconds, 1),
        "epochs": len(history),
        "warnings": warnings,
    }


def table(runs: dict[str, dict[str, Any]]) -> str:
    """Means and deviations over seeds, a line for each row and way."""
    lines = [
        "# Shares unknown, where a network learns from scratch\n",
        "`python -m experiments.from_scratch`\n",
        "Accuracy of known classes and ACC of novel ones on test items in percent, task-agnostic; all unlabeled items",
        "that were trained on, under one matching; total variation between the sizes of categories and true shares.",
        "Mean ± standard deviation over n seeds, which choose the split too.\n",
        "| data | told | known | novel | all, trained on | shares | n | CPU s |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, way in dict.fromkeys(tuple(key.split("; ")[:2]) for key in runs):
        found = [run for key, run in runs.items() if key.startswith(f"{name}; {way}; ")]
        test = [[100 * run["test"][f"{what}_acc/test/agnostic"] for run in found] for what in ("known", "novel")]
        scores = [*test, [100 * run["train"]["all"] for run in found]]
        shown = " | ".join(f"{np.mean(one):.1f} ± {np.std(one, ddof=len(one) > 1):.1f}" for one in scores)
        far, seconds = (np.mean([run[what] for run in found]) for what in ("share_distance", "cpu_seconds"))
        lines.append(f"| {name} | {way} | {shown} | {far:.2f} | {len(found)} | {seconds:.0f} |")
    commits = ", ".join(sorted({run["commit"] for run in runs.values()}))
    return "\n".join([*lines, f"\nCommits: {commits}. {next(iter(runs.values()))['machine']}.\n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--ways", default="auto,uniform,given,k-means")
    parser.add_argument("--seeds", default="5", help="how many, from 0, or a list such as 3,4")
    parser.add_argument("--out", type=Path, default=FILE)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    seeds = [int(one) for one in asked.seeds.split(",")] if "," in asked.seeds else range(int(asked.seeds))
    for seed in seeds:
        for name, row in ROWS.items():
            for way in asked.ways.split(","):
                record = json.loads(asked.out.read_text()) if asked.out.exists() else {"runs": {}}
                key = f"{name}; {way}; seed {seed}"
                if asked.only not in name or key in record["runs"]:
                    continue
                result = run(row, way, seed)
                record = json.loads(asked.out.read_text()) if asked.out.exists() else {"runs": {}}
                record["runs"][key] = result | {"commit": commit(), "code": code_digest(), "machine": machine()}
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(asked.out, json.dumps(record, indent=1, sort_keys=True).encode())
                write_atomic(asked.out.with_suffix(".md"), table(record["runs"]).encode())
                novel = 100 * result["test"].get("novel_acc/test/agnostic", float("nan"))
                rest = {one: round(100 * value, 1) for one, value in result["train"].items()}
                print(f"{key}: test novel {novel:.1f}, train {rest}, {result['cpu_seconds']} s", flush=True)


if __name__ == "__main__":
    main()
