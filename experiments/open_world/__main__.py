"""python -m experiments.open_world --seeds 5: count novel classes where nothing is known."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from experiments.open_world.cases import Case, Items, cases
from experiments.open_world.rivals import best_silhouette, labeled_acc
from experiments.pretrained.semi import semi_supervised
from experiments.records import laid_out, spread
from experiments.stamp import commit, machine
from novakind.compare.plan import read_json
from novakind.disk import write_atomic
from novakind.methods.start import squared_distances
from novakind.objective.metrics import one_matching, share_distance
from novakind.objective.number import estimate
from novakind.objective.prior import Prior

FILE = Path("experiments") / "results" / "open_world" / "vectors"
MOST = 30  # novel classes that the rivals look for


def run(case: Case, seed: int) -> dict[str, Any]:
    """One seed of a row: the truth, what each way finds, and how right k-means is with the numbers."""
    items = case.items(seed)
    free = items.labels < 0
    truth = items.truth[free]
    novel = np.bincount(truth[truth >= items.known] - items.known)
    novel = novel[novel > 0]
    share = float((truth < items.known).mean())
    begun = time.process_time()
    found = estimate(items.rows, items.labels, (1, max(1, int(free.sum()) // 10)), seed=seed)
    seconds = time.process_time() - begun
    rivals = {
        "k-means, labeled ACC (Vaze)": labeled_acc(items.rows, items.labels, MOST, seed),
        "k-means, silhouette": best_silhouette(items.rows, items.labels, MOST, seed, share > 0),
    }
    scored = {
        "true number and share": centres_score(items, len(novel), share, seed),
        "estimated number and share": centres_score(items, found.novel, found.known_share, seed),
    }
    return {
        "commit": commit(),
        "machine": machine(),
        "seconds": round(seconds, 1),
        "truth": {"novel": len(novel), "known_share": round(share, 4)},
        "found": {"novel": found.novel, "low": found.low, "high": found.high, "known_share": found.known_share},
        "share_distance": round(share_distance(found.shares, (novel / novel.sum()).tolist()), 4),
        "doubt": found.doubt,
        "rivals": rivals,
        "k-means": scored,
    }


def centres_score(items: Items, novel: int, share: float, seed: int) -> dict[str, float]:
    """All / Old / New of the unlabeled items by the nearest centre of semi-supervised k-means."""
    prior = Prior.uniform(items.known, novel, min(share, 0.99))
    centres = semi_supervised(items.rows, items.labels, prior, seed)
    free = items.labels < 0
    nearest = squared_distances(items.rows[free], centres).argmin(1)
    return {name: round(value, 5) for name, value in one_matching(items.truth[free], nearest, items.known).items()}


def markdown(rows: dict[str, Any], command: str) -> str:
    lines = [
        "# Open world: the number of novel classes and the share of known ones, from vectors",
        f"\n`{command}`\n",
        "Mean over n seeds, other known classes with each (MobiAct: other items). Found: the estimate of `novakind "
        "discover` without a number; exact, within 1, and the truth within the interval: shares of the seeds. Share: "
        "of known classes among the unlabeled items. Shares: total variation between estimated and true shares of the "
        "novel classes. Then the numbers that k-means finds by labeled ACC (Vaze et al.) and by silhouette, and All / "
        "Old / New of semi-supervised k-means with the true number and share and with the estimated ones.\n",
        "| | true | found | exact | within 1 | covered | share: true | found | shares | labeled ACC | silhouette "
        "| all / old / new, true | all / old / new, estimated | n | CPU s |",
        f"|---|{'---:|' * 14}",
    ]
    for name, by_seed in rows.items():
        runs = list(by_seed.values())
        errors = [run["found"]["novel"] - run["truth"]["novel"] for run in runs]
        covered = [run["found"]["low"] <= run["truth"]["novel"] <= run["found"]["high"] for run in runs]
        cells = [
            spread([run["truth"]["novel"] for run in runs][:1]),
            spread([run["found"]["novel"] for run in runs]),
            f"{mean(error == 0 for error in errors):.2f}",
            f"{mean(abs(error) <= 1 for error in errors):.2f}",
            f"{mean(covered):.2f}",
            f"{mean(run['truth']['known_share'] for run in runs):.2f}",
            f"{mean(run['found']['known_share'] for run in runs):.2f}",
            f"{mean(run['share_distance'] for run in runs):.2f}",
            *(spread([run["rivals"][rival] for run in runs]) for rival in runs[0]["rivals"]),
            *(three([run["k-means"][way] for run in runs]) for way in runs[0]["k-means"]),
            str(len(runs)),
            f"{mean(run['seconds'] for run in runs):.0f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    stamps = {
        part: sorted({run[part] for runs in rows.values() for run in runs.values()}) for part in ("commit", "machine")
    }
    lines.append(f"\nCommits: {', '.join(stamps['commit'])}. Machines: {'; '.join(stamps['machine'])}.")
    missing = [case.name for case in cases() if case.name not in rows]
    lines += [f"Missing (experiments/LOG.md says why): {'; '.join(missing)}."] if missing else []
    lines.append("Not run: CIFAR-10 and UCF101 from scratch, SimGCD's objective, UNO with learnt marginals.")
    return "\n".join(lines) + "\n"


def three(scores: list[dict[str, float]]) -> str:
    means = [np.mean([100 * one[name] for one in scores]) for name in ("all", "old", "new")]
    return " / ".join("-" if np.isnan(value) else f"{value:.1f}" for value in means)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.open_world", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="run the rows alone whose name has this in it")
    options = parser.parse_args(words)
    rows: dict[str, Any] = read_json(FILE.with_suffix(".json")).get("rows", {})
    command = f"python -m experiments.open_world --seeds {options.seeds}"
    for seed in range(options.seeds):
        for case in cases():
            if options.only not in case.name or str(seed) in rows.get(case.name, {}):
                continue
            answer = run(case, seed)
            rows.setdefault(case.name, {})[str(seed)] = answer
            order = {each.name: rows[each.name] for each in cases() if each.name in rows}
            text = laid_out({"command": command, "rows": order}, depth=4)
            write_atomic(FILE.with_suffix(".json"), f"{text}\n".encode())
            write_atomic(FILE.with_suffix(".md"), markdown(order, command).encode())
            print(
                case.name, seed, json.dumps({name: answer[name] for name in ("truth", "found", "rivals")}), flush=True
            )
    print(FILE.with_suffix(".md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
