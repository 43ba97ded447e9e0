"""What a method is to the training loop: stages, a loss on a batch, and hooks between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

from novakind.model import Model


class Embedded(NamedTuple):
    """The training items as the model sees them now, without augmentation."""

    embedding: Float[np.ndarray, "items dim"]
    labels: Int[np.ndarray, " items"]
    """-1 = unlabeled."""
    items: Int[np.ndarray, " items"]
    """Their numbers in the collection."""


@dataclass(frozen=True)
class Batch:
    """The items of one step, augmented: labeled rows first, then the first views of unlabeled ones, then the second."""

    x: Tensor
    labels: Int[Tensor, " labeled"]
    progress: float
    """How much of the stage is done, from 0 to 1."""
    items: Int[Tensor, " views"]
    """The unlabeled items' numbers in the collection, in the order of their views."""
    barred: Bool[Tensor, "views classes"] | None = None
    """What a person said that they are not of; None where nobody said anything."""

    def split(self, outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of a model's outputs that belong to labeled items, first views and second views."""
        labeled, views = len(self.labels), len(self.items)
        return outputs[:labeled], outputs[labeled : labeled + views], outputs[labeled + views :]


@dataclass(frozen=True)
class Stage:
    """A part of the training with an optimiser and a schedule of its own."""

    name: str
    epochs: int
    labeled: bool = True
    """Whether its batches hold labeled items."""
    unlabeled: bool = True
    """Whether its batches hold unlabeled items."""
    lr: float = 1.0
    """Factor on the learning rate."""
    labeled_views: int = 1
    """In how many views each labeled item is seen."""
    batch: int = 0
    """So many unlabeled items in a step at most, where a publication has small batches; 0: as the settings say."""
    weak: bool = False
    """Whether its views are weak ones, as published, whatever the settings say."""


@runtime_checkable
class Method(Protocol):
    """A loss, in one stage or several; what a method does not need it inherits from here."""

    weighable = False
    """Whether it uses the weights of --objective, so that advice may name them."""
    joint = True
    """Whether it defines an answer over known and novel classes together: without one there is no task-agnostic
    score to compare, and what joins the two here is ours."""

    together = True
    """Whether several processes take the steps that one would: shown by a test, or refused."""

    in_parts = True
    """Whether it looks at items through the model's encoder alone, so that a step may be larger than memory."""

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        """How `epochs` are spent."""
        ...

    def reveal(self, truth: Int[Tensor, " items"]) -> None:
        """Receive the true class of every item (-1 = unknown); only an upper bound may use it."""

    def begin(self, model: Model, stage: Stage) -> None:
        """Set the model up for a stage: add modules to `model.extra`, change the head, choose the weights that learn.

        A run that resumes inside a later stage calls this for all stages so far, then restores the weights; so it
        must look neither at data nor at weights. Randomness is seeded by (seed, stage).
        """

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        """Prepare an epoch (from 0 in each stage); `history` holds the lines of metrics.jsonl so far.

        What is computed from data must be kept in buffers of `model.extra`, which checkpoints save.
        """

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        """The weighted terms; their sum is minimised, and each is logged under its name."""
        ...

    def noted(self, model: Model) -> dict[str, float]:
        """What it has learnt beside weights, such as shares: logged after each epoch."""
        return {}

    def adopt(self, average: Model, model: Model) -> None:
        """Copy into the average of the weights, when training is over, what is no weight and must not be averaged.

        Without an average both are the same model.
        """

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        """What follows training: the last chance to set the head that predicts."""
