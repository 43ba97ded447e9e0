"""Spacing loss (Joseph, Paul, Aggarwal, Biswas, Rai, Han and Balasubramanian, "Spacing loss for discovering novel
categories", CVPR workshops 2022). This is an approximation of it: the idea is kept, the procedure is our own.

Stage "supervised" is cross-entropy on known classes. Stage "discover" begins with k-means on the embeddings of
unlabeled items, brought to length 1. The centres are pushed apart until they are equidistant, the corners of a regular
simplex; each unlabeled item is pulled to the point nearest to the mean of its two views. Cross-entropy on labeled items
goes on.

Hyper-parameters: SHARE 0.5 of the epochs for known classes; SCALE 2: the corners are that many times as far from their
middle as the k-means centres; PUSH 0.5 of the stage until they are reached; RATE 0.1 as factor on the learning rate.
The squared distance to a point, in squares of a corner's distance from the middle, weighs as much as cross-entropy;
where the corners are nearer than half the spread of a batch, as after very few epochs, in squares of that half.

Departures: the paper learns where the points are pushed by a loss of their own, here they go straight to the simplex
that is turned closest to the k-means centres; views, encoder and optimiser are those that all methods here share. In
the end an item goes to the nearest mean: of the known classes, or of the items around a corner, as not all reach it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.config import Config
from novakind.errors import UserError
from novakind.methods.clusters import Embedding, Labels, kmeans, seen, set_centres
from novakind.methods.protocol import Batch, Embedded, Stage
from novakind.methods.supervised import Supervised
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import mean
from novakind.objective.prior import Prior

Points = Float[np.ndarray, "novel dim"]


class Corners(nn.Module):
    """Where the points start and where they go; zero until `placed` (see Clusters)."""

    start: Tensor
    goal: Tensor
    placed: Tensor

    def __init__(self, novel: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("start", torch.zeros(novel, dim))
        self.register_buffer("goal", torch.zeros(novel, dim))
        self.register_buffer("placed", torch.zeros(()))

    def forward(self, share: float) -> Float[Tensor, "novel dim"]:
        return self.start.lerp(self.goal, min(share, 1.0))


class Spacing(Supervised):
    """Known classes, then equidistant points."""

    SHARE = 0.5
    SCALE = 2.0
    PUSH = 0.5
    RATE = 0.1

    def __init__(self, config: Config, prior: Prior) -> None:
        super().__init__(config, prior)
        self.stage = ""
        if config.dim:
            self.check_room(config.dim)

    def check_room(self, dim: int) -> None:
        if (novel := len(self.prior.novel)) > dim:
            raise UserError(f"--dim {dim} has no room for {novel} equidistant points: give a larger --dim")

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        first = int(min(0.9, self.SHARE * self.config.pretraining) * epochs)
        discover = Stage("discover", epochs - first, lr=self.RATE)
        return (Stage("supervised", first, unlabeled=False), discover) if first else (discover,)

    def begin(self, model: Model, stage: Stage) -> None:
        self.stage = stage.name
        if model.card.head != "linear":
            model.replace_head("linear")
        if stage.name == "discover":
            self.check_room(model.card.dim)
            model.extra["known"] = model.head
            model.extra["corners"] = Corners(len(self.prior.novel), model.card.dim).to(model.device)
            model.replace_head("direction")

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        if stage.name == "supervised":
            return
        corners = corners_of(model)
        embedding, labels, _ = embed()
        embedding = seen(model, embedding)
        if epoch == 0:
            start = kmeans(embedding[labels < 0], len(self.prior.novel), self.config.seed).cluster_centers_
            corners.start.copy_(torch.from_numpy(start))
            corners.goal.copy_(torch.from_numpy(equidistant(start, self.SCALE)))
            corners.placed.fill_(1)
        show(model, corners(epoch / stage.epochs / self.PUSH), embedding, labels)

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        if self.stage == "supervised":
            return super().loss(model, batch)
        terms: dict[str, Tensor] = {}
        embedding = model.embedding(batch.x)
        labeled = embedding[: len(batch.labels)]
        _, first, second = batch.split(F.normalize(embedding, dim=1))
        if len(labeled):
            logp = torch.log_softmax(model.extra["known"](labeled)[:, : self.prior.known], 1)
            terms["ce"] = losses.cross_entropy(logp, batch.labels, self.config.objective.smoothing)
        if len(first):
            corners = corners_of(model)
            points = corners(batch.progress / self.PUSH)
            nearest = torch.cdist((first + second).detach() / 2, points).argmin(1)
            pulled = torch.cat([first, second])
            size = torch.maximum(spread(corners.goal), spread(pulled.detach()) / self.SCALE**2).clamp(min=1e-12)
            terms["pull"] = mean((pulled - points[nearest].repeat(2, 1)).square().sum(1)) / size
        return terms

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        corners = corners_of(model)
        model.extra.clear()
        embedding, labels, _ = embed()
        show(model, corners.goal / corners.placed, seen(model, embedding), labels)


def show(model: Model, points: Tensor, embedding: Embedding, labels: Labels) -> None:
    """Set the head to the mean of each point and the unlabeled items that are nearest to it."""
    means = points.cpu().numpy()
    nearest = torch.cdist(torch.from_numpy(embedding[labels < 0]), points.cpu()).argmin(1).numpy()
    groups = [np.vstack([point, embedding[labels < 0][nearest == number]]) for number, point in enumerate(means)]
    set_centres(model, embedding, labels, np.stack([group.mean(0) for group in groups]))


def spread(points: Float[Tensor, "points dim"]) -> Float[Tensor, ""]:
    """The mean squared distance from the middle."""
    return mean((points - mean(points)).square().sum(1))


def corners_of(model: Model) -> Corners:
    corners = model.extra["corners"]
    assert isinstance(corners, Corners)
    return corners


def equidistant(centres: Points, scale: float) -> Points:
    """As many points with equal distances, around the same middle, turned so that each is close to its own centre.

    The unit vectors of U dimensions, less their mean, are a regular simplex; the best turn of it (orthogonal
    Procrustes) comes from a singular value decomposition, and keeps all distances.
    """
    middle = centres.mean(0)
    simplex = np.eye(len(centres)) - 1 / len(centres)
    left, _, right = np.linalg.svd(simplex.T @ (centres - middle), full_matrices=False)
    radius = scale * np.sqrt(np.square(centres - middle).sum(1).mean())
    unit = np.sqrt(max(1 - 1 / len(centres), 1e-12))
    return middle + radius / unit * (simplex @ left @ right)
