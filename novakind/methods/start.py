"""A start from what is known: where items are good vectors already, categories start where clustering puts them.

The embedding starts as the metric that the known classes teach. The fixed prototypes are the means of the known
classes, and for the novel ones the centres of clusters of the unlabeled items; where some of those are of known
classes, labeled items stay where they belong and others may join them. Clusters are found from the bottom up (Ward) and
by k-means; those that lie closer to their items are taken, and their sizes tell the shares of the categories.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from novakind.methods.clusters import kmeans
from novakind.methods.kmeans import raw_rows
from novakind.methods.metric import learn_metric
from novakind.methods.protocol import Embedded
from novakind.model import Model
from novakind.objective.centres import Centres, labeled_means, nearest, settled, squared_distances, unit
from novakind.objective.heads import PrototypeHead
from novakind.objective.metrics import pair_off
from novakind.objective.prior import Prior
from novakind.objective.ward import ward

LEAST = 0.1  # of the mean size of a category: so large is each taken to be
MOST = 100_000  # items by which it is decided: more would take longer and say the same
ROUND, SOME = 0.05, 3000  # so many more of the labeled items, of some, are told by means than by neighbours
HALF = (
    2  # labeled items for each number of the embedding: with so few, training fits them too closely by half of its way
)
QUICK = 3_000_000  # items times clusters: beyond, k-means has one start

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


@torch.no_grad()
def place(
    model: Model, embed: Callable[..., Embedded], prior: Prior, seed: int
) -> tuple[Float[Tensor, " classes"], float]:
    """Set embedding and prototypes by the training items as the encoder sees them; the shares of the clusters, and how
    far training may move the embedding from here."""
    rows, labels = raw_rows(model, embed, MOST)
    metric = learn_metric(rows, labels, model.card.dim, seed, len(prior.novel))
    wide = len(metric.axes)
    model.embed.weight.zero_()[:wide] = torch.from_numpy(metric.axes)
    model.embed.bias.zero_()[:wide] = torch.from_numpy(-metric.axes @ metric.mean)
    shares = set_prototypes(model, predicted(model, rows), labels, prior, seed)
    if not metric.learnt and round_clouds(rows, labels, seed):
        return shares, 0.0
    labeled = int((labels >= 0).sum())
    return shares, labeled / (labeled + HALF * wide)


def round_clouds(rows: Rows, labels: Labels, seed: int) -> bool:
    """Whether the means of the known classes tell their items apart by far better than an item's neighbour does: then
    items are spread around means without any other order, and clusters have found all that there is."""
    some = np.random.default_rng([seed, 13]).permutation(np.flatnonzero(labels >= 0))[:SOME]
    some = some[np.bincount(labels[some])[labels[some]] > 1]
    rows, (_, labels, sizes) = unit(rows[some]), np.unique(labels[some], return_inverse=True, return_counts=True)
    if not len(rows):
        return False
    squares = squared_distances(rows, labeled_means(rows, labels))
    squares[np.arange(len(rows)), labels] *= (sizes / (sizes - 1))[labels] ** 2  # so much farther without itself
    near = rows @ rows.T
    np.fill_diagonal(near, -np.inf)
    by_mean, by_neighbour = squares.argmin(1) == labels, labels[near.argmax(1)] == labels
    return bool(by_mean.mean() - by_neighbour.mean() > ROUND)


def place_again(model: Model, embed: Callable[..., Embedded], prior: Prior, seed: int) -> Float[Tensor, " classes"]:
    """Set the prototypes by the training items as the model sees them now: learnt, clusters are easier to find."""
    rows, labels, _ = embed(MOST)
    return set_prototypes(model, rows, labels, prior, seed)


def predicted(model: Model, rows: Float[np.ndarray, "items numbers"]) -> Rows:
    return (torch.from_numpy(rows).to(model.device) @ model.embed.weight.T + model.embed.bias).cpu().numpy()


@torch.no_grad()
def set_prototypes(model: Model, rows: Rows, labels: Labels, prior: Prior, seed: int) -> Float[Tensor, " classes"]:
    """Where clustering finds all classes among these rows; how the unlabeled ones spread over them."""
    assert isinstance(model.head, PrototypeHead)
    rows = unit(rows)
    centres = find_classes(rows, labels, prior, seed)
    model.head.prototypes.copy_(torch.from_numpy(centres.astype(np.float32)))
    first = 0 if prior.mixed else prior.known
    places = first + nearest(rows[labels < 0], centres[first:])[0]
    sizes = np.bincount(places, minlength=prior.classes)
    sizes[first:] = np.maximum(sizes[first:], LEAST * len(places) / prior.classes)
    return torch.from_numpy(sizes / sizes.sum()).float()


def find_classes(rows: Rows, labels: Labels, prior: Prior, seed: int) -> Centres:
    """Centres of all classes, known ones first: of two ways to cluster the one that ends closer to the items."""
    free, novel = rows[labels < 0], len(prior.novel)
    known = labeled_means(rows, labels)
    starts = 10 if len(rows) * prior.classes < QUICK else 1
    if prior.mixed:
        sizes = np.bincount(labels[labels >= 0], minlength=prior.known).astype(np.float64)
        ways = [known_first(kmeans(rows, prior.classes, seed, starts).cluster_centers_, rows, labels, prior)]
        ways += [ward(free, novel, seed, known, sizes)] if len(free) > novel else []
        return settled(rows, labels, ways)
    ways = [kmeans(free, novel, seed, starts).cluster_centers_]
    ways += [ward(free, novel, seed)] if len(free) > novel else []
    return np.concatenate([known, settled(free, np.full(len(free), -1), ways)])


def known_first(centres: Centres, rows: Rows, labels: Labels, prior: Prior) -> Centres:
    """For each known class the cluster that holds most of its labeled items, no two alike; then the other clusters."""
    labeled = labels >= 0
    table = np.zeros((prior.known, len(centres)), np.int64)
    np.add.at(table, (labels[labeled], nearest(rows[labeled], centres)[0]), 1)
    first = pair_off(table)[1].tolist()
    return centres[[*first, *(number for number in range(len(centres)) if number not in first)]]
