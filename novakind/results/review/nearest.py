"""Neighbours in a space that knows nothing of the categories: where the items touch that the model keeps apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.runs.standing import unit

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
else:
    csr_matrix = Any

NEAR = 5  # neighbours that say where an item belongs
LINKED = 10  # neighbours that hold a part together
STEPS = 50
BLOCK = 2_048

Rows = Float[np.ndarray, "items dims"]


class Neighbourhood(NamedTuple):
    """Some items of a run, and who is near whom among them; it stays the same whatever is decided."""

    items: Int[np.ndarray, " chosen"]
    graph: csr_matrix


def nearest(rows: Rows, count: int) -> Int[np.ndarray, "items count"]:
    """For each row the `count` others of greatest cosine around the mean, in no order."""
    centred = unit(rows - rows.mean(0))
    found = np.empty((len(rows), count), dtype=np.int64)
    for start in range(0, len(rows), BLOCK):
        likeness = centred[start : start + BLOCK] @ centred.T
        here = np.arange(len(likeness))
        likeness[here, start + here] = -np.inf
        found[start : start + BLOCK] = np.argpartition(-likeness, count - 1, axis=1)[:, :count]
    return found


def touching(category: Int[np.ndarray, " items"], graph: csr_matrix, kinds: int) -> Float[np.ndarray, "kinds kinds"]:
    """How far each pair of categories belongs together: 1 for two halves of one kind that were parted by chance.

    Suppose a category were given up. Each of its items would go where its neighbours lead, over several steps (Zhu,
    Ghahramani and Lafferty, 2003): a column's share of these items, times the share of their links that lead out of the
    category at all. That is near 0 for what lies apart, wherever it would go. Of both directions, the sum.
    """
    found = np.zeros((kinds, kinds))
    degree = np.maximum(np.asarray(graph.sum(1)).ravel(), 1e-12)
    for number in np.unique(category).tolist():
        mine = category == number
        rows = graph[mine]
        around = rows[:, ~mine] @ np.eye(kinds)[category[~mine]]
        leading, within = around / degree[mine, None], rows[:, mine].multiply(1 / degree[mine, None]).tocsr()
        reached = leading
        for _ in range(STEPS):
            reached = leading + within @ reached
        whole = reached.sum(1, keepdims=True)
        share = np.where(whole > 1e-9, reached / np.maximum(whole, 1e-9), 0).mean(0)
        found[number] = around.sum() / degree[mine].sum() * share
    return found + found.T


def links(rows: Rows, near: int) -> csr_matrix:
    """The graph of nearest neighbours, each link in both directions."""
    from scipy.sparse import csr_matrix  # here, since its import takes time

    count, near = len(rows), min(near, len(rows) - 1)
    places = (np.repeat(np.arange(count), near), nearest(rows, near).ravel())
    one_way = csr_matrix((np.ones(count * near, dtype=np.float64), places), (count, count))
    return csr_matrix(one_way + one_way.T)


def parted(graph: csr_matrix, parts: int, seed: int) -> tuple[Int[np.ndarray, " items"], float]:
    """The items in parts that few links join (Shi and Malik, 2000), and the share of links that stay within a part."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import eigsh
    from sklearn.cluster import KMeans

    degree = np.asarray(graph.sum(1)).ravel()
    scale = diags(1 / np.sqrt(degree))
    start = np.random.default_rng(seed).normal(size=len(degree))
    if len(degree) <= 2 * parts + 1:
        vectors = np.linalg.eigh((scale @ graph @ scale).toarray())[1][:, -parts:]
    else:
        vectors = eigsh(scale @ graph @ scale, parts, which="LA", v0=start)[1]
    part = KMeans(parts, n_init=10, random_state=seed).fit_predict(unit(vectors)).astype(np.int64)
    within = []
    for place in range(parts):
        mine = part == place
        within.append(graph[mine][:, mine].sum() / max(degree[mine].sum(), 1) if mine.any() else 0)
    return part, float(np.mean(within))
