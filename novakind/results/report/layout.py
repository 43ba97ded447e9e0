"""The 2-D map: which items are on it, and where."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from novakind.runs.discovery import unit

SEED = 0


def sample(category: Int[np.ndarray, " items"], limit: int) -> Int[np.ndarray, " chosen"]:
    """At most `limit` items, the same ones every time, equally many of each category that has enough."""
    if len(category) <= limit:
        return np.arange(len(category))
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(category))
    turn = np.empty(len(category), dtype=np.int64)  # an item's place in the shuffled queue of its category
    for number in np.unique(category):
        queue = order[category[order] == number]
        turn[queue] = np.arange(len(queue))
    return np.sort(order[np.argsort(turn[order], kind="stable")][:limit])


def principal(rows: Float[np.ndarray, "items dims"], components: int) -> Float[np.ndarray, "items {components}"]:
    """The first principal components, with zero columns where the data have fewer."""
    centred = np.asarray(rows, dtype=np.float64) - rows.mean(0, dtype=np.float64)
    left, scale, _ = np.linalg.svd(centred, full_matrices=False)
    found = (left * scale)[:, :components]
    return np.pad(found, ((0, 0), (0, components - found.shape[1])))


def project(embedding: Float[np.ndarray, "items dims"]) -> tuple[Float[np.ndarray, "items 2"], str]:
    """Positions in [-1, 1] that keep neighbours together, and the name of the method: t-SNE, or PCA of a few items."""
    if len(embedding) == 0:
        return np.zeros((0, 2)), "PCA"
    rows = principal(unit(embedding), min(50, *embedding.shape))
    points, method = principal(rows, 2), "PCA"
    spread = float(points[:, 0].std())
    if len(rows) >= 10 and spread > 1e-9:
        start = (points / spread * 1e-4).astype(np.float32)
        perplexity = min(30.0, (len(rows) - 1) / 3)
        from sklearn.manifold import TSNE  # here, since its import takes a second

        tsne = TSNE(perplexity=perplexity, init=start, random_state=SEED)  # pyright: ignore[reportArgumentType]
        with threadpool_limits(1):  # more threads are slower as soon as anything else runs on the machine
            points, method = tsne.fit_transform(rows.astype(np.float32)).astype(np.float64), "t-SNE"
    points = points - (points.max(0) + points.min(0)) / 2
    return points / max(float(np.abs(points).max()), 1e-12), method
