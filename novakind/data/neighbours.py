"""Nearest neighbours among vectors: exact, in blocks; among very many approximate, by a library."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int

from novakind.errors import UserError

EXACT = 100_000  # items: beyond, all pairs take too long
BLOCK = 2**25  # likenesses at a time, 128 MB


def nearest(rows: Float[np.ndarray, "items dim"], count: int, exact: int = EXACT) -> Int[np.ndarray, "items count"]:
    """For each row the places of the `count` others of greatest cosine, the nearest first."""
    unit = torch.nn.functional.normalize(torch.from_numpy(np.ascontiguousarray(rows, np.float32)), dim=1)
    if len(unit) > exact:
        return approximate(unit.numpy(), count)
    found = torch.empty(len(unit), count, dtype=torch.int64)
    step = max(1, BLOCK // len(unit))
    for start in range(0, len(unit), step):
        likeness = unit[start : start + step] @ unit.T
        here = torch.arange(len(likeness))
        likeness[here, start + here] = -torch.inf  # nobody is a neighbour of himself
        found[start : start + step] = likeness.topk(count).indices
    return found.numpy()


def mutual(places: Int[np.ndarray, "items count"]) -> Int[np.ndarray, "items count"]:
    """The same, but an item itself stands for each neighbour that does not have it among its own: items far from all
    others have neighbours of any class."""
    here = np.arange(len(places))[:, None]
    returned = [(places[column] == here).any(1) for column in places.T]
    return np.where(np.stack(returned, 1), places, here)


def approximate(unit: Float[np.ndarray, "items dim"], count: int) -> Int[np.ndarray, "items count"]:
    """By a graph of small worlds (Malkov and Yashunin, 2018); about one neighbour in a hundred is missed."""
    try:
        from usearch.index import Index  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise UserError(
            f"{len(unit)} unlabeled items are too many to compare all pairs of them: pip install 'novakind[large]', or "
            "give --views.neighbours 0"
        ) from None
    graph = Index(ndim=unit.shape[1], metric="cos", dtype="f32")
    graph.add(np.arange(len(unit)), unit, threads=1)  # one thread, so that the graph is the same each time
    places = graph.search(unit, count + 1).keys.astype(np.int64)
    others = places != np.arange(len(unit))[:, None]
    others[others.all(1), -1] = False  # a row that did not find itself leaves out its farthest neighbour
    return places[others].reshape(len(unit), count)
