"""Feature vectors that the user computed: embeddings, measurements, table rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from novakind.errors import UserError
from novakind.modality.display import Pictures
from novakind.modality.numbers import finite
from novakind.modality.paper import PAPER
from novakind.settings import BelowOne, Range, Share, check

PRESETS: dict[str, dict[str, Any]] = {"default": {}, "paper": PAPER}


@dataclass(frozen=True)
class FeatureViews:
    """How a feature vector may vary without leaving its class; in units of the standardised features."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: noise, dropout and mixing; weak: noise alone; none: the vector as it is."""
    noise: Annotated[float, Range(0, 100)] = 0.3
    """Standard deviation of the noise added to every standardised feature."""
    drop: BelowOne = 0.1
    """Chance that a feature is set to its mean."""
    mix: Share = 0.2
    """At most this share of another item of the batch is mixed in."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> FeatureViews:
        return self


@dataclass(frozen=True)
class FeatureReading:
    """Vectors are taken as they are."""


@dataclass(frozen=True)
class Features:
    """Vectors of `len(mean)` numbers, standardised with the statistics of the training items."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    kind = "features"
    noun = "vectors"
    example = "an .npz with an array X"
    arrays = "vectors (N x D)"
    endings = frozenset()
    dtype = "float32"
    Reading = FeatureReading
    Views = FeatureViews
    presets = PRESETS

    @classmethod
    def survey(cls, files: Sequence[Path], reading: FeatureReading) -> Features:
        raise UserError(f"{files[0]} is a file, and vectors come as one array: give {cls.example}")

    @classmethod
    def from_array(cls, X: np.ndarray, reading: FeatureReading) -> tuple[np.ndarray, Features] | None:
        if X.ndim != 2 or not X.size:
            return None
        items = finite(X)
        return items, cls.of(items)

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

    def reading(self) -> FeatureReading:
        return FeatureReading()

    def decoding(self) -> dict[str, Any]:
        return {"kind": self.kind, "length": len(self.mean)}

    def check(self, views: FeatureViews, rows: Iterable[np.ndarray]) -> None:
        """All views go with vectors."""

    def collate(self, rows: np.ndarray) -> Tensor:
        batch = torch.from_numpy(np.array(rows, dtype=np.float32))
        return (batch - torch.tensor(self.mean)) / torch.tensor(self.std)

    def augment(self, batch: Tensor, policy: FeatureViews, generator: torch.Generator) -> Tensor:
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

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Pictures:
        return Pictures(lambda item: None)

    def caution(self, about: str) -> str:
        return ""

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}
