"""The two heads: from an embedding to log-probabilities over K = L + U classes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

Embedding = Float[Tensor, "batch dim"]
LogProbs = Float[Tensor, "batch classes"]


class LinearHead(nn.Module):
    """The parametric classifier: softmax over g(ReLU(e)), one learnt neuron per class."""

    def __init__(self, dim: int, classes: int, tau: float = 1.0) -> None:
        super().__init__()
        self.classifier = nn.Linear(dim, classes)

    def forward(self, embedding: Embedding) -> LogProbs:
        return torch.log_softmax(self.classifier(F.relu(embedding)), 1)


class PrototypeHead(nn.Module):
    """Hyperspherical prototypes: softmax over cosine / tau with fixed, random unit directions (eq. 5-6).

    Equal to the posterior of K von Mises-Fisher distributions with concentration 1 / tau and equal weights. In
    `dim` >> K dimensions random directions are nearly orthogonal. The prototypes are a buffer: no optimiser moves them.

    Prototypes may be centres of items of length 1, which are shorter. Then the nearest one is the most probable, as in
    k-means, and `tau` counts in their mean length, so that answers are as sure as with directions.
    """

    prototypes: Tensor

    def __init__(self, dim: int, classes: int, tau: float = 0.1) -> None:
        super().__init__()
        self.tau = tau
        self.register_buffer("prototypes", F.normalize(torch.randn(classes, dim), dim=1))

    def forward(self, embedding: Embedding) -> LogProbs:
        lengths = self.prototypes.norm(dim=1)
        near = F.normalize(embedding, dim=1) @ self.prototypes.T - lengths.square() / 2
        return torch.log_softmax(near / (self.tau * lengths.mean()), 1)


class CosineHead(nn.Module):
    """As the prototypes, but learnt: softmax over cosine / tau with a direction of each class."""

    def __init__(self, dim: int, classes: int, tau: float = 0.1) -> None:
        super().__init__()
        self.tau = tau
        self.directions = nn.Linear(dim, classes, bias=False)

    def forward(self, embedding: Embedding) -> LogProbs:
        cosine = F.normalize(embedding, dim=1) @ F.normalize(self.directions.weight, dim=1).T
        return torch.log_softmax(cosine / self.tau, 1)


class CentroidHead(nn.Module):
    """Softmax over minus the squared distance to each class's centre: what k-means on embeddings amounts to.

    Not trained: a method that clusters after training sets the `centres` and the mean squared distance `spread`.
    """

    centres: Tensor
    spread: Tensor

    def __init__(self, dim: int, classes: int, tau: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("centres", torch.zeros(classes, dim))
        self.register_buffer("spread", torch.ones(()))

    def forward(self, embedding: Embedding) -> LogProbs:
        return torch.log_softmax(-torch.cdist(self.seen(embedding), self.centres).square() / self.spread, 1)

    def seen(self, embedding: Embedding) -> Embedding:
        """The points whose distances count."""
        return embedding


class DirectionHead(CentroidHead):
    """The same for embeddings brought to length 1: k-means by direction, however long an embedding is."""

    def seen(self, embedding: Embedding) -> Embedding:
        return F.normalize(embedding, dim=1)


class MLPHead(nn.Module):
    """Known classes by cosine to learnt directions of the embedding, novel ones by cosine behind a projection.

    UNO's head: novel items are sorted in a separate space, so that this does not disturb what separates known classes.
    Which classes are novel is a buffer, so that a saved head knows it: all of them, until a method sets it.
    """

    novel: Tensor
    hidden, projected = 512, 256

    def __init__(self, dim: int, classes: int, tau: float = 0.1) -> None:
        super().__init__()
        self.tau = tau
        self.directions = nn.Linear(dim, classes, bias=False)
        self.projection = nn.Sequential(
            nn.Linear(dim, self.hidden),
            nn.BatchNorm1d(self.hidden),
            nn.ReLU(inplace=True),
            nn.Linear(self.hidden, self.projected),
        )
        self.prototypes = nn.Linear(self.projected, classes, bias=False)
        self.register_buffer("novel", torch.ones(classes, dtype=torch.bool))

    def forward(self, embedding: Embedding) -> LogProbs:
        cosine = torch.where(self.novel, self.sort(embedding), self.recognise(embedding))
        return torch.log_softmax(cosine / self.tau, 1)

    def recognise(self, embedding: Embedding) -> Float[Tensor, "batch classes"]:
        """The cosines that count for known classes."""
        return F.normalize(embedding, dim=1) @ F.normalize(self.directions.weight, dim=1).T

    def sort(self, embedding: Embedding) -> Float[Tensor, "batch classes"]:
        """The cosines that count for novel classes."""
        return F.normalize(self.projection(embedding), dim=1) @ F.normalize(self.prototypes.weight, dim=1).T


class JoinedHead(nn.Module):
    """A head whose outputs were merged by a person: a category is as probable as all outputs that lead to it together.

    An output that leads nowhere is left out, and a category that no output leads to has no probability.
    """

    nothing = -100.0  # of a logarithm: no number is as small, and sums stay finite

    def __init__(self, inner: nn.Module, into: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.inner, self.into, self.classes = inner, into, classes
        self.tree: list[tuple[int, int, float, float]] = []  # how outputs merged in training, and would go on to

    def forward(self, embedding: Embedding) -> LogProbs:
        logp = self.inner(embedding)
        members = [[one for one, to in enumerate(self.into) if to == number] for number in range(self.classes)]
        none = torch.full_like(logp[:, 0], self.nothing)
        columns = [torch.logsumexp(logp[:, ones], 1) if ones else none for ones in members]
        return torch.log_softmax(torch.stack(columns, 1), 1)


HEADS = {
    "linear": LinearHead,
    "prototype": PrototypeHead,
    "cosine": CosineHead,
    "centroid": CentroidHead,
    "direction": DirectionHead,
    "mlp": MLPHead,
}
