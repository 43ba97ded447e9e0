"""A start from what is known: where items are good vectors already, categories start where clustering puts them.

The embedding starts as the identity, or as the principal axes where it is narrower. The fixed prototypes are the means
of the known classes, and for the novel ones the centres of k-means over the unlabeled items; where some of those are of
known classes, the centres of semi-supervised k-means (Vaze et al., 2022), which keeps labeled items where they belong;
one of its starts is k-means over all items, with each known class in the cluster that holds most of its labeled ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch.nn.functional import normalize

from novakind.methods.clusters import kmeans
from novakind.methods.kmeans import raw_rows
from novakind.methods.protocol import Embedded
from novakind.model import Model
from novakind.objective.heads import PrototypeHead
from novakind.objective.metrics import pair_off
from novakind.objective.prior import Prior

STARTS, ROUNDS = 5, 50  # of semi-supervised k-means

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


@torch.no_grad()
def place(model: Model, embed: Callable[[], Embedded], prior: Prior, seed: int) -> None:
    """Set embedding and prototypes by the training items as the encoder sees them."""
    labels = np.empty(0, np.int64)

    def listen() -> Embedded:
        nonlocal labels
        found = embed()
        labels = found.labels
        return found

    rows = raw_rows(model, listen)
    axes = leading_axes(rows, model.card.dim)
    model.embed.weight.copy_(torch.from_numpy(axes))
    model.embed.bias.zero_()
    set_prototypes(model, rows @ axes.T, labels, prior, seed)


def place_again(model: Model, embed: Callable[[], Embedded], prior: Prior, seed: int) -> None:
    """Set the prototypes by the training items as the model sees them now: learnt, clusters are easier to find."""
    rows, labels, _ = embed()
    set_prototypes(model, rows, labels, prior, seed)


@torch.no_grad()
def set_prototypes(model: Model, rows: Rows, labels: Labels, prior: Prior, seed: int) -> None:
    """Where clustering finds all classes among these rows."""
    assert isinstance(model.head, PrototypeHead)
    rows = unit(rows)
    if prior.mixed:
        centres = semi_supervised(rows, labels, prior, seed)
    else:
        known = [rows[labels == number].mean(0) for number in range(prior.known)]
        centres = np.stack([*known, *kmeans(rows[labels < 0], len(prior.novel), seed).cluster_centers_])
    model.head.prototypes.copy_(normalize(torch.from_numpy(centres.astype(np.float32)), dim=1))


def leading_axes(rows: Float[np.ndarray, "items numbers"], dim: int) -> Float[np.ndarray, "axes numbers"]:
    """The `dim` directions that hold most of the rows' squared length; where there are no more than that, all as they
    are, with zeros behind them."""
    wide = rows.shape[1]
    if dim >= wide:
        return np.eye(dim, wide, dtype=np.float32)
    gram = rows.T.astype(np.float64) @ rows
    return np.linalg.eigh(gram)[1][:, : -dim - 1 : -1].T.astype(np.float32)


def semi_supervised(rows: Rows, labels: Labels, prior: Prior, seed: int) -> Float[np.ndarray, "classes dim"]:
    """Centres of all classes: labeled items stay in theirs, others go to the nearest; the best of several starts."""
    free, best = rows[labels < 0], (np.inf, rows[:0])
    known = np.stack([rows[labels == number].mean(0) for number in range(prior.known)])
    seeds = (np.random.default_rng([seed, start]) for start in range(STARTS))
    starts = [spread_out(known, free, len(prior.novel), rng) for rng in seeds]
    for centres in (known_first(kmeans(rows, prior.classes, seed).cluster_centers_, rows, labels, prior), *starts):
        distance = np.zeros(len(free))
        for _ in range(ROUNDS):
            squares = squared_distances(free, centres)
            nearest, distance = squares.argmin(1), squares.min(1)
            sums, counts = np.zeros_like(centres), np.zeros(len(centres))
            np.add.at(sums, np.concatenate([labels[labels >= 0], nearest]), np.concatenate([rows[labels >= 0], free]))
            np.add.at(counts, np.concatenate([labels[labels >= 0], nearest]), 1)
            moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
            if np.abs(moved - centres).max() < 1e-5:
                break
            centres = moved
        best = min(best, (float(distance.sum()), centres), key=lambda found: found[0])
    return best[1]


def known_first(
    centres: Float[np.ndarray, "classes dim"], rows: Rows, labels: Labels, prior: Prior
) -> Float[np.ndarray, "classes dim"]:
    """For each known class the cluster that holds most of its labeled items, no two alike; then the other clusters."""
    labeled = labels >= 0
    table = np.zeros((prior.known, len(centres)), np.int64)
    np.add.at(table, (labels[labeled], squared_distances(rows[labeled], centres).argmin(1)), 1)
    first = pair_off(table)[1].tolist()
    return centres[[*first, *(number for number in range(len(centres)) if number not in first)]]


def spread_out(
    known: Float[np.ndarray, "known dim"], free: Rows, novel: int, rng: np.random.Generator
) -> Float[np.ndarray, "classes dim"]:
    """The known centres, and one of the free items for each novel class: far ones are likelier (k-means++)."""
    centres = list(known)
    nearest = squared_distances(free, known).min(1)
    for _ in range(novel):
        total = nearest.sum()
        chosen = free[rng.choice(len(free), p=nearest / total if total > 0 else None)]
        centres.append(chosen)
        nearest = np.minimum(nearest, ((free - chosen) ** 2).sum(1))
    return np.stack(centres)


def squared_distances(rows: Rows, centres: Float[np.ndarray, "classes dim"]) -> Float[np.ndarray, "items classes"]:
    squares = (rows**2).sum(1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(1)
    return np.maximum(squares, 0)


def unit(rows: Rows) -> Rows:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
