"""The upper bound: what the same network learns, from the same views in the same steps, when every item is labeled.

It uses the true classes of the unlabeled items, so it is not a discovery method. Compared with the others it shows how
much of an error is due to the data: no method can be expected to separate what even a supervised network confuses.
"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from novakind.config import Config
from novakind.methods.protocol import Batch, Method, Stage
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.prior import Prior


class Oracle(Method):
    """Cross-entropy on all items whose true class is known."""

    def __init__(self, config: Config, prior: Prior) -> None:
        self.smoothing = config.objective.smoothing
        self.truth = torch.zeros(0, dtype=torch.long)

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("supervised", epochs),)

    def reveal(self, truth: Int[Tensor, " items"]) -> None:
        self.truth = truth

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        unlabeled = self.truth.to(batch.items.device)[batch.items]
        truth = torch.cat([batch.labels, unlabeled, unlabeled])
        given = truth >= 0
        return {"ce": losses.cross_entropy(model(batch.x)[given], truth[given], self.smoothing)}
