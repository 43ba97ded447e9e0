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

NEAR = 10  # neighbours that say where an item belongs
LINKED = 10  # neighbours that hold a part together
STEPS = 50
BACK = 0.4
MOST_UNEVEN = 10  # times as many in both parts as in the smaller one
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

    Suppose a category were given up. Each of its items would go where most of its neighbours lead, over several steps
    (Zhu, Ghahramani and Lafferty, 2003): a column's share of these items, times the share of their links that lead out
    of the category at all. That is near 0 for what lies apart, wherever it would go. Of both directions the one counts
    in full whose category has more links that lead out, since it is the likelier piece, and `BACK` of the other.
    """
    found, out = np.zeros((kinds, kinds)), np.zeros(kinds)
    degree = np.maximum(np.asarray(graph.sum(1)).ravel(), 1e-12)
    for number in np.unique(category).tolist():
        mine = category == number
        rows = graph[mine]
        around = rows[:, ~mine] @ np.eye(kinds)[category[~mine]]
        leading, within = around / degree[mine, None], rows[:, mine].multiply(1 / degree[mine, None]).tocsr()
        reached = leading
        for _ in range(STEPS):
            reached = leading + within @ reached
        leads = reached.sum(1) > 1e-9
        going = np.bincount(reached[leads].argmax(1), minlength=kinds)
        out[number] = around.sum() / degree[mine].sum()
        found[number] = out[number] * going / mine.sum()
    return np.where(out[:, None] >= out[None], found + BACK * found.T, found.T + BACK * found)


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
        values, vectors = eigsh(scale @ graph @ scale, parts, which="LA", v0=start)
        vectors = vectors[:, np.argsort(values)]
    if parts == 2 and len(degree) > MOST_UNEVEN:
        part = least_cut(graph, vectors[:, 0] / np.sqrt(degree))
    else:
        part = KMeans(parts, n_init=10, random_state=seed).fit_predict(unit(vectors)).astype(np.int64)
    within = []
    for place in range(parts):
        mine = part == place
        within.append(graph[mine][:, mine].sum() / max(degree[mine].sum(), 1) if mine.any() else 0)
    return part, float(np.mean(within))


def least_cut(graph: csr_matrix, line: Float[np.ndarray, " items"]) -> Int[np.ndarray, " items"]:
    """Two parts: of all places at which the items, in the order of `line`, can be cut, that with the least normalised
    cut. No part is less than one in `MOST_UNEVEN`, as a few odd items are no kind of their own."""
    count, order = len(line), np.argsort(line, kind="stable")
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    edges = graph.tocoo()
    low, high = np.minimum(place[edges.row], place[edges.col]), np.maximum(place[edges.row], place[edges.col])
    over = np.zeros(count + 1)  # links that a cut before this place goes through, each counted in both directions
    np.add.at(over, low + 1, edges.data)
    np.add.at(over, high + 1, -edges.data)
    over = np.cumsum(over) / 2
    before = np.concatenate([[0], np.cumsum(np.asarray(graph.sum(1)).ravel()[order])])
    least = max(1, count // MOST_UNEVEN)
    cuts = np.arange(least, count - least + 1)
    cost = over[cuts] / before[cuts] + over[cuts] / (before[-1] - before[cuts])
    part = np.zeros(count, dtype=np.int64)
    part[order[cuts[cost.argmin()] :]] = 1
    return part
