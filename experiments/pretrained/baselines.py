"""Baselines that learn nothing: centres of vectors of length 1, and how right the nearest centre is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import KMeans

from experiments.pretrained.semi import semi_supervised
from novakind.data.collection import Collection
from novakind.data.split import Split
from novakind.methods.metric import unit
from novakind.methods.start import known_first
from novakind.objective import metrics
from novakind.objective.centres import squared_distances
from novakind.objective.prior import Prior

STARTS = (10, 1)  # of k-means; scikit-learn's own default is 1
AS_GIVEN = ", vectors as they are"

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]
Centres = Float[np.ndarray, "classes dim"]


def baselines(collection: Collection, split: Split, prior: Prior, seed: int) -> dict[str, dict[str, float]]:
    """The scores of each baseline on the vectors that ours is given: scaled as the known classes suggest, length 1.

    Where that scaling changes them, also on the vectors as they are, at length 1.
    """
    ours, given = collection.modality.collate(collection.items).numpy(), unit(collection.items)
    same = ours.shape == given.shape and np.allclose(ours, given, atol=1e-4)
    inputs = {"": ours} | ({} if same else {AS_GIVEN: given})
    return {
        name + suffix: scores(collection, split, -squared_distances(rows, centres), len(collection.classes))
        for suffix, rows in inputs.items()
        for name, centres in every_baseline(rows[split.train], collection.labels[split.train], prior, seed)
    }


def every_baseline(rows: Rows, labels: Labels, prior: Prior, seed: int) -> Iterator[tuple[str, Centres]]:
    """The centres of all classes, known ones first."""
    if prior.mixed:
        yield "semi-supervised k-means", semi_supervised(rows, labels, prior, seed)
        for starts in STARTS:
            centres = clustered(rows, prior.classes, starts, seed)
            yield f"k-means of all items, {named(starts)}", known_first(centres, rows, labels, prior)
        return
    known = np.stack([rows[labels == number].mean(0) for number in range(prior.known)])
    for starts in STARTS:
        novel = clustered(rows[labels < 0], len(prior.novel), starts, seed)
        yield f"k-means, {named(starts)}", np.concatenate([known, novel])


def clustered(rows: Rows, number: int, starts: int, seed: int) -> Centres:
    return KMeans(number, n_init=starts, random_state=seed).fit(rows).cluster_centers_


def named(starts: int) -> str:
    return f"{starts} start{'s' if starts > 1 else ''}"


def scores(collection: Collection, split: Split, logp: np.ndarray, known: int) -> dict[str, float]:
    """Of the test items; where known classes are mixed in, also of the unlabeled items that were trained on."""
    found = metrics.scores(collection.truth[split.test], logp[split.test], known, "test")
    free = split.train[collection.labels[split.train] < 0]
    if (collection.truth[free] < known).any():
        found |= one_matching(collection.truth[free], logp[free].argmax(1), known)
    return {name: round(value, 5) for name, value in found.items()}


def one_matching(truth: Labels, predicted: Labels, known: int) -> dict[str, float]:
    """All, old and new classes under the one matching that is best for all (Vaze et al., 2022)."""
    matched = metrics.match(truth, predicted)
    right = np.array([matched.get(int(category), -1) for category in predicted]) == truth
    parts = {"all": truth >= 0, "old": truth < known, "new": truth >= known}
    return {f"{name}_acc/unlabeled": float(right[chosen].mean()) for name, chosen in parts.items()}
