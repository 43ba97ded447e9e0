"""What the review suggests on digits, when the number of new categories is wrong: 7 for five novel digits, and 4.

    python experiments/suggestions.py --seeds 0,1,2       # trains six runs of a minute; writes results/suggestions.json

With 7, two categories too many hold pieces of two digits each, since all are made equally large. A needed merge is that
of two categories with the same majority digit. With 4, the category is split that holds the largest second digit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from experiments.stamp import commit, machine
from novakind.app.demo import write_digits
from novakind.config import starting
from novakind.data.source import Source
from novakind.modality.image import Image
from novakind.results.review.desk import Desk
from novakind.results.review.splitting import split_preview
from novakind.runs.complete import complete
from novakind.training.memory import keep_memory

KNOWN = 5


def main() -> None:
    keep_memory()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--runs", type=Path, help="a folder that keeps the runs; what is finished there stays")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "suggestions.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = options.runs or Path(spare)
        root, truth = write_digits(folder)
        source = Source(str(root), truth=str(truth), test=0.2, kind="image")
        rows = []
        for seed in map(int, options.seeds.split(",")):
            row: dict[str, Any] = {"seed": seed}
            for novel, look in ((7, merges), (4, split)):
                path = folder / f"run-{novel}-{seed}"
                if not (path / "results.json").exists():
                    complete(source, replace(starting(Image, "glyphs"), novel=novel, seed=seed), path, quiet=True)
                row |= look(Desk(path))
            rows.append(row)
            print(json.dumps(row), flush=True)
    record = {
        "command": f"python experiments/suggestions.py --seeds {options.seeds}",
        "commit": commit(),
        "machine": machine(),
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "rows": rows,
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def digits(desk: Desk) -> np.ndarray:
    return np.array([int(one) for one in desk.found.truth])


def merges(desk: Desk) -> dict[str, Any]:
    """Which places of the list the needed merges have, from 1."""
    truth, free = digits(desk), np.array([not label for label in desk.found.labels])
    held = [np.bincount(truth[free & (desk.found.category == one)], minlength=10) for one in range(KNOWN + 7)]
    majority = [one if one < KNOWN else int(held[one].argmax()) for one in range(len(held))]
    listed = [one["categories"] for one in desk.merges(100)]
    places = [place for place, (a, b) in enumerate(listed, 1) if majority[a] == majority[b]]
    purity = [round(float(one.max() / one.sum()), 3) for one in held[KNOWN:]]
    return {"needed_merges_at": places, "majority": majority[KNOWN:], "purity": purity}


def split(desk: Desk) -> dict[str, Any]:
    """How many items of the two digits the parts of the most mixed category tell apart."""
    truth, state = digits(desk), desk.review.state
    held = {one: np.bincount(truth[state.members(one)], minlength=10) for one in range(KNOWN, KNOWN + 4)}
    mixed = max(held, key=lambda one: np.sort(held[one])[-2])
    one, other = np.argsort(-held[mixed])[:2]
    preview = split_preview(desk.review.embedding, state.members(mixed), 2, desk.showing)
    first, second = (truth[part["items"]] for part in preview["parts"])
    right = max((first == a).sum() + (second == b).sum() for a, b in ((one, other), (other, one)))
    both = int(held[mixed][one] + held[mixed][other])
    return {"two_digits": [int(one), int(other)], "items": both, "split_right": round(float(right / both), 4)}


if __name__ == "__main__":
    main()
