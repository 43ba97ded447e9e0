"""Supervised contrast, then k-means (Khosla et al., 2020, "Supervised Contrastive Learning").

Embeddings of labeled items are drawn to others of their class and away from the rest. So the known classes teach what
matters, and k-means on the embeddings of the unlabeled items finds the new categories.

The authors': the loss, temperature 0.07, two views of each item. Ours: there is no projection to discard, as the
embedding is already a linear map of the features; embeddings are brought to length 1 before k-means, as the loss
compares directions; the answer over all classes, which is the nearest centre; views, encoder, optimiser and batch.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from novakind.config import Config
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.supervised import place_centres
from novakind.model import Model
from novakind.objective.batch import gathered
from novakind.objective.prior import Prior


class SupCon(Method):
    """One stage on labeled items; centres at the end."""

    temperature = 0.07

    def __init__(self, config: Config, prior: Prior) -> None:
        self.seed, self.prior = config.seed, prior

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("contrast", epochs, unlabeled=False, labeled_views=2),)

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {"contrast": contrast(gathered(model.embedding(batch.x)), gathered(batch.labels), self.temperature)}

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        place_centres(model, embed, self.prior, self.seed)


def contrast(
    embedding: Float[Tensor, "rows dim"], group: Int[Tensor, " rows"], temperature: float
) -> Float[Tensor, ""]:
    """Each row must find the others of its group among all other rows, by cosine; a row that is alone is left out."""
    directions = F.normalize(embedding, dim=1)
    alike = directions @ directions.T / temperature
    itself = torch.eye(len(group), dtype=torch.bool, device=group.device)
    logp = torch.log_softmax(alike.masked_fill(itself, torch.finfo(alike.dtype).min), 1)
    partners = (group[:, None] == group[None]) & ~itself
    count = partners.sum(1)
    found = logp.masked_fill(~partners, 0).sum(1) / count.clamp(min=1)
    return -found.sum() / (count > 0).sum().clamp(min=1)
