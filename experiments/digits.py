"""Digits, known 0-4, novel 5-9, on the held-out fifth: novakind, and two baselines, over several seeds.

    python experiments/digits.py --seeds 3      # about 2 minutes on two cores; writes experiments/results/digits.json

Every run is the one that `novakind demo --seed N` makes. The split is the same for all seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from novakind import __version__
from novakind.app.demo import kmeans_on_pixels, supervised, write_digits
from novakind.config import starting
from novakind.data.source import Source
from novakind.modality.image import Image
from novakind.results.report import draw_report
from novakind.runs.complete import complete
from novakind.training.memory import keep_memory

NAMES = [f"{kind}_acc/test/{protocol}" for kind in ("known", "novel") for protocol in ("agnostic", "aware")]


def spread(values: list[float]) -> dict[str, float | int]:
    return {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)), "n": len(values)}


def main() -> None:
    keep_memory()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "digits.json")
    options = parser.parse_args()
    rows: dict[str, list[dict[str, float]]] = {"novakind": [], "supervised features + k-means": []}
    with tempfile.TemporaryDirectory() as folder:
        root, truth = write_digits(Path(folder))
        source = Source(str(root), truth=str(truth), test=0.2)
        for seed in range(options.seeds):
            config = replace(starting(Image, "glyphs"), novel=5, seed=seed)
            for name, settings in zip(rows, (config, supervised(config)), strict=True):
                path = Path(folder) / f"{name} {seed}"
                collection, split, results = complete(source, settings, path, quiet=True, draw=draw_report)
                rows[name].append(results["metrics"] | {"minutes": results["minutes"]})
                shown = "  ".join(f"{key} {100 * results['metrics'][key]:.1f}" for key in NAMES)
                print(f"{name}, seed {seed}: {shown}  {results['minutes']} min", flush=True)
        pixels = kmeans_on_pixels(collection, split)
    keys = [*NAMES, "minutes"]
    table = {name: {key: spread([line[key] for line in lines]) for key in keys} for name, lines in rows.items()}
    table["k-means on the pixels"] = {"novel_acc/test/aware": {"mean": pixels, "std": 0.0, "n": 1}}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    record = {
        "command": f"python experiments/digits.py --seeds {options.seeds}",
        "commit": commit.stdout.strip(),
        "version": __version__,
        "protocol": "digits, known 0-4, novel 5-9; test = a fifth, drawn by labels (split seed 0), never trained on",
        "cores": os.cpu_count(),
        "table": table,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    for name, line in table.items():
        cells = [f"{key} {100 * line[key]['mean']:.1f} ± {100 * line[key]['std']:.1f}" for key in NAMES if key in line]
        print(f"{name:30} {'  '.join(cells)}")


if __name__ == "__main__":
    main()
