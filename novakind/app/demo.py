"""The demonstration: handwritten digits as a folder of pictures, 0-4 labeled, 5-9 not; found again by `discover`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

from novakind.config import Config, starting
from novakind.data.collection import Collection
from novakind.data.source import Source
from novakind.data.split import Split
from novakind.datasets.images import digit_pictures
from novakind.disk import csv_bytes, write_atomic, writing
from novakind.methods.clusters import kmeans
from novakind.modality.image import Image
from novakind.objective.metrics import clustering_acc
from novakind.results.report import draw_report
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery

KNOWN = 5


def write_digits(folder: Path) -> tuple[Path, Path]:
    """The folder of pictures, and a CSV file with the truth of all of them. What is there already stays."""
    pictures, digits = digit_pictures()
    root, truth = folder / "digits", folder / "digits-truth.csv"
    rows = []
    for number, (pixels, digit) in enumerate(zip(pictures, digits.tolist(), strict=True)):
        inside = Path(str(digit) if digit < KNOWN else "unlabeled") / f"{number:04}.png"
        rows.append((inside.as_posix(), digit))
        file = root / inside
        if not file.exists():
            with writing(file) as written:
                Pillow.fromarray(pixels).save(written, "PNG")
    write_atomic(truth, csv_bytes(["path", "label"], rows))
    return root, truth


def supervised(config: Config) -> Config:
    """The same network, trained on the known digits alone."""
    return replace(config, method="supervised", epochs=40)


def kmeans_on_pixels(collection: Collection, split: Split) -> float:
    """ACC of plain k-means on the test part's novel items: what the pictures give without learning."""
    known = len(collection.classes)
    rows = np.asarray(collection.items).reshape(len(collection), -1).astype(np.float64)
    train = split.train[collection.labels[split.train] < 0]
    test = split.test[collection.truth[split.test] >= known]
    found = kmeans(rows[train], len(collection.truth_classes) - known, seed=0)
    return clustering_acc(collection.truth[test] - known, found.predict(rows[test]).astype(np.int64))


def run_demo(folder: Path, seed: int) -> None:
    """Exactly `novakind discover` on the folder, then the same items by two baselines."""
    root, truth = write_digits(folder)
    source = Source(str(root), truth=str(truth), test=0.2)
    config = replace(starting(Image, "glyphs"), novel=10 - KNOWN, seed=seed)
    path = folder / "run"
    print(
        f"$ novakind discover {root} --novel 5 --preset glyphs --truth {truth} --test 0.2 --seed {seed} --out {path}",
        flush=True,
    )
    collection, split, results = complete(source, config, path, draw=draw_report)
    print(Discovery.load(path).table())
    _, _, naive_results = complete(source, supervised(config), folder / "supervised", quiet=True)
    print("\nOn the test items, a fifth of the pictures:")
    print(f"{'':48} known digits right    novel digits right")
    for title, known, novel in (
        ("k-means on the pixels, task-aware", None, kmeans_on_pixels(collection, split)),
        ("supervised features + k-means, task-aware", *pair(naive_results, "aware")),
        ("novakind, task-aware", *pair(results, "aware")),
        ("novakind, task-agnostic", *pair(results, "agnostic")),
    ):
        shown = "-" if known is None else f"{100 * known:.1f} %"
        print(f"{title:48} {shown:>18} {100 * novel:19.1f} %")
    print(f"\ntraining took {60 * results['minutes']:.0f} s; look at the page {path / 'report.html'} in a browser")


def pair(results: dict[str, Any], protocol: str) -> tuple[float, float]:
    return results["metrics"][f"known_acc/test/{protocol}"], results["metrics"][f"novel_acc/test/{protocol}"]
