"""complete(): the whole way from data to a finished run folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from novakind.config import Config, as_tables, starting
from novakind.data.collection import Collection
from novakind.data.embed import embed
from novakind.data.sampler import check_batch
from novakind.data.source import Source
from novakind.data.split import Split
from novakind.datasets.gather import check_there, gather, placed
from novakind.encoders.front import Front
from novakind.errors import UserError
from novakind.methods import make_method
from novakind.model import Model
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.runs.finish import finish
from novakind.runs.folder import Run
from novakind.training.loop import fit


class Completed(NamedTuple):
    """A finished run: its data, how they were divided, and what results.json holds."""

    collection: Collection
    split: Split
    results: dict[str, Any]


def complete(
    source: Source,
    config: Config,
    path: Path,
    fresh: bool = False,
    quiet: bool = False,
    store: Path | None = None,
    draw: Callable[[Path, Collection], object] | None = None,
) -> Completed:
    """From data to a run folder; a run that was interrupted goes on, one that is finished stays.

    Runs on the same data may share a `store` of decoded files; `draw` makes the report.
    """
    check_there(source)
    config, source = early_checks(config, source), placed(source)
    config = config if config.views else replace(config, views=source.learnt.Views())
    run = Run.claim(path)
    with Reporter(quiet) as report, run.alone():
        if fresh:
            run.clear()
        try:
            collection, split = gather(source, store or path / "store", config.val, report.decoding, report.embedding)
            if not config.novel:
                config = replace(config, novel=len(collection.truth_classes) - len(collection.classes))
            run.settle({"data": asdict(source) | {"digest": collection.digest()}} | as_tables(config))
            describe(collection, source, config, path, report)
            tuned = collection.origin is not None and collection.before is None
            first = partial(frozen_first, collection, split, config, report) if tuned else None
            model, warnings, history = fit(collection, split, config, run, report, first=first)
            if collection.before and collection.origin:
                model.put_behind(Front.opened(collection.origin, collection.before.modality))
            results = finish(run, collection, split, model, warnings, history)
            if draw:
                report.say("drawing the report")
                draw(path, collection)
        except KeyboardInterrupt:
            report.end()
            report.say(f"stopped; what is done is saved in {path}: the same command goes on from there")
            raise
        for warning in results["warnings"]:
            report.say(f"warning: {warning}")
    return Completed(collection, split, results)


def frozen_first(collection: Collection, split: Split, config: Config, report: Reporter) -> Model:
    """What the vectors of the published encoder give as they are: a training of seconds, from which the longer one
    goes on."""
    assert collection.origin is not None
    vectors = embed(collection, collection.origin, report.embedding)
    few = starting(type(vectors.modality))
    same = ("novel", "prior", "known_share", "seed", "dim", "head", "tau")
    few = replace(few, **{name: getattr(config, name) for name in same})
    return fit(vectors, split, few, None, Reporter(quiet=True))[0]


def early_checks(config: Config, source: Source) -> Config:
    """Refuse what can be refused before any file is read; a prior's shares tell the number of categories too."""
    if config.novel == 0 and config.prior != "uniform":
        config = replace(config, novel=len(config.prior.split(",")))
    if config.novel < 1 and not source.known:
        raise UserError(
            "the number of new categories is not given, and at least 1 is needed: give how many to look for, --novel 5"
        )
    if config.novel:
        prior = Prior.parse(config.prior, 1, config.novel, config.known_share)
        check_batch(config.batch, config.novel)
        make_method(config, prior)
    return config


def describe(collection: Collection, source: Source, config: Config, path: Path, report: Reporter) -> None:
    labeled = int((collection.labels >= 0).sum())
    report.say(
        f"{collection.name}: {labeled} labeled items of {len(collection.classes)} classes, "
        f"{len(collection) - labeled} unlabeled; looking for {config.novel} new categories; writing to {path}"
    )
    if collection.skipped:
        first = collection.skipped[0]
        report.say(f"skipped {len(collection.skipped)} unreadable files, e.g. {first[0]} ({first[1]}): see skipped.csv")
    if source.published.get("name"):
        trained = {"partly": "of which the last layers are trained", "whole": "which is trained as a whole"}
        how = "which stays as it is" if source.published["frozen"] else trained[config.tune]
        why = f", since {source.published['why']}" if source.published["why"] else ""
        report.say(f"the items are seen by {source.published['name']}, {how}{why}")
    elif source.published.get("why"):
        report.say(f"a network learns from scratch, since {source.published['why']}")
