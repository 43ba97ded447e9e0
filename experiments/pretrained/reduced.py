"""Data sets for the time of an experiment, asked for by name as any other: parts of others, and arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.collection import Collection, from_arrays
from novakind.data.files import Watch
from novakind.data.split import Indices, official_test, subset
from novakind.datasets import DATASETS, Named
from novakind.modality.features import Features


def offer_part(name: str, data: str, reduce: Callable[[Collection], Collection]) -> str:
    """Make what `reduce` leaves of a data set available under this name."""
    whole = DATASETS[data]

    def load(root: Path, reading: Any, watch: Watch) -> Collection:
        return replace(reduce(whole.load(root, reading, watch)), name=name)

    DATASETS[name] = whole._replace(load=load)
    return name


def offer_vectors(name: str, vectors: Callable[[], tuple[np.ndarray, np.ndarray, np.ndarray]]) -> str:
    """Make vectors, their classes and which of them are the test part available under this name."""

    def load(root: Path, reading: Any, watch: Watch) -> Collection:
        X, y, test = vectors()
        return replace(from_arrays(X, y, name, reading), official_test=test)

    DATASETS[name] = Named(Features, "default", load)
    return name


def per_class(collection: Collection, count: int, seed: int, tested: int = 0) -> Collection:
    """So many training items of each class, drawn by the seed; of the test part all, or as many of each class, which
    are the same for every seed. A count of 0 is that of the smallest class."""
    test, sizes = official_test(collection), np.bincount(collection.truth[~official_test(collection)])
    chosen = drawn(collection, ~test, count or int(sizes.min()), seed)
    held = drawn(collection, test, tested, 0) if tested else np.flatnonzero(test)
    return subset(collection, np.sort(np.concatenate([chosen, held])))


def drawn(collection: Collection, among: np.ndarray, count: int, seed: int) -> Indices:
    rng = np.random.default_rng([seed, 10])
    members = [np.flatnonzero((collection.truth == number) & among) for number in range(len(collection.truth_classes))]
    return np.concatenate([rng.permutation(group)[:count] for group in members])


def some_classes(collection: Collection, count: int, seed: int) -> Collection:
    """The items of so many classes, drawn by the seed, of a data set that is completely labeled."""
    kept = np.sort(np.random.default_rng([seed, 11]).permutation(len(collection.classes))[:count])
    left = subset(collection, np.flatnonzero(np.isin(collection.labels, kept)))
    labels = np.searchsorted(kept, left.labels)
    classes = tuple(collection.classes[number] for number in kept)
    return replace(left, labels=labels, truth=labels, classes=classes, truth_classes=classes)
