"""What is kept of a finished run, in plain values: enough for every table and picture without the run itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.manifold import TSNE

from novakind.data.collection import Collection
from novakind.data.split import Split
from novakind.objective.metrics import matched_confusion
from novakind.runs.discovery import Discovery
from novakind.runs.standing import unit

MAPPED = 60  # items of each class in a map


def protocol(collection: Collection, split: Split) -> dict[str, Any]:
    """How the parts were chosen, and how many items each has."""
    labeled = collection.labels[split.train] >= 0
    return {
        "split": split.by,
        "labeled": int(labeled.sum()),
        "unlabeled": int((~labeled).sum()),
        "watched": len(split.val),
        "tested": len(split.test),
    }


def courses(run: Path) -> dict[str, list[float]]:
    """Every term of the loss as it was minimised, weight included, by epoch."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    names = dict.fromkeys(name for line in lines for name in line if name.startswith("loss/"))
    return {name.removeprefix("loss/"): [round(line.get(name, 0.0), 5) for line in lines] for name in names}


def tested(found: Discovery) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the test items, and their true classes."""
    assert found.truth_classes is not None
    items = np.array([number for number, part in enumerate(found.splits) if part == "test"])
    return items, np.array([found.truth_classes.index(found.truth[number]) for number in items])


def confusion(found: Discovery) -> dict[str, Any]:
    """Test items by true class and category; the categories in the order that puts matches on the diagonal."""
    items, truth = tested(found)
    counts, order = matched_confusion(truth, found.category[items], found.known, len(found.names))
    return {
        "known": found.known,
        "classes": list(found.truth_classes or ()),
        "categories": [found.names[number] for number in order],
        "counts": counts.tolist(),
    }


def embedding_map(found: Discovery, sphere: bool) -> dict[str, Any]:
    """t-SNE of some test items of every class, scaled to the unit square; on the sphere by direction alone."""
    items, truth = tested(found)
    chosen = []
    for number in np.unique(truth):
        members = np.flatnonzero(truth == number)
        chosen += members[np.linspace(0, len(members) - 1, min(MAPPED, len(members))).astype(int)].tolist()
    vectors = found.embedding[items[chosen]]
    perplexity = min(30.0, (len(chosen) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", learning_rate="auto", random_state=0)
    places = tsne.fit_transform(unit(vectors) if sphere else vectors)
    low, high = places.min(0), places.max(0)
    scaled = (places - low) / np.maximum(high - low, 1e-9)
    return {
        "x": [round(float(value), 3) for value in scaled[:, 0]],
        "y": [round(float(value), 3) for value in scaled[:, 1]],
        "truth": truth[chosen].tolist(),
    }
