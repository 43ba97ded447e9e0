"""fit(): the training loop that every method runs through."""

from __future__ import annotations

import copy
import functools
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn

from novakind.config import Config, Optim
from novakind.data.collection import Collection
from novakind.data.sampler import Sampler
from novakind.data.split import Split
from novakind.errors import UserError
from novakind.methods import Batch, Embedded, Method, Stage, make_method
from novakind.model import Model, embeddings_of
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.training import distributed
from novakind.training.ahead import ahead
from novakind.training.average import decay_at, move_towards
from novakind.training.batches import batches, steps, views_of
from novakind.training.collapse import check_finite, distrust, merged_early, unsettled
from novakind.training.memory import let_go
from novakind.training.optim import make_optimizer, set_lr
from novakind.training.pace import affordable, cost, duration, operations
from novakind.training.parts import in_parts
from novakind.training.running import Loss, runner, through
from novakind.training.setup import derive, make_model, make_sampler
from novakind.training.watch import confidences, log_line, watch

CHECKPOINT = "the run's checkpoint state.pt"
RETRAIN = "so it is damaged: delete it to train again from the start"


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
    let_go()
    distributed.check_shares(sampler)
    method = make_method(config, prior)
    distributed.check_method(method, config.method)
    method.reveal(torch.from_numpy(collection.truth))
    model = make_model(collection, split, config, report, encoder)
    saved = run.restore() if run else None
    if first and not saved:
        take_over(model, first())
    kept = copy.deepcopy(model) if config.ema else model  # the weights, or their running average, that are evaluated
    planned = saved["planned"] if saved else plan(collection, split, config, prior, sampler, model)
    planned = distributed.told(lambda: planned)  # measured times are not the same in all processes
    stages, samplers = method.stages(planned), whole_steps(method.stages(planned), sampler)
    total, done = sum(stage.epochs for stage in stages), saved["epochs"] if saved else 0
    if done > total or not planned:
        raise UserError(f"{CHECKPOINT} has {done} epochs of {total}, {RETRAIN}")
    history = run.history(done) if run else []

    report.begin("training", total, done)
    for number, stage in enumerate(stages):
        before, sampler = sum(earlier.epochs for earlier in stages[:number]), samplers[number]
        past = sum(earlier.epochs * each.steps for earlier, each in zip(stages[:number], samplers, strict=False))
        interrupted = saved if before < done <= before + stage.epochs else None
        optimizer = enter(stage, method, model, kept, config.optim, derive(config.seed, number), interrupted)
        own, see = weakened(config, stage), functools.partial(embed, model, collection, split)
        loss = loss_for(model, method, sampler, collection, own)
        for epoch in range(max(0, done - before), stage.epochs):
            started = time.monotonic()
            torch.manual_seed(derive(config.seed, number, epoch))
            method.before_epoch(model.train(), stage, epoch, history, see)
            if epoch == 0:
                let_go()
            distributed.alike(model)
            if not distributed.is_first():
                torch.manual_seed(derive(config.seed, number, epoch, distributed.rank()))  # other items, other views
            sums, lr = defaultdict[str, float](float), 0.0
            drawn = steps(collection, model, stage, own, sampler, epoch, before + epoch)
            for step, made in ahead(drawn, model.device):
                lr = set_lr(optimizer, config.optim, step / (stage.epochs * sampler.steps), stage.lr)
                for batch in made:
                    for name, term in take_step(loss, optimizer, batch).items():
                        sums[name] += term / sampler.steps
                if config.ema:
                    move_towards(kept, model, decay_at(past + step, config.ema))
            check_finite(sums, before + epoch + 1)
            seen = watch(kept, collection, split, prior, method)
            history.append(log_line(before + epoch + 1, stage, lr, time.monotonic() - started, sums, *seen))
            if run:
                run.log(history[-1])
                run.checkpoint(state_of(model, kept, optimizer, before + epoch + 1, planned))
            report.epoch(history[-1], total)
    report.end()

    method.adopt(kept, model)
    method.finish(kept, functools.partial(embed, kept, collection, split))
    scores, warning = watch(kept, collection, split, prior, method)
    held_out = int((collection.labels[split.val] >= 0).sum())
    doubt = distrust(scores, held_out, collection.modality.caution("doubt"))
    poor = unsettled(*confidences(kept, collection, split)) if stages[-1].unlabeled and history else None
    early = merged_early(history[-1]) if history else None
    let_go()
    return kept.eval(), [text for text in (warning, doubt, early, None if warning else poor) if text], history


def enter(
    stage: Stage, method: Method, model: Model, kept: Model, optim: Optim, seed: int, saved: dict[str, Any] | None
) -> torch.optim.Optimizer:
    """Set the weights and their average up for a stage, alike; a checkpoint from within it is restored."""
    for each in dict.fromkeys((model, kept)):  # one, where there is no average
        torch.manual_seed(seed)
        method.begin(each, stage)
        distributed.normalised_together(each)
    optimizer = make_optimizer(model, optim)
    if saved:
        try:
            model.load_state_dict(saved["model"])
            kept.load_state_dict(saved["kept"])
            optimizer.load_state_dict(saved["optimizer"])
        except Exception as error:  # torch says in many ways that tensors do not fit
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            raise UserError(f"{CHECKPOINT} does not fit its settings ({reason}), {RETRAIN}") from None
    return optimizer


def take_over(model: Model, first: Model) -> None:
    """Start with the embedding and the head of a model of the same width, and with its encoder, if of the same kind."""
    if type(first.encoder) is type(model.encoder):
        model.encoder.load_state_dict(first.encoder.state_dict())
    model.embed.load_state_dict(first.embed.state_dict())
    model.head.load_state_dict(first.head.state_dict())


def loss_for(model: Model, method: Method, sampler: Sampler, collection: Collection, config: Config) -> Loss:
    """The loss of a batch, whichever processes hold it, and in however many parts it is seen."""
    loss, run = distributed.trained(model, method), runner(model, config)
    if sampler.parts == 1:
        return through(loss, model, run)
    return in_parts(loss, model, run, functools.partial(views_of, collection, model, config), sampler.parts)


def take_step(loss: Loss, optimizer: torch.optim.Optimizer, batch: Batch) -> dict[str, float]:
    """One step downhill on the sum of the method's terms."""
    terms = loss(batch)
    if not terms:  # every term that this kind of items has is switched off
        return {}
    optimizer.zero_grad(set_to_none=True)
    torch.stack(list(terms.values())).sum().backward()
    optimizer.step()
    return {name: term.item() for name, term in terms.items()}


def plan(collection: Collection, split: Split, config: Config, prior: Prior, sampler: Sampler, model: Model) -> int:
    """The number of epochs: by the work or as asked for, else by the time that may be taken or the amount of data."""
    if not config.work and (config.epochs or not config.minutes):
        return config.epochs or choose_epochs(sampler.steps, config.prepared)
    method, stages, steps, rehearse = rehearsal(collection, split, config, prior, sampler, model)
    if config.work:
        return max(config.epochs, affordable(1e12 * config.work, stages, steps, rehearse, None, operations))
    follow = functools.partial(watch, model, collection, split, prior, method)
    return affordable(60 * config.minutes, stages, steps, rehearse, follow, duration)


def budget_of(collection: Collection, split: Split, config: Config) -> tuple[float, int]:
    """The work of a training, in 10^12 operations, and its epochs: for the work or the epochs asked for, else those of
    a start from random weights."""
    prior = Prior.parse(config.prior, len(collection.classes), config.novel, config.known_share)
    sampler = make_sampler(collection, split, config)
    model = make_model(collection, split, config, Reporter(quiet=True))
    _, stages, steps, rehearse = rehearsal(collection, split, replace(config, work=1.0), prior, sampler, model)
    each = cost(stages, steps, rehearse, operations) / 1e12 / sum(stage.epochs for stage in stages)
    asked = round(config.work / each) if config.work else config.epochs
    epochs = asked or choose_epochs(sampler.steps)
    return float(f"{config.work or epochs * each:.4g}"), epochs  # four digits are enough


def rehearsal(
    collection: Collection, split: Split, config: Config, prior: Prior, sampler: Sampler, model: Model
) -> tuple[Method, tuple[Stage, ...], list[int], Callable[[int], Callable[[float], None]]]:
    """The method, its stages of 100 epochs, the steps of an epoch in each, and what sets a stage up for trial steps."""
    method = make_method(config, prior)
    method.reveal(torch.from_numpy(collection.truth))
    stages = method.stages(100)
    samplers = whole_steps(stages, sampler)

    def rehearse(number: int) -> Callable[[float], None]:
        spoilt = copy.deepcopy(model).train()
        for stage in stages[: number + 1]:
            method.begin(spoilt, stage)
        distributed.normalised_together(spoilt)
        own = replace(weakened(config, stages[number]), compile=config.compile and not config.work)  # else uncounted
        optim = replace(config.optim, name="sgd") if config.work else config.optim  # what counts as work are the passes
        optimizer, loss = make_optimizer(spoilt, optim), loss_for(spoilt, method, sampler, collection, own)
        method.before_epoch(spoilt, stages[number], 0, [], functools.partial(embed, spoilt, collection, split))

        def take(progress: float) -> None:
            items = distributed.share(next(iter(samplers[number].epoch(0))))
            for batch in batches(collection, spoilt, stages[number], own, items, progress, samplers[number].parts > 1):
                take_step(loss, optimizer, batch)

        return take

    return method, stages, [each.steps for each in samplers], rehearse


def whole_steps(stages: tuple[Stage, ...], sampler: Sampler) -> list[Sampler]:
    """What draws the items of each stage."""
    return [sampler.limited(stage.batch) if stage.batch else sampler for stage in stages]


def embed(model: Model, collection: Collection, split: Split, most: int = 0) -> Embedded:
    """The training items as the model sees them; 0: all of them, else at most so many, the same ones each time."""
    chosen = split.train
    if 0 < most < len(chosen):
        chosen = np.sort(np.random.default_rng([most, 9]).choice(chosen, most, replace=False))
    return Embedded(embeddings_of(model, collection.items, chosen), collection.labels[chosen], chosen)


def choose_epochs(steps: int, prepared: int = 0) -> int:
    """About 600 steps, at least 30 epochs; or the steps and a third of the epochs that a start nearly there needs."""
    return max(10, round(prepared / steps)) if prepared else max(30, round(600 / steps))


def weakened(config: Config, stage: Stage) -> Config:
    """The settings with weak views, in a stage that has them whatever the settings say."""
    weak = stage.weak and config.views.strength == "strong"
    return replace(config, views=replace(config.views, strength="weak")) if weak else config


def state_of(model: Model, kept: Model, optimizer: torch.optim.Optimizer, epochs: int, planned: int) -> dict:
    """What a checkpoint holds; without an average `kept` is the model, and torch writes shared tensors once."""
    return {
        "epochs": epochs,
        "planned": planned,
        "model": model.state_dict(),
        "kept": kept.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
