"""The naive baseline: learn the known classes alone, then k-means on the embeddings of the unlabeled items.

Embeddings are brought to length 1 before they are clustered, as is usual for features of a classifier. Task-agnostic
predictions take the nearest of all centres: the means of the known classes and the k-means centres. That is ours: the
published baseline gives task-aware answers alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from novakind.config import Config
from novakind.methods.clusters import kmeans, seen, set_centres
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.prior import Prior


class Supervised(Method):
    """Cross-entropy on labeled items; centres at the end."""

    def __init__(self, config: Config, prior: Prior) -> None:
        self.config, self.prior = config, prior

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("supervised", epochs, unlabeled=False),)

    def begin(self, model: Model, stage: Stage) -> None:
        model.replace_head("linear")  # fixed prototypes would erase what distinguishes novel items

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        # The novel neurons stay silent: they have no item to learn from yet.
        logp = model(batch.x)[:, : self.prior.known]
        return {"ce": losses.cross_entropy(torch.log_softmax(logp, 1), batch.labels, self.config.objective.smoothing)}

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        place_centres(model, embed, self.prior, self.config.seed)


def place_centres(
    model: Model, embed: Callable[..., Embedded], prior: Prior, seed: int, head: str = "direction"
) -> None:
    """Let the nearest centre decide: the known classes' means, and k-means centres of the unlabeled items."""
    embedding, labels, _ = embed()
    model.replace_head(head)
    points = seen(model, embedding)
    set_centres(model, points, labels, kmeans(points[labels < 0], len(prior.novel), seed).cluster_centers_)
