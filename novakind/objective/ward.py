"""Clusters from the bottom up (Ward, 1963): the two whose union spreads least are joined, until few enough are left.

Where there are many items, small clusters of k-means stand for them. Known classes begin whole, and are never joined
with each other; other clusters may join them.
"""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float

SMALL = 1200  # clusters to begin with, at most
SOME = 20_000  # items of which they are made

Rows = Float[np.ndarray, "items dim"]
Centres = Float[np.ndarray, "clusters dim"]
Sizes = Float[np.ndarray, " clusters"]


def ward(
    rows: Rows, count: int, seed: int, known: Centres | None = None, sizes: Sizes | None = None
) -> Float[np.ndarray, "found dim"]:
    """Centres of `count` clusters of these rows, beside or within the known classes of these means and sizes."""
    small, members = small_clusters(rows, max(SMALL, 4 * count), seed)
    first = 0 if known is None else len(known)
    if known is not None and sizes is not None:
        small, members = np.concatenate([known, small]), np.concatenate([sizes, members])
    return join(small, members, first + count, first)


def small_clusters(rows: Rows, most: int, seed: int) -> tuple[Centres, Sizes]:
    """Every item by itself, or where there are more, k-means of some."""
    if len(rows) > SOME:
        rows = rows[np.random.default_rng([seed, 6]).permutation(len(rows))[:SOME]]
    if len(rows) <= most:
        return rows, np.ones(len(rows))
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more clusters than distinct items
        found = KMeans(most, init="random", n_init=1, max_iter=8, random_state=seed).fit(rows)
    sizes = np.bincount(found.labels_, minlength=most)
    return found.cluster_centers_[sizes > 0], sizes[sizes > 0].astype(np.float64)


def join(centres: Centres, sizes: Sizes, count: int, known: int = 0) -> Float[np.ndarray, "left dim"]:
    """Join until `count` are left; the first `known` never with each other, and they stay the first."""
    centres, sizes = centres.astype(np.float64), sizes.astype(np.float64)
    cost = np.stack([union_cost(centres, sizes, one) for one in range(len(centres))])
    cost[:known, :known] = np.inf
    nearest = cost.argmin(1)
    least, alive = cost[np.arange(len(cost)), nearest], np.ones(len(cost), dtype=bool)
    for _ in range(len(centres) - count):
        one, other = sorted((int(least.argmin()), int(nearest[least.argmin()])))  # the lower number stays
        joint = sizes[one] + sizes[other]
        centres[one] = (sizes[one] * centres[one] + sizes[other] * centres[other]) / joint
        sizes[one], alive[other] = joint, False
        cost[other], cost[:, other], least[other] = np.inf, np.inf, np.inf
        row = np.where(alive, union_cost(centres, sizes, one), np.inf)
        if one < known:
            row[:known] = np.inf
        cost[one], cost[:, one] = row, row
        for stale in np.flatnonzero(alive & ((nearest == one) | (nearest == other))):
            nearest[stale] = cost[stale].argmin()
            least[stale] = cost[stale, nearest[stale]]
        closer = alive & (row < least)
        nearest[closer], least[closer] = one, row[closer]
        nearest[one], least[one] = row.argmin(), row.min()
    return centres[alive]


def union_cost(centres: Centres, sizes: Sizes, one: int) -> Float[np.ndarray, " clusters"]:
    """How much the squared distances to the centres grow if this cluster and another become one."""
    cost = np.square(centres - centres[one]).sum(1) * sizes * sizes[one] / (sizes + sizes[one])
    cost[one] = np.inf
    return cost
