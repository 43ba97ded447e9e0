"""Other ways to find the number of classes, on the same vectors."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float, Int
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from novakind.objective.metrics import clustering_acc

MOST = 3000  # items that are clustered
STEPS = 8  # of the search for the best number

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


def clustered(rows: Rows, count: int, seed: int) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more clusters than distinct items
        return KMeans(count, n_init=1, random_state=seed).fit_predict(rows).astype(np.int64)


def labeled_acc(rows: Rows, labels: Labels, most: int, seed: int) -> int:
    """Vaze et al. (2022): k-means of all items; the number whose clusters fit the labeled ones best, by a golden
    section search. The number of novel classes is what it is above the known ones, at least 1."""
    some = np.random.default_rng([seed, 6]).permutation(len(rows))[:MOST]
    rows, labels = rows[some], labels[some]
    known = int(labels.max()) + 1
    scores: dict[int, float] = {}

    def score(count: int) -> float:
        if count not in scores:
            found = clustered(rows, count, seed)
            scores[count] = clustering_acc(labels[labels >= 0], found[labels >= 0])
        return scores[count]

    low, high = float(known), float(known + most)
    for _ in range(STEPS):
        first, second = high - 0.618 * (high - low), low + 0.618 * (high - low)
        if score(round(first)) >= score(round(second)):
            high = second
        else:
            low = first
    return max(1, max(scores, key=lambda count: (scores[count], -count)) - known)


def best_silhouette(rows: Rows, labels: Labels, most: int, seed: int, mixed: bool) -> int:
    """k-means of the unlabeled items: the number with the best silhouette, less the known classes where they are among
    them, which it is told."""
    free = rows[labels < 0]
    free = free[np.random.default_rng([seed, 7]).permutation(len(free))[: MOST // 2]]
    known = int(labels.max()) + 1 if mixed else 0
    counts = range(2, most + known + 1, max(1, (most + known) // 16))
    found = {count: float(silhouette_score(free, clustered(free, count, seed))) for count in counts}
    return max(1, max(found, key=lambda count: found[count]) - known)
