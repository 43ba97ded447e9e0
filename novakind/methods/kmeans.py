"""The simplest baseline: k-means on the items as they are, without any learning (MacQueen, 1967; Lloyd, 1982).

No epoch is trained, whatever --epochs says. The encoder is "flat": normalised pixels or features in one row, pictures
above 32 pixels averaged down to that. Where a row has more numbers than --dim, the embedding is its first --dim
principal components over the training items; else it is the row itself, filled up with zeros, which no distance sees.
Then centres, as for supervised features: the means of the known classes, and k-means of the unlabeled items.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from novakind.config import Config
from novakind.encoders.flat import Flat
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.supervised import place_centres
from novakind.model import Model, seen_shape
from novakind.objective.prior import Prior


class Kmeans(Method):
    """One stage without epochs, in which the encoder is replaced; centres at the end."""

    def __init__(self, config: Config, prior: Prior) -> None:
        self.seed, self.prior = config.seed, prior

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("kmeans", 0),)

    def begin(self, model: Model, stage: Stage) -> None:
        model.replace_encoder("flat", Flat(seen_shape(model.modality)))

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        return {}

    @torch.no_grad()
    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        wide = model.embed.in_features
        mean, axes = np.zeros(wide), np.eye(wide)
        if wide > model.card.dim:
            mean, axes = principal_axes(raw_rows(model, embed)[0], model.card.dim, self.seed)
        model.embed.weight.zero_()[: len(axes)] = torch.from_numpy(axes)
        model.embed.bias.zero_()[: len(axes)] = torch.from_numpy(-axes @ mean)
        place_centres(model, embed, self.prior, self.seed, "centroid")


def raw_rows(
    model: Model, embed: Callable[..., Embedded], most: int = 0
) -> tuple[Float[np.ndarray, "items numbers"], Int[np.ndarray, " items"]]:
    """The encoder's outputs for the training items, at most so many, recorded while they are embedded, and their
    labels."""
    heard: list[Tensor] = []
    listener = model.encoder.register_forward_hook(lambda module, inputs, output: heard.append(output.cpu()))
    labels = embed(most).labels
    listener.remove()
    return torch.cat(heard).numpy(), labels


def principal_axes(
    rows: Float[np.ndarray, "items numbers"], dim: int, seed: int
) -> tuple[Float[np.ndarray, " numbers"], Float[np.ndarray, "axes numbers"]]:
    """The mean, and at most `dim` directions in which the rows vary most."""
    from sklearn.decomposition import PCA  # here, since its import takes a second

    pca = PCA(min(dim, *rows.shape), random_state=seed).fit(rows)
    return pca.mean_, pca.components_
