"""Finished run folders for tests, with whatever a person may have named things."""

import csv
import json

import numpy as np

from novakind.discovery import Discovery
from novakind.report import Signals

HOSTILE = '</script><img src=x onerror="boom()"> & ’quoted’ 🦊'


def write_run(run, paths=None, labels=None, truth=None, names=None, splits=None, known=2, items=60, seed=0, **results):
    """A finished run folder with blobs as embeddings; category K - 1 gets no item when K is more than the blobs."""
    run.mkdir(parents=True, exist_ok=True)
    names = names or ["cat", "dog", "new-1", "new-2"]
    rng = np.random.default_rng(seed)
    blobs = max(1, len(names) - 1)
    truths = rng.integers(0, blobs, items)
    centres = 4 * np.eye(max(blobs, 3), 6)
    embedding = (centres[truths] + rng.normal(size=(items, 6))).astype(np.float32)
    logits = np.full((items, len(names)), -9.0)
    logits[:, :blobs] = embedding[:, :blobs] + rng.normal(size=(items, blobs))
    logp = (logits - np.logaddexp.reduce(logits, 1, keepdims=True)).astype(np.float32)
    category = logp.argmax(1)
    paths = paths or [f"unlabeled/{i:03d}.png" for i in range(items)]
    labels = labels or [names[t] if t < known and i % 2 else "" for i, t in enumerate(truths)]
    true_names = ["" if truth is None else truth[t] for t in truths]
    with (run / "predictions.csv").open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "split", "label", "truth", "id", "category", "probability"])
        for i in range(items):
            chosen = int(category[i])
            split = splits[i] if splits else "train"
            sure = float(np.exp(logp[i, chosen]))
            writer.writerow([paths[i], split, labels[i], true_names[i], chosen, names[chosen], sure])
    np.savez(run / "embeddings.npz", embedding=embedding, logp=logp)
    defaults = {"metrics": {}, "minutes": 0.4, "warnings": [], "data": "toys", "items": items, "skipped": 2}
    facts = {"classes": names, "known": known, "truth_classes": truth, "version": "0.1.0"}
    (run / "results.json").write_text(json.dumps({**defaults, **facts, **results}), encoding="utf-8")
    return run


def write_files(root, paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"content of {path}")


def waves(run, channels=("x", "y", "z"), time=128, rate=50.0, unit="m/s²", seed=0):
    """Signals for the items of a run, of another kind in each category: swinging, noisy, a step, weak, a pulse."""
    category = Discovery.load(run).category
    clock = np.linspace(0, 1, time)

    def row(item):
        rng = np.random.default_rng((seed, item))
        phase = np.arange(len(channels))[:, None] * 0.9
        level = np.linspace(-1, 1, len(channels))[:, None]
        kinds = (
            3 * np.sin(2 * np.pi * (4 * clock + rng.uniform(0, 0.15)) + phase),
            1.2 * rng.normal(size=(len(channels), time)),
            level + 2.5 * (clock > 0.5 + 0.08 * rng.normal()) * np.cos(phase),
            0.02 * np.sin(2 * np.pi * 2 * clock + phase) + 0.004 * rng.normal(size=(len(channels), time)),
            4 * np.exp(-(((clock - 0.4) / 0.08) ** 2)) * np.cos(3 * phase) + level,
        )
        kind = int(category[item]) % len(kinds)
        return kinds[kind] + (0 if kind == 3 else 0.15) * rng.normal(size=(len(channels), time))

    return Signals(tuple(channels), rate, unit, row)
