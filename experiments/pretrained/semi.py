"""Semi-supervised k-means (Vaze et al., 2022), a baseline: labeled items stay in their class."""

from __future__ import annotations

import numpy as np

from novakind.methods.clusters import kmeans
from novakind.methods.start import Centres, Labels, Rows, known_first, settled
from novakind.objective.centres import squared_distances
from novakind.objective.prior import Prior

STARTS = 5


def semi_supervised(rows: Rows, labels: Labels, prior: Prior, seed: int) -> Centres:
    """The best of several starts; one of them is k-means over all items, which is often better than the others."""
    known = np.stack([rows[labels == number].mean(0) for number in range(prior.known)])
    seeds = (np.random.default_rng([seed, start]) for start in range(STARTS))
    starts = [spread_out(known, rows[labels < 0], len(prior.novel), rng) for rng in seeds]
    plain = known_first(kmeans(rows, prior.classes, seed).cluster_centers_, rows, labels, prior)
    return settled(rows, labels, [plain, *starts])


def spread_out(known: Centres, free: Rows, novel: int, rng: np.random.Generator) -> Centres:
    """The known centres, and one of the free items for each novel class: far ones are likelier (k-means++)."""
    centres = list(known)
    nearest = squared_distances(free, known).min(1)
    for _ in range(novel):
        total = nearest.sum()
        chosen = free[rng.choice(len(free), p=nearest / total if total > 0 else None)]
        centres.append(chosen)
        nearest = np.minimum(nearest, ((free - chosen) ** 2).sum(1))
    return np.stack(centres)
