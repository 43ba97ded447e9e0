"""Feature vectors that the user computed: embeddings, measurements, table rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from novakind.errors import UserError
from novakind.modality.display import Pictures
from novakind.modality.numbers import finite, pieces
from novakind.modality.paper import PAPER
from novakind.settings import BelowOne, Range, Share, check

# default: vectors that mean something already, such as embeddings: categories start where k-means finds them, and a
# linear map is learnt. learnt: measurements, of which a network has to find out what matters.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {
        "encoder": "flat",
        "dim": 0,
        "start": "clusters",
        "prior": "auto",
        "batch": 512,
        "objective.ce": 2.0,
        "objective.kl": 0.5,
        "objective.novel_mass": 1.0,
        "objective.var": 0.0,
        "optim.name": "adamw",
        "optim.lr": 1e-3,
        "optim.weight_decay": 0.0,
    },
    "learnt": {"encoder": "mlp", "views.noise": 0.3, "views.mix": 0.2, "views.neighbours": 0},
    "paper": PAPER,
}


LABELED, CLEARLY = 2000, 0.1  # rows by which a scaling is chosen, and by how much it must be better
UNLIKE = 20  # times as large: numbers that vary so much more than others are in other units; those of embeddings do not


@dataclass(frozen=True)
class FeatureViews:
    """How a vector, which has length 1, may vary without leaving its class."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: noise, dropout and mixing; weak: noise alone; none: the vector as it is."""
    noise: Annotated[float, Range(0, 100)] = 0.0
    """Length of the noise that is added."""
    drop: BelowOne = 0.1
    """Chance that a feature is set to zero."""
    mix: Share = 0.0
    """At most this share of another item of the batch is mixed in."""
    neighbours: Annotated[int, Range(0, 1000)] = 10
    """The second view of an unlabeled item is one of so many nearest others that have it among their own nearest ones;
    0: it is the item itself."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> FeatureViews:
        return self


@dataclass(frozen=True)
class FeatureReading:
    """Vectors are taken as they are."""


@dataclass(frozen=True)
class Features:
    """Vectors of `len(mean)` numbers, centred and scaled, then brought to length 1.

    How they are centred and scaled is chosen by the known classes: so that k-means tells them apart best. A constant
    `lift` beside the numbers keeps their length, which else is lost: in few dimensions it matters.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    lift: float = 0.0

    kind = "features"
    noun = "vectors"
    example = "an .npz or .npy with an array X, or a table with a column vector"
    arrays = "vectors (N x D)"
    endings = frozenset()
    dtype = "float32"
    Reading = FeatureReading
    Views = FeatureViews
    presets = PRESETS
    trainable = True
    shown = ""

    @classmethod
    def recognises(cls, file: Path) -> bool:
        return True

    @classmethod
    def survey(cls, files: Sequence[Path], reading: FeatureReading, origin: Any = None) -> Features:
        raise UserError(f"{files[0]} is a file, and vectors come as one array: give {cls.example}")

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        return "", ""

    @classmethod
    def from_array(cls, X: np.ndarray, reading: FeatureReading) -> tuple[np.ndarray, Features] | None:
        if X.ndim != 2 or not X.size:
            return None
        items = finite(X)
        return items, cls.of(items)

    @classmethod
    def of(cls, rows: Float[np.ndarray, "items dim"]) -> Features:
        """Statistics of `rows`; constant features (to float32's precision) get scale 1, so that they stay at zero."""
        mean = np.sum([part.sum(0, dtype=np.float64) for _, part in pieces(rows)], 0) / len(rows)
        std = np.sqrt(np.sum([np.square(part - mean).sum(0) for _, part in pieces(rows)], 0) / len(rows))
        std[std <= 1e-7 * np.max([np.abs(part).max(0) for _, part in pieces(rows)], 0)] = 1.0
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Features:
        """The scaling in which k-means tells the labeled rows apart best; the plain one where others are no better.

        Where fewer than two classes are labeled, numbers are brought to one scale if they are in unlike units.
        """
        some = np.flatnonzero(labels >= 0) if labels is not None else np.zeros(0, np.int64)
        some = some[:: max(1, len(some) // LABELED)]
        options = Features.scalings(rows)
        if labels is None:
            return options[0]
        if len(np.unique(labels[some])) < 2:
            return options[-1] if unlike_scales(options[-1].std) else options[0]
        found = [one.told_apart(rows[some], labels[some]) for one in options]
        best = max(range(len(options)), key=lambda number: found[number])
        return options[best] if found[best] > found[0] + CLEARLY else options[0]

    @classmethod
    def scalings(cls, rows: np.ndarray) -> list[Features]:
        """As they are; centred; standardised; standardised with their length."""
        full = cls.of(rows)
        zero, one = (0.0,) * len(full.mean), (1.0,) * len(full.mean)
        lifted = replace(full, lift=math.sqrt(len(full.mean)))
        return [cls(zero, one), cls(full.mean, one), full, lifted]

    def told_apart(self, rows: np.ndarray, labels: np.ndarray) -> float:
        """How well k-means finds these classes again: the adjusted Rand index."""
        from sklearn.cluster import KMeans
        from sklearn.metrics import adjusted_rand_score

        classes = len(np.unique(labels))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that are alike in this scaling: it is not taken then
            found = KMeans(classes, n_init=3, random_state=0).fit_predict(self.collate(rows).numpy())
        return float(adjusted_rand_score(labels, found))

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.mean),)

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        raise UserError(f"{path} is one file, but this model sorts feature vectors: give it an .npz with an array X")

    def reading(self) -> FeatureReading:
        return FeatureReading()

    def for_encoder(self, origin: Any) -> Features:
        return self

    def decoding(self) -> dict[str, Any]:
        return {"kind": self.kind, "length": len(self.mean)}

    def check(self, views: FeatureViews, rows: Iterable[np.ndarray]) -> None:
        """All views go with vectors."""

    def collate(self, rows: np.ndarray) -> Tensor:
        return self.from_tensor(torch.from_numpy(np.array(rows, dtype=np.float32)))

    def from_tensor(self, rows: Tensor) -> Tensor:
        """As `collate`, within a network that is exported."""
        batch = (rows - torch.tensor(self.mean)) / torch.tensor(self.std)
        if self.lift:
            batch = torch.cat([batch, torch.full_like(batch[:, :1], self.lift)], 1)
        return normalize(batch, dim=1)

    def augment(self, batch: Tensor, policy: FeatureViews, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return batch
        if policy.strength == "strong":
            partner = batch[torch.randperm(len(batch), generator=generator)]
            batch = batch.lerp(partner, policy.mix * torch.rand(len(batch), 1, generator=generator))
        batch = batch + policy.noise / math.sqrt(batch.shape[1]) * torch.randn(batch.shape, generator=generator)
        if policy.strength == "strong":
            batch = batch * (torch.rand(batch.shape, generator=generator) >= policy.drop)
        return batch

    def normalise(self, batch: Tensor) -> Tensor:
        return batch

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Pictures:
        return Pictures(lambda item: None)

    def plain(self, rows: np.ndarray) -> Float[np.ndarray, "items dim"]:
        return self.collate(rows).numpy()

    def caution(self, about: str) -> str:
        return ""

    def looking(self) -> dict[str, Any]:
        return self.settings()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def unlike_scales(deviations: Sequence[float]) -> bool:
    """Whether some numbers vary so much more than others that they must be in other units."""
    low, high = np.quantile(deviations, 0.1, method="lower"), np.quantile(deviations, 0.9, method="higher")
    return bool(high > UNLIKE * low)
