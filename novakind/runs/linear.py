"""A linear classifier of rows, fitted at once: what labels, decisions and a model's own answers say together."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from novakind.runs.reviewed import CONFIRMED, Items
from novakind.runs.standing import unit

FITTED = 2_000  # items of each kind, labeled and suggested, that are enough
DIMS = 256
DECIDED = 20  # what a decision weighs, where a label weighs 1: as the next round hears it

Rows = Float[np.ndarray, "items dims"]
Chances = Float[np.ndarray, "items categories"]


def compact(rows: Rows, dims: int = DIMS) -> Float[np.ndarray, "items fewer"]:
    """Directions around the mean, in few dimensions: their principal components where they have more."""
    centred = unit(rows - rows.mean(0))
    if centred.shape[1] <= dims:
        return centred
    return centred @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dims]


def judged(rows: Rows, category: Items, weight: Float[np.ndarray, " items"], count: int, strength: float) -> Chances:
    """The chance of each of `count` categories for every row, learnt from those that weigh something."""
    from sklearn.linear_model import LogisticRegression  # here, since its import takes time

    learnt, chances = np.flatnonzero(weight > 0), np.zeros((len(rows), count))
    kinds = np.unique(category[learnt])
    if len(kinds) < 2:
        chances[:, kinds] = 1
        return chances
    model = LogisticRegression(C=strength, max_iter=100, tol=1e-3)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps that were too few: what it says is a guide
        model.fit(rows[learnt], category[learnt], weight[learnt])
        chances[:, model.classes_] = model.predict_proba(rows)
    return chances


def thinned(weight: Float[np.ndarray, " items"], status: np.ndarray) -> Float[np.ndarray, " items"]:
    """The same weights, but 0 for the most of what there is very much of, except what a person decided."""
    kept = np.zeros_like(weight)
    for one in np.unique(status):
        mine = np.flatnonzero((status == one) & (weight > 0))
        mine = mine if one == CONFIRMED else mine[:: max(1, -(-len(mine) // FITTED))]
        kept[mine] = weight[mine]
    return kept
