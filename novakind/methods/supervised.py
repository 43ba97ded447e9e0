"""The naive baseline: learn the known classes alone, then k-means on the embeddings of the unlabeled items.

Agnostic predictions take the nearest of all centres: the means of the known classes and the k-means centres.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from torch import Tensor

from novakind import losses
from novakind.config import Config
from novakind.heads import CentroidHead
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.model import Model
from novakind.prior import Prior


class Supervised(Method):
    """Cross-entropy on labeled items; centres at the end."""

    def __init__(self, config: Config, prior: Prior) -> None:
        self.config, self.prior = config, prior

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("supervised", epochs, unlabeled=False),)

    def begin(self, model: Model, stage: Stage) -> None:
        model.replace_head("linear")  # fixed prototypes would leave no trace of what sets novel items apart

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        # The novel neurons stay silent: they have no item to learn from yet.
        logp = model(batch.x)[:, : self.prior.known]
        return {"ce": losses.cross_entropy(torch.log_softmax(logp, 1), batch.labels, self.config.objective.smoothing)}

    def finish(self, model: Model, embed: Callable[[], Embedded]) -> None:
        place_centres(model, embed, self.prior, self.config.seed)


def place_centres(model: Model, embed: Callable[[], Embedded], prior: Prior, seed: int) -> None:
    """Let the nearest centre decide: the known classes' means, and k-means centres of the unlabeled items."""
    embedding, labels, _ = embed()
    known = [embedding[labels == number].mean(0) for number in range(prior.known)]
    kmeans = KMeans(len(prior.novel), n_init=10, random_state=seed).fit(embedding[labels < 0])
    centres = np.concatenate([np.stack(known), kmeans.cluster_centers_])
    head = model.replace_head("centroid")
    assert isinstance(head, CentroidHead)
    head.centres.copy_(torch.from_numpy(centres))
    head.spread.fill_(float(cdist(embedding, centres, "sqeuclidean").min(1).mean()))
