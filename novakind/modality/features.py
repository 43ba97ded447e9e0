"""Feature vectors that the user computed: embeddings, measurements, table rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from novakind.errors import UserError


@dataclass(frozen=True)
class FeatureAugment:
    """How a feature vector may vary without leaving its class; in units of the standardised features."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: noise, dropout and mixing; weak: noise alone; none: the vector as it is."""
    noise: float = 0.3
    """Standard deviation of the noise added to every standardised feature."""
    drop: float = 0.1
    """Chance that a feature is set to its mean."""
    mix: float = 0.2
    """At most this share of another item of the batch is mixed in."""


@dataclass(frozen=True)
class Features:
    """Vectors of `len(mean)` numbers, standardised with the statistics of the training items."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    kind = "features"
    dtype = "float32"

    @classmethod
    def of(cls, rows: Float[np.ndarray, "items dim"]) -> Features:
        """Statistics of `rows`; constant features (to float32's precision) get scale 1, so that they stay at zero."""
        std = rows.std(0, dtype=np.float64)
        std[std <= 1e-7 * np.abs(rows).max(0)] = 1.0
        return cls(tuple(rows.mean(0, dtype=np.float64).tolist()), tuple(std.tolist()))

    def fitted(self, rows: np.ndarray) -> Features:
        """The same with the statistics of these rows."""
        return Features.of(rows)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.mean),)

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        raise UserError(f"{path} is one file, but this model sorts feature vectors: give it an .npz with an array X")

    def collate(self, rows: np.ndarray) -> Tensor:
        batch = torch.from_numpy(np.array(rows, dtype=np.float32))
        return (batch - torch.tensor(self.mean)) / torch.tensor(self.std)

    def augment(self, batch: Tensor, policy: FeatureAugment, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return batch
        if policy.strength == "strong":
            partner = batch[torch.randperm(len(batch), generator=generator)]
            batch = batch.lerp(partner, policy.mix * torch.rand(len(batch), 1, generator=generator))
        batch = batch + policy.noise * torch.randn(batch.shape, generator=generator)
        if policy.strength == "strong":
            batch = batch * (torch.rand(batch.shape, generator=generator) >= policy.drop)
        return batch

    def normalise(self, batch: Tensor) -> Tensor:
        return batch

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        return None

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}
