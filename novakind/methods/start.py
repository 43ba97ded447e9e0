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
from torch.nn.functional import normalize

from novakind.methods.clusters import kmeans
from novakind.methods.kmeans import raw_rows
from novakind.methods.metric import learn_metric
from novakind.methods.protocol import Embedded
from novakind.model import Model
from novakind.objective.centres import Centres, labeled_means, nearest, settled, unit
from novakind.objective.heads import PrototypeHead
from novakind.objective.metrics import pair_off
from novakind.objective.prior import Prior
from novakind.objective.ward import ward

LEAST = 0.1  # of the mean size of a category: so large is each taken to be
MOST = 100_000  # items by which it is decided: more would take longer and say the same
QUICK = 3_000_000  # items times clusters: beyond, k-means has one start

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


@torch.no_grad()
def place(model: Model, embed: Callable[..., Embedded], prior: Prior, seed: int) -> Float[Tensor, " classes"]:
    """Set embedding and prototypes by the training items as the encoder sees them; the shares of the clusters."""
    rows, labels = raw_rows(model, embed, MOST)
    metric = learn_metric(rows, labels, model.card.dim, seed, len(prior.novel))
    wide = len(metric.axes)
    model.embed.weight.zero_()[:wide] = torch.from_numpy(metric.axes)
    model.embed.bias.zero_()[:wide] = torch.from_numpy(-metric.axes @ metric.mean)
    return set_prototypes(model, predicted(model, rows), labels, prior, seed)


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
    model.head.prototypes.copy_(normalize(torch.from_numpy(centres.astype(np.float32)), dim=1))
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
