"""What a method is to the training loop: stages, a loss on a batch, and two hooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from novakind.model import Model

Embedded = tuple[Float[np.ndarray, "items dim"], Int[np.ndarray, " items"]]


@dataclass(frozen=True)
class Batch:
    """The items of one step, augmented: labeled rows first, then the first views of unlabeled ones, then the second."""

    x: Tensor
    labels: Int[Tensor, " labeled"]
    progress: float
    """How much of the stage is done, from 0 to 1."""

    def split(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of a model's outputs that belong to labeled items, first views and second views."""
        labeled = len(self.labels)
        views = (len(outputs) - labeled) // 2
        first, second = outputs[labeled : labeled + views], outputs[labeled + views :]
        return outputs[:labeled], first, second


@dataclass(frozen=True)
class Stage:
    """A part of the training with an optimiser and a schedule of its own."""

    name: str
    epochs: int
    labeled: bool = True
    """Whether its batches hold labeled items."""
    unlabeled: bool = True
    """Whether its batches hold unlabeled items."""


@runtime_checkable
class Method(Protocol):
    """A loss, in one stage or several."""

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        """How `epochs` are spent."""
        ...

    def prepare(self, model: Model) -> None:
        """Add the method's own modules to `model.extra`; called once, before the first stage."""
        ...

    def before_epoch(self, model: Model, stage: Stage, history: list[dict]) -> None:
        """A chance to look back: `history` holds the lines of metrics.jsonl so far."""
        ...

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        """The weighted terms; their sum is minimised, and each is logged under its name."""
        ...

    def finish(self, model: Model, embed: Callable[[], Embedded]) -> None:
        """What follows training; `embed()` gives embeddings and labels (-1 = unlabeled) of the training items."""
        ...
