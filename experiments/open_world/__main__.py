"""python -m experiments.open_world --seeds 3: the whole way where nothing is known; --table number: counts alone."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from experiments.open_world.cases import Case, Items, cases, counted
from experiments.open_world.rivals import best_silhouette, labeled_acc
from experiments.records import laid_out, spread
from experiments.stamp import commit, machine
from novakind import Discoverer
from novakind.compare.plan import read_json
from novakind.disk import write_atomic
from novakind.objective.metrics import one_matching, share_distance
from novakind.objective.number import estimate

FOLDER = Path("experiments") / "results" / "open_world"
MOST = 30  # novel classes that the rivals look for
WAYS = {
    "ours": "ours, nothing told",
    "k-means, found": "k-means, the number that ours found",
    "k-means, true": "k-means, true number",
    "wrong": "told the number, but not that known ones are mixed in, and that shares are even",
    "told": "all told",
}


def whole_way(case: Case, seed: int) -> dict[str, Any]:
    """One seed of a row: what is found, and All / Old / New of every way."""
    items = case.items(seed)
    free = items.labels < 0
    truth = items.truth[free]
    sizes = np.bincount(truth[truth >= items.known] - items.known)
    share = float((truth < items.known).mean())
    begun = time.process_time()
    ours, found = fitted(items, "auto", seed)
    seconds = time.process_time() - begun
    known_share = {"known_share": round(min(share, 0.95), 3)} if share else {}
    answers = {
        "ours": ours,
        "k-means, found": clusters(items, found.novel, seed),
        "k-means, true": clusters(items, len(sizes), seed),
        "wrong": fitted(items, len(sizes), seed, {"prior": "uniform"})[0],
        "told": fitted(items, len(sizes), seed, known_share)[0],
    }
    scores = {way: one_matching(truth, answer[free], items.known) for way, answer in answers.items()}
    return {
        **truth_and_found(sizes, share, found, seconds),
        "found share": round(float((ours[free] < items.known).mean()), 4),
        "scores": {way: {name: round(one, 5) for name, one in score.items()} for way, score in scores.items()},
    }


def number_alone(case: Case, seed: int) -> dict[str, Any]:
    items = case.items(seed)
    rows = items.rows / np.linalg.norm(items.rows, axis=1, keepdims=True)
    free = items.labels < 0
    sizes = np.bincount(items.truth[free] - items.known)
    begun = time.process_time()
    found = estimate(rows, items.labels, (1, int(free.sum()) // 10), seed=seed)
    seconds = time.process_time() - begun
    rivals = {
        "k-means, labeled ACC (Vaze)": labeled_acc(rows, items.labels, MOST, seed),
        "k-means, silhouette": best_silhouette(rows, items.labels, MOST, seed, False),
    }
    return {**truth_and_found(sizes, 0.0, found, seconds), "rivals": rivals}


def truth_and_found(sizes: np.ndarray, share: float, found: Any, seconds: float) -> dict[str, Any]:
    return {
        "commit": commit(),
        "machine": machine(),
        "seconds": round(seconds, 1),
        "truth": {"novel": len(sizes), "known_share": round(share, 4)},
        "found": {"novel": found.novel, "low": found.low, "high": found.high, "known_share": found.known_share},
        "share_distance": round(share_distance(found.shares, (sizes / sizes.sum()).tolist()), 4),
        "doubt": found.doubt,
    }


def fitted(items: Items, novel: int | str, seed: int, settings: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """The category of every item, and the estimate."""
    given = dict(settings or {})
    ways = {"prior": given.pop("prior")} if "prior" in given else {}
    model = Discoverer(novel, random_state=seed, settings=given or None, **ways).fit(items.rows, items.labels)
    places = {name: place for place, name in enumerate(model.classes_.tolist())}
    return np.array([places[name] for name in model.labels_.tolist()]), model.estimate_


def clusters(items: Items, novel: int, seed: int) -> np.ndarray:
    """k-means of all items, of length 1, with as many clusters as there are classes."""
    rows = items.rows / np.maximum(np.linalg.norm(items.rows, axis=1, keepdims=True), 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KMeans(items.known + novel, n_init=10, random_state=seed).fit_predict(rows).astype(np.int64)


def about_number(runs: list[dict[str, Any]]) -> list[str]:
    errors = [run["found"]["novel"] - run["truth"]["novel"] for run in runs]
    covered = [run["found"]["low"] <= run["truth"]["novel"] <= run["found"]["high"] for run in runs]
    return [
        str(runs[0]["truth"]["novel"]),
        " ".join(f"{run['found']['novel']} ({run['found']['low']}-{run['found']['high']})" for run in runs),
        f"{mean(error == 0 for error in errors):.2f}",
        f"{mean(abs(error) <= 1 for error in errors):.2f}",
        f"{mean(covered):.2f}",
    ]


def whole_table(rows: dict[str, Any]) -> list[str]:
    names = [*WAYS.values()]
    lines = [
        "All / Old / New: right under one matching over all unlabeled items, mean over the seeds, which choose other "
        "novel classes and items. Number: found, its interval; exact, within 1, covered: shares of the seeds. Known "
        "share among the unlabeled items: true, estimated, and as the model finally sorts them. Shares: total "
        "variation between estimated and true shares of the novel classes.\n",
        f"| | {' | '.join(names)} | number | found | exact | within 1 | covered | known share | shares | n | CPU s |",
        f"|---|{'---:|' * (len(names) + 9)}",
    ]
    for name, by_seed in rows.items():
        runs = list(by_seed.values())
        share = [mean(run["truth"]["known_share"] for run in runs), mean(run["found"]["known_share"] for run in runs)]
        share += [mean(run["found share"] for run in runs)]
        cells = [
            *(three([run["scores"][way] for run in runs]) for way in WAYS),
            *about_number(runs),
            ", ".join(f"{one:.2f}" for one in share),
            f"{mean(run['share_distance'] for run in runs):.2f}",
            str(len(runs)),
            f"{mean(run['seconds'] for run in runs):.0f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    every = [list(by_seed.values()) for by_seed in rows.values()]
    means = [np.mean([np.mean([100 * run["scores"][way]["all"] for run in runs]) for runs in every]) for way in WAYS]
    lines.append(f"| **mean of All** | {' | '.join(f'{value:.1f}' for value in means)} |{' |' * 9}")
    return lines


def number_table(rows: dict[str, Any]) -> list[str]:
    lines = [
        "Only novel classes are unlabeled; other ones with each seed. The rivals look at the same vectors: the number "
        "of k-means clusters with the best ACC of labeled items (Vaze et al., 2022), and with the best silhouette.\n",
        "| | number | found | exact | within 1 | covered | labeled ACC | silhouette | n | CPU s |",
        f"|---|{'---:|' * 9}",
    ]
    for name, by_seed in rows.items():
        runs = list(by_seed.values())
        rivals = [spread([run["rivals"][rival] for run in runs]) for rival in runs[0]["rivals"]]
        cells = [*about_number(runs), *rivals, str(len(runs)), f"{mean(run['seconds'] for run in runs):.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    runs = [run for by_seed in rows.values() for run in by_seed.values()]
    answers = {"ours": [run["found"]["novel"] for run in runs]}
    answers |= {rival: [run["rivals"][rival] for run in runs] for rival in runs[0]["rivals"]}
    for name, found in answers.items():
        errors = [one - run["truth"]["novel"] for one, run in zip(found, runs, strict=True)]
        exact, near = (mean(abs(error) <= most for error in errors) for most in (0, 1))
        lines.append(f"\n{name}: exact in {exact:.0%}, within 1 in {near:.0%} of {len(runs)}.")
    covered = mean(run["found"]["low"] <= run["truth"]["novel"] <= run["found"]["high"] for run in runs)
    lines.append(f"\nThe interval covers the truth in {covered:.0%}.")
    lines += ["\n| data | exact | within 1 | covered | off on average |", f"|---|{'---:|' * 4}"]
    for pool in dict.fromkeys(name.split(", ")[0] for name in rows):
        runs = [run for name, by_seed in rows.items() if name.startswith(f"{pool},") for run in by_seed.values()]
        off = mean(run["found"]["novel"] - run["truth"]["novel"] for run in runs)
        lines.append(f"| {pool} | {' | '.join(about_number(runs)[2:])} | {off:+.1f} |")
    return lines


TABLES = {
    "whole": ("everything unknown", cases, whole_way, whole_table),
    "number": ("the number of novel classes", counted, number_alone, number_table),
}


def three(scores: list[dict[str, float]]) -> str:
    means = [np.mean([100 * one[name] for one in scores]) for name in ("all", "old", "new")]
    return " / ".join("-" if np.isnan(value) else f"{value:.1f}" for value in means)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments.open_world", description=__doc__)
    parser.add_argument("--table", choices=sorted(TABLES), default="whole")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="run the rows alone whose name has this in it")
    options = parser.parse_args(words)
    title, rows_of, run, table = TABLES[options.table]
    file = FOLDER / f"{options.table}.json"
    command = f"python -m experiments.open_world --table {options.table} --seeds {options.seeds}"
    for seed in range(options.seeds):
        for case in rows_of():
            if options.only not in case.title or str(seed) in read_json(file).get("rows", {}).get(case.title, {}):
                continue
            answer = run(case, seed)
            rows = read_json(file).get("rows", {})  # another process may have added some
            rows.setdefault(case.title, {})[str(seed)] = answer
            order = {each.title: rows[each.title] for each in rows_of() if each.title in rows}
            write_atomic(file, f"{laid_out({'command': command, 'rows': order}, depth=4)}\n".encode())
            print(case.title, seed, json.dumps(answer), flush=True)
    rows = read_json(file)["rows"]
    write_atomic(file.with_suffix(".md"), page(title, command, rows, table(rows)).encode())
    print(file.with_suffix(".md").read_text(encoding="utf-8"))
    return 0


def page(title: str, command: str, rows: dict[str, Any], lines: list[str]) -> str:
    runs = [run for by_seed in rows.values() for run in by_seed.values()]
    stamps = {part: ", ".join(sorted({run[part] for run in runs})) for part in ("commit", "machine")}
    head = [f"# Open world: {title}", f"\n`{command}`\n"]
    return "\n".join([*head, *lines, f"\nCommits: {stamps['commit']}. Machine: {stamps['machine']}."]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
