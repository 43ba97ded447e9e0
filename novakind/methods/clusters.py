"""Clusters below the embedding: k-means, Student-t assignments to learnt centres, a head of nearest centres.

scikit-learn and scipy are slow to import. Each is imported where it is used, so that training and help start without.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from novakind.model import Model
from novakind.objective.heads import CentroidHead

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

Assignments = Float[Tensor, "batch novel"]
Embedding = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


class Clusters(nn.Module):
    """Student-t assignments to U centres in a projection of the embedding; everything is zero until it is `placed`.

    A running average of the weights starts from these zeros and moves to the placed values. `placed` is averaged in the
    same way, from 0 to 1, so what is divided by it is an average since the placement, without the zeros.
    """

    placed: Tensor
    points = True  # not maps between layers: no optimiser makes their steps orthogonal

    def __init__(self, dim: int, novel: int) -> None:
        super().__init__()
        self.projection = nn.Parameter(torch.zeros(min(dim, novel), dim))
        self.shift = nn.Parameter(torch.zeros(min(dim, novel)))
        self.centres = nn.Parameter(torch.zeros(novel, min(dim, novel)))
        self.register_buffer("placed", torch.zeros(()))

    def forward(self, embedding: Float[Tensor, "batch dim"]) -> Assignments:
        return student_t(embedding @ self.projection.T + self.shift, self.centres)

    @torch.no_grad()
    def place(self, embedding: Embedding, seed: int, scale: float = 1.0) -> None:
        """PCA, then k-means; the projection is so many times as large."""
        mean = embedding.mean(0)
        directions = scale * np.linalg.svd(embedding - mean, full_matrices=False)[2][: len(self.projection)]
        centres = kmeans((embedding - mean) @ directions.T, len(self.centres), seed).cluster_centers_
        found = (directions, -directions @ mean, centres, np.ones(()))
        for weight, value in zip((self.projection, self.shift, self.centres, self.placed), found, strict=True):
            weight.copy_(torch.from_numpy(value))

    @torch.no_grad()
    def settle(self) -> None:
        """Divide an average of the weights by its share since the placement."""
        for weight in (self.projection, self.shift, self.centres, self.placed):
            weight.div_(self.placed.clone())


class Assigner(nn.Module):
    """All that an item's assignment depends on."""

    def __init__(self, encoder: nn.Module, embed: nn.Linear, clusters: Clusters) -> None:
        super().__init__()
        self.encoder, self.embed, self.clusters = encoder, embed, clusters


def kmeans(rows: Embedding, count: int, seed: int, starts: int = 10) -> KMeans:
    """scikit-learn's, the best of several starts."""
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more clusters than distinct items: the diagnosis of a collapse says it
        return KMeans(count, n_init=starts, random_state=seed).fit(rows)


def seen(model: Model, embedding: Embedding) -> Embedding:
    """The embeddings as the head of centres sees them."""
    assert isinstance(model.head, CentroidHead)
    return model.head.seen(torch.from_numpy(embedding)).numpy()


def set_centres(model: Model, points: Embedding, labels: Labels, novel: Float[np.ndarray, "novel dim"]) -> None:
    """Let the nearest centre decide: the known classes' means, and these centres of novel ones, of `seen` points."""
    from scipy.spatial.distance import cdist

    assert isinstance(model.head, CentroidHead)
    known = [points[labels == number].mean(0) for number in range(model.card.known)]
    centres = np.concatenate([np.stack(known), novel])
    model.head.centres.copy_(torch.from_numpy(centres))
    model.head.spread.fill_(float(cdist(points, centres, "sqeuclidean").min(1).mean()))


@torch.no_grad()
def show_clusters(model: Model, clusters: Clusters, embedding: Embedding, labels: Labels) -> Assignments:
    """The targets of the unlabeled items; the head is set to the clusters' means under them."""
    points = seen(model, embedding)
    unlabeled = torch.from_numpy(points[labels < 0]).to(model.device)
    targets = target_distribution(clusters(unlabeled))
    means = targets.T @ unlabeled / targets.sum(0)[:, None]
    set_centres(model, points, labels, means.cpu().numpy())
    return targets


def student_t(points: Float[Tensor, "batch dims"], centres: Float[Tensor, "novel dims"]) -> Assignments:
    """Shares of the clusters in each point, 1 / (1 + squared distance) normalised: heavy tails forgive outliers."""
    near = 1 / (1 + (points[:, None] - centres).square().sum(2))
    return near / near.sum(1, keepdim=True)


def target_distribution(q: Assignments) -> Assignments:
    """The targets: squared assignments, each cluster divided by its size so that large ones do not swallow others."""
    weight = q.square() / q.sum(0)
    return weight / weight.sum(1, keepdim=True)


def silhouette_of(embedding: Embedding, clusters: Int[np.ndarray, " items"], seed: int, sample: int = 2000) -> float:
    """The mean silhouette of some of the items; the lowest there is where all are in one cluster."""
    some = np.random.default_rng(seed).permutation(len(embedding))[:sample]
    if not 1 < len(np.unique(clusters[some])) < len(some):
        return -1.0
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(embedding[some], clusters[some]))
