"""The 2-D map: which items are on it, and where."""

from __future__ import annotations

import hashlib
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from novakind.disk import write_atomic
from novakind.errors import UserError
from novakind.given import opened
from novakind.runs.discovery import Discovery
from novakind.runs.standing import unit

SEED = 0
POINTS = 2_000
KEPT = ".map.npz"  # in a run folder: t-SNE takes seconds, and a map that stays the same is easier to read


class Map(NamedTuple):
    """Some items and where they are drawn."""

    items: Int[np.ndarray, " chosen"]
    points: Float[np.ndarray, "chosen 2"]
    method: str


def placed(run: Path, discovery: Discovery, patient: bool = True) -> Map:
    """The map of a run, the same whatever a person decided; without patience, by PCA where there is none yet."""
    category = discovery.review.result if discovery.review else discovery.category
    stamp = stamp_of(run)
    # what cannot be read, or cannot be, is made again
    with suppress(Exception), opened(run / KEPT) as file, np.load(file, allow_pickle=False) as kept:
        items, points = kept["items"].astype(np.int64), kept["points"].astype(np.float64)
        fits = points.shape == (len(items), 2) and np.isfinite(points).all()
        if str(kept["stamp"]) == stamp and fits and items.min() >= 0 and items.max() < len(category):
            return Map(items, points, str(kept["method"]))
    items = sample(category, POINTS)
    if not patient:
        return Map(items, spanned(principal(unit(discovery.embedding[items]), 2)), "PCA")
    points, method = project(discovery.embedding[items])
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, items=items, points=points, method=method, stamp=stamp)
    with suppress(UserError):
        write_atomic(run / KEPT, buffer.getvalue())
    return Map(items, points, method)


def stamp_of(run: Path) -> str:
    """Changes with the embeddings of a run."""
    facts = os.stat(run / "embeddings.npz")
    return hashlib.sha256(repr((facts.st_size, facts.st_mtime_ns)).encode()).hexdigest()


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
    if len(rows) > rows.shape[1]:  # the usual case, and many times faster
        found = centred @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :components]
    else:
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
    return spanned(points), method


def spanned(points: Float[np.ndarray, "items 2"]) -> Float[np.ndarray, "items 2"]:
    """Positions moved and scaled to fill [-1, 1]."""
    points = points - (points.max(0) + points.min(0)) / 2
    return points / max(float(np.abs(points).max()), 1e-12)
