"""fit(): the training loop that every method runs through."""

from __future__ import annotations

import copy
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from novakind.config import Config, Optim
from novakind.data.collection import Collection
from novakind.data.sampler import Drawn, Sampler
from novakind.data.split import Split
from novakind.methods import Batch, Embedded, Method, Stage, make_method
from novakind.model import Model, predict
from novakind.objective import metrics
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.training.collapse import check_finite, diagnose, distrust
from novakind.training.optim import make_optimizer, set_lr
from novakind.training.pace import affordable
from novakind.training.setup import derive, make_model, make_sampler


@runtime_checkable
class Checkpoints(Protocol):
    """Where a training is saved after every epoch, so that it can be resumed: a run folder."""

    def restore(self) -> dict[str, Any] | None: ...
    def history(self, epochs: int) -> list[dict[str, Any]]: ...
    def log(self, line: dict[str, Any]) -> None: ...
    def checkpoint(self, state: dict[str, Any]) -> None: ...


def fit(
    collection: Collection,
    split: Split,
    config: Config,
    run: Checkpoints | None = None,
    report: Reporter | None = None,
    encoder: nn.Module | None = None,
    first: Callable[[], Model] | None = None,
) -> tuple[Model, list[str], list[dict]]:
    """Train on the training part, from the run's last checkpoint on: the model, its warnings, the history by epoch.

    A training that begins takes over embedding and head of the model that `first` gives.

    All randomness is derived from (seed, stage, epoch), so that a checkpoint needs no generator's state and a resumed
    run ends with the same bytes as one that was never stopped.
    """
    report = report or Reporter(quiet=True)
    config = config if config.views else replace(config, views=collection.modality.Views())
    prior = Prior.parse(config.prior, len(collection.classes), config.novel, config.known_share)
    sampler = make_sampler(collection, split, config)
    method = make_method(config, prior)
    method.reveal(torch.from_numpy(collection.truth))
    model = make_model(collection, split, config, report, encoder)
    saved = run.restore() if run else None
    if first and not saved:
        take_over(model, first())
    kept = copy.deepcopy(model) if config.ema else model  # the weights, or their running average, that are evaluated
    planned = saved["planned"] if saved else plan(collection, split, config, prior, sampler, model)
    stages = method.stages(planned)
    total, done = sum(stage.epochs for stage in stages), saved["epochs"] if saved else 0
    history = run.history(done) if run else []

    report.begin("training", total, done)
    for number, stage in enumerate(stages):
        before = sum(earlier.epochs for earlier in stages[:number])
        interrupted = saved if before < done <= before + stage.epochs else None
        optimizer = enter(stage, method, model, kept, config.optim, derive(config.seed, number), interrupted)
        for epoch in range(max(0, done - before), stage.epochs):
            started = time.monotonic()
            torch.manual_seed(derive(config.seed, number, epoch))
            method.before_epoch(model.train(), stage, epoch, history, lambda: embed(model, collection, split))
            sums, lr = defaultdict[str, float](float), 0.0
            for step, items in enumerate(sampler.epoch(before + epoch), epoch * sampler.steps):
                progress = step / (stage.epochs * sampler.steps)
                lr = set_lr(optimizer, config.optim, progress, stage.lr)
                for batch in batches(collection, model, stage, config, items, progress):
                    for name, term in take_step(model, method, optimizer, batch).items():
                        sums[name] += term / sampler.steps
                if config.ema:
                    move_towards(kept, model, decay_at(before * sampler.steps + step, config.ema))
            check_finite(sums, before + epoch + 1)
            seen = watch(kept, collection, split, prior, method)
            history.append(log_line(before + epoch + 1, stage, lr, time.monotonic() - started, sums, *seen))
            if run:
                run.log(history[-1])
                run.checkpoint(state_of(model, kept, optimizer, before + epoch + 1, planned))
            report.epoch(history[-1], total)
    report.end()

    method.adopt(kept, model)
    method.finish(kept, lambda: embed(kept, collection, split))
    scores, warning = watch(kept, collection, split, prior, method)
    held_out = int((collection.labels[split.val] >= 0).sum())
    doubt = distrust(scores, held_out, collection.modality.caution("doubt"))
    return kept.eval(), [text for text in (warning, doubt) if text], history


def enter(
    stage: Stage, method: Method, model: Model, kept: Model, optim: Optim, seed: int, saved: dict[str, Any] | None
) -> torch.optim.Optimizer:
    """Set the weights and their average up for a stage, alike; a checkpoint from within it is restored."""
    for each in dict.fromkeys((model, kept)):  # one, where there is no average
        torch.manual_seed(seed)
        method.begin(each, stage)
    optimizer = make_optimizer(model, optim)
    if saved:
        model.load_state_dict(saved["model"])
        kept.load_state_dict(saved["kept"])
        optimizer.load_state_dict(saved["optimizer"])
    return optimizer


def take_over(model: Model, first: Model) -> None:
    """Start with the embedding and the head of a model of the same width."""
    model.embed.load_state_dict(first.embed.state_dict())
    model.head.load_state_dict(first.head.state_dict())


def take_step(model: Model, method: Method, optimizer: torch.optim.Optimizer, batch: Batch) -> dict[str, float]:
    """One step downhill on the sum of the method's terms."""
    terms = method.loss(model, batch)
    if not terms:  # every term that this kind of items has is switched off
        return {}
    optimizer.zero_grad(set_to_none=True)
    torch.stack(list(terms.values())).sum().backward()
    optimizer.step()
    return {name: term.item() for name, term in terms.items()}


def plan(collection: Collection, split: Split, config: Config, prior: Prior, sampler: Sampler, model: Model) -> int:
    """The number of epochs: as asked for, else by the time that may be taken, else by the amount of data."""
    if config.epochs or not config.minutes:
        return config.epochs or choose_epochs(sampler.steps, config.clustered)
    method = make_method(config, prior)
    method.reveal(torch.from_numpy(collection.truth))
    stages = method.stages(100)

    def rehearse(number: int) -> Callable[[float], None]:
        spoilt = copy.deepcopy(model).train()
        for stage in stages[: number + 1]:
            method.begin(spoilt, stage)
        optimizer = make_optimizer(spoilt, config.optim)
        method.before_epoch(spoilt, stages[number], 0, [], lambda: embed(spoilt, collection, split))

        def take(progress: float) -> None:
            items = next(iter(sampler.epoch(0)))
            for batch in batches(collection, spoilt, stages[number], config, items, progress):
                take_step(spoilt, method, optimizer, batch)

        return take

    follow = functools.partial(watch, model, collection, split, prior, method)
    return affordable(config.minutes, stages, sampler.steps, rehearse, follow)


def embed(model: Model, collection: Collection, split: Split) -> Embedded:
    """The training items as the model sees them."""
    return Embedded(predict(model, collection.items[split.train])[0], collection.labels[split.train], split.train)


def choose_epochs(steps: int, clustered: bool = False) -> int:
    """About 600 steps, but never fewer than 30 epochs; half and a third of that from a start that is nearly there."""
    return max(10, round(300 / steps)) if clustered else max(30, round(600 / steps))


def batches(
    collection: Collection,
    model: Model,
    stage: Stage,
    config: Config,
    items: Drawn,
    progress: float,
) -> Iterator[Batch]:
    """One batch of all items of a step, or one of each kind in turn; unlabeled items in two independent views."""
    none = items.labeled[:0]
    labeled = items.labeled if stage.labeled else none
    unlabeled, second = (items.unlabeled, items.second) if stage.unlabeled else (none, none)
    turns = [(labeled, unlabeled, second)]
    if config.steps == "alternating" and len(labeled) and len(unlabeled):
        turns = [(labeled, none, none), (none, unlabeled, second)]
    for with_label, without, again in turns:
        rows = np.concatenate([with_label, without, again])
        x = views(model, collection.items, rows, config, progress)
        labels = torch.from_numpy(collection.labels[with_label]).to(model.device)
        yield Batch(x.to(model.device), labels, progress, torch.from_numpy(without).to(model.device))


@torch.no_grad()
def views(model: Model, items: np.ndarray, rows: np.ndarray, config: Config, progress: float) -> Tensor:
    """A random view of each row, ready for the encoder; drawn from torch's global generator, seeded each epoch."""
    modality, policy = model.modality, config.views.at(progress)
    return modality.normalise(modality.augment(modality.collate(items[rows]), policy, torch.default_generator))


def watch(
    model: Model, collection: Collection, split: Split, prior: Prior, method: Method
) -> tuple[dict[str, float], str | None]:
    """Scores on the validation part where truth is known, and a warning if predictions have collapsed."""
    part = split.val if len(split.val) else split.train[:: max(1, len(split.train) // 1000)]
    _, logp = predict(model, collection.items[part])
    unlabeled = collection.labels[part] < 0
    line = metrics.scores(collection.truth[part], logp, prior.known, "val") if len(split.val) else {}
    novel = np.exp(logp[unlabeled])
    if len(novel):
        line["novel_confidence/val"] = float(novel.max(1).mean())
        line["novel_share/val"] = float((novel.argmax(1) >= prior.known).mean())
    return line, diagnose(logp[unlabeled], prior, method.weighable)


def log_line(
    epoch: int,
    stage: Stage,
    lr: float,
    seconds: float,
    sums: dict[str, float],
    scores: dict[str, float],
    warning: str | None,
) -> dict[str, Any]:
    """What an epoch came to; it warns of a collapse only in stages that train on unlabeled items."""
    head = {"epoch": epoch, "stage": stage.name, "lr": lr, "seconds": seconds}
    losses = {f"loss/{name}": value for name, value in sums.items()} | {"loss/total": sum(sums.values())}
    return head | losses | scores | ({"warning": warning} if warning and stage.unlabeled else {})


def decay_at(step: int, most: float) -> float:
    """What stays of the running average at a step: less at first, so that the untrained weights are soon forgotten."""
    return min(most, (1 + step) / (10 + step))


@torch.no_grad()
def move_towards(kept: Model, model: Model, decay: float) -> None:
    """The running average of weights and of batch statistics, after a step; counters are copied.

    What is frozen is left alone: between two infinite values, as masks hold them, there is no average.
    """
    for (name, average), latest in zip(kept.state_dict().items(), model.state_dict().values(), strict=True):
        if name.rpartition(".")[0] not in model.frozen:
            average.lerp_(latest, 1 - decay) if average.is_floating_point() else average.copy_(latest)


def state_of(model: Model, kept: Model, optimizer: torch.optim.Optimizer, epochs: int, planned: int) -> dict:
    """What a checkpoint holds; without an average `kept` is the model, and torch writes shared tensors once."""
    return {
        "epochs": epochs,
        "planned": planned,
        "model": model.state_dict(),
        "kept": kept.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
