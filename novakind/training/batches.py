"""The batches of a step: random views of its items, where the model is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from novakind.config import Config
from novakind.data.collection import Collection
from novakind.data.sampler import Drawn, Sampler
from novakind.methods import Batch, Stage
from novakind.model import Model
from novakind.rows import Items
from novakind.training import distributed


def steps(
    collection: Collection, model: Model, stage: Stage, config: Config, sampler: Sampler, epoch: int, number: int
) -> Iterator[tuple[int, list[Batch]]]:
    """The batches of every step of an epoch, this process's part of them, with the number of the step in its stage.

    Views are drawn from a generator of their own, which begins where torch's is now: so steps can be made ahead, while
    dropout draws from torch's. Steps in parts are looked at in the step itself, which leaves nothing to be made.
    """
    generator = begun(model.device)
    for step, items in enumerate(sampler.epoch(number), epoch * sampler.steps):
        progress = step / (stage.epochs * sampler.steps)
        share = distributed.share(items)
        yield step, list(batches(collection, model, stage, config, share, progress, sampler.parts > 1, generator))


def batches(
    collection: Collection,
    model: Model,
    stage: Stage,
    config: Config,
    items: Drawn,
    progress: float,
    numbered: bool = False,
    generator: torch.Generator = torch.default_generator,
) -> Iterator[Batch]:
    """One batch of all items of a step, or one of each kind in turn; unlabeled items in two independent views.

    Where a step is seen in parts, it is `numbered`: `x` are the numbers of the items.
    """
    none = items.labeled[:0]
    labeled = np.tile(items.labeled, stage.labeled_views) if stage.labeled else none
    unlabeled, second = (items.unlabeled, items.second) if stage.unlabeled else (none, none)
    turns = [(labeled, unlabeled, second)]
    if config.steps == "alternating" and len(labeled) and len(unlabeled):
        turns = [(labeled, none, none), (none, unlabeled, second)]
    for with_label, without, again in turns:
        rows = np.concatenate([with_label, without, again])
        numbers = torch.from_numpy(rows)
        x = numbers if numbered else views_of(collection, model, config, numbers, progress, generator)
        labels = placed(torch.from_numpy(collection.labels[with_label]), model)
        barred = collection.decided.is_barred(without) if collection.decided else None
        yield Batch(
            x,
            labels,
            progress,
            placed(torch.from_numpy(without), model),
            None if barred is None else placed(torch.from_numpy(barred), model),
        )


def placed(tensor: Tensor, model: Model) -> Tensor:
    """The tensor where the model is; a GPU fetches it while it works on something else."""
    device = model.device
    if device.type != "cuda" or tensor.is_cuda:
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def views_of(
    collection: Collection,
    model: Model,
    config: Config,
    numbers: Tensor,
    progress: float,
    generator: torch.Generator = torch.default_generator,
) -> Tensor:
    """A random view of each item, where the model is."""
    return placed(views(model, collection.items, numbers.numpy(), config, progress, generator), model)


@torch.no_grad()
def views(
    model: Model,
    items: Items,
    rows: np.ndarray,
    config: Config,
    progress: float,
    generator: torch.Generator = torch.default_generator,
) -> Tensor:
    """A random view of each row, ready for the encoder; made by the GPU itself, where there is one."""
    modality, policy = model.modality, config.views.at(progress)
    batch = modality.collate(items[rows])
    if not makes_views(model.device) or not batch.is_floating_point():  # texts are cut into words by a program
        return modality.normalise(modality.augment(batch, policy, generator))
    batch = placed(batch, model)
    with model.device:  # whatever is drawn is drawn there
        return modality.normalise(modality.augment(batch, policy, drawing(model.device, generator)))


def makes_views(device: torch.device) -> bool:
    """Whether views are made where the network is. On Apple's GPUs never tried, so they are not."""
    return device.type not in ("cpu", "mps")


def drawing(device: torch.device, generator: torch.Generator) -> torch.Generator:
    """A GPU draws from a generator of its own: the given one, if it is one, else the GPU's, as dropout does."""
    if device.type != "cuda" or generator.device.type == "cuda":
        return generator
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def begun(device: torch.device) -> torch.Generator:
    """A generator that begins where torch's is now, on the device that draws."""
    if device.type == "cuda":
        return torch.Generator(device).manual_seed(torch.initial_seed())
    generator = torch.Generator()
    generator.set_state(torch.get_rng_state())
    return generator
