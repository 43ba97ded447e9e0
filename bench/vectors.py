"""A million vectors on disk: novakind discover for one epoch, its time per item, memory and accuracy.

    python bench/vectors.py                                # 1,000,000 x 384 in float16, a quarter of an hour
    python bench/vectors.py --items 200000 --small 20000

vectors: seconds per item with all items  /  the same with few of them (1 is linear), report and export included
memory:  gigabytes beside the page cache, of all processes together
k-means: MiniBatchKMeans of scikit-learn on the unlabeled items of the same file, in time, memory and accuracy
There are as many known as novel classes, and half of the items are unlabeled, all of novel classes. Accuracy is that of
the unlabeled items: each category stands for one class, matched as well as possible.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
from watched import Needed, needed, novakind

DIMS, CLASSES, LOUD = 384, 1000, 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=CLASSES)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        compare(Path(folder), asked.items, asked.small, asked.classes)


def compare(folder: Path, items: int, small: int, classes: int) -> None:
    few, many = (ours(folder / str(count), count, classes) for count in (small, items))
    (work, accuracy), (little, _) = many, few
    slower = (work.cores / items) / (little.cores / small)
    print(f"vectors:  {slower:.2f} of the time per item with {small:,}, {items:,} x {DIMS} in {work.seconds:.0f} s")
    memory = f"{work.memory:.2f} GB; {small:,}: {little.memory:.2f} GB"
    print(f"          {1e6 * work.cores / items:.0f} us per item, {memory}", flush=True)  # which took long
    other, reached = kmeans(folder / str(items), classes)
    print(f"k-means:  {other.cores / work.cores:.2f} of the time, {other.memory:.2f} GB, {other.seconds:.0f} s")
    print(f"          accuracy of ours {100 * accuracy:.1f}, of k-means {100 * reached:.1f}")


def ours(folder: Path, items: int, classes: int) -> tuple[Needed, float]:
    """What discover needs for one epoch, with its report and an export; its accuracy."""
    truth = make(folder, items, classes)
    run = folder / "run"
    novel = ("--novel", str(classes // 2))
    work = needed(*novakind("discover", str(folder / "X.npy"), *novel, "--epochs", "1", "--quiet", "--out", str(run)))
    out = needed(*novakind("export", str(run), "--out", str(folder / "sorted.csv")))
    with (run / "predictions.csv").open(newline="") as file:
        found = np.array([int(row["id"]) for row in csv.DictReader(file)])
    whole = Needed(work.seconds + out.seconds, work.cores + out.cores, max(work.memory, out.memory), work.later)
    return whole, accuracy(truth, found)


def kmeans(folder: Path, classes: int) -> tuple[Needed, float]:
    work = needed(sys.executable, __file__.replace("vectors.py", "minibatch.py"), str(folder), str(classes // 2))
    return work, accuracy(np.load(folder / "truth.npy"), np.load(folder / "kmeans.npy"))


def make(folder: Path, items: int, classes: int) -> np.ndarray:
    """Clouds around random centres, which vary most in some directions that say nothing about the class."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    centres, loud = rng.normal(size=(classes, DIMS)), rng.normal(size=(LOUD, DIMS))
    truth = rng.permutation(np.arange(items) % classes)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float16, (items, DIMS))
    for start in range(0, items, 20_000):
        some = truth[start : start + 20_000]
        noise = 2 * rng.standard_normal((len(some), DIMS), np.float32)
        X[start : start + len(some)] = centres[some] + noise + 0.3 * rng.standard_normal((len(some), LOUD)) @ loud
    X.flush()
    np.save(folder / "X.labels.npy", np.where(truth < classes // 2, truth, -1))
    np.save(folder / "truth.npy", truth)
    return truth


def accuracy(truth: np.ndarray, found: np.ndarray) -> float:
    """Share of the items of novel classes that are in the category which their class is matched with."""
    from scipy.optimize import linear_sum_assignment

    novel = truth >= (truth.max() + 1) // 2
    truth, found = truth[novel], found[novel]
    table = np.zeros((truth.max() + 1, found.max() + 1), np.int64)
    np.add.at(table, (truth, found), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(truth))


if __name__ == "__main__":
    main()
