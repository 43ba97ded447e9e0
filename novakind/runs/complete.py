"""complete(): the whole way from data to a finished run folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from novakind.config import Config, as_tables, starting
from novakind.data.collection import Collection
from novakind.data.decided import Decisions
from novakind.data.embed import embed
from novakind.data.source import Source
from novakind.data.split import Split
from novakind.data.store import STORE
from novakind.datasets.gather import check_there, gather, placed
from novakind.encoders.front import Front
from novakind.methods import make_method
from novakind.model import Model
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.runs.discovery import Discovery
from novakind.runs.events import Logged
from novakind.runs.finish import finish
from novakind.runs.folder import DECISIONS, Run
from novakind.runs.rounds import carried_over, check_same, earlier_model, for_round, like_before
from novakind.runs.taught import spread
from novakind.training.distributed import Together, in_turn, is_first, told
from novakind.training.loop import fit
from novakind.training.unknown import is_open, settle, warning


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
    decisions: Decisions | None = None,
) -> Completed:
    """From data to a run folder; a run that was interrupted goes on, one that is finished stays.

    Runs on the same data may share a `store` of decoded files; `draw` makes the report. A round that goes on from an
    earlier run follows the `decisions` about that.
    """
    check_there(source)
    config, source = early_checks(config, source), placed(source)
    config = config if config.views else replace(config, views=source.learnt.Views())
    run = told(lambda: Run.claim(path))
    logged = told(lambda: Logged(run)) if config.log else run
    with Reporter(quiet or not is_first()) as report, ExitStack() as stack:
        told(lambda: prepare(run, fresh, stack))
        try:
            if decisions:
                told(lambda: decisions.write(path / DECISIONS))
                source = replace(source, decisions=str(path / DECISIONS))
            place = store or path / STORE
            collection, split = in_turn(lambda: gather(source, place, config.val, report.decoding, report.embedding))
            number, _ = is_open(config, bool(source.known))
            if not config.novel and not number:
                config = replace(config, novel=len(collection.truth_classes) - len(collection.classes))
            digest, estimate = collection.digest(), None
            earlier = earlier_model(decisions) if decisions else None
            if decisions and earlier:
                config, collection = for_round(config, collection, split), like_before(collection, earlier)
                check_same(collection, earlier, decisions)
                if config.start == "decided":
                    before = Discovery.result(decisions.after)
                    answers = dict(zip(before.paths, before.category.tolist(), strict=True))
                    collection = spread(collection, split.train, answers)
            else:
                config, estimate = settle(collection, split, config, bool(source.known), report)
            settings = {"data": asdict(source) | {"digest": digest}} | as_tables(config)
            told(lambda: run.settle(settings))
            told(lambda: run.write_csv("skipped.csv", ["path", "reason"], collection.skipped))
            describe(collection, source, config, path, report)
            tuned = collection.origin is not None and collection.before is None
            first = partial(frozen_first, collection, split, config, report) if tuned else None
            if decisions and earlier:
                first = partial(carried_over, collection, earlier, Path(decisions.after))
            model, warnings, history = fit(collection, split, config, Together(logged), report, first=first)
            if not is_first():
                return Completed(collection, split, {})
            if collection.before and collection.origin:
                model.put_behind(Front.opened(collection.origin, collection.before.modality))
            warnings = [*warning(estimate, number), *warnings]
            results = finish(run, collection, split, model, warnings, history, decisions, estimate)
            if draw:
                report.say("drawing the report")
                draw(path, collection)
        except KeyboardInterrupt:
            report.end()
            report.say(f"stopped; what is done is saved in {path}: the same command goes on from there")
            raise
        for text in results["warnings"]:
            report.say(f"warning: {text}")
    return Completed(collection, split, results)


def prepare(run: Run, fresh: bool, stack: ExitStack) -> None:
    """Keep other commands out of the folder for as long as the stack stands; a fresh run begins without the old one."""
    stack.enter_context(run.alone())
    if fresh:
        run.clear()


def frozen_first(collection: Collection, split: Split, config: Config, report: Reporter) -> Model:
    """What the vectors of the published encoder give as they are: a training of seconds, from which the longer one
    goes on."""
    assert collection.origin is not None
    vectors = embed(collection, collection.origin, report.embedding)
    few = starting(type(vectors.modality))
    same = ["novel", "known_share", "seed", "dim", "head", "tau"]
    same += ["prior"] if config.prior != "uniform" else []  # where nothing is said, clusters tell the shares
    few = replace(few, **{name: getattr(config, name) for name in same})
    return fit(vectors, split, few, None, Reporter(quiet=True))[0]


def early_checks(config: Config, source: Source) -> Config:
    """Refuse what can be refused before any file is read; a prior's shares tell the number of categories too."""
    if config.novel == 0 and config.prior not in ("uniform", "auto"):
        config = replace(config, novel=len(config.prior.split(",")))
    if config.novel:
        prior = Prior.parse(config.prior, 1, config.novel, config.known_share)
        make_method(config, prior)
    return config


def describe(collection: Collection, source: Source, config: Config, path: Path, report: Reporter) -> None:
    labeled = int((collection.labels >= 0).sum())
    if collection.decided:  # what is learnt as typical is nobody's label
        labeled -= int(collection.decided.taught.sum())
    report.say(
        f"{collection.name}: {labeled} labeled items of {len(collection.classes)} classes, "
        f"{len(collection) - labeled} unlabeled; looking for {config.novel} new categories; writing to {path}"
    )
    if collection.skipped:
        first = collection.skipped[0]
        report.say(f"skipped {len(collection.skipped)} unreadable files, e.g. {first[0]} ({first[1]}): see skipped.csv")
    if collection.unkept:
        report.say(f"warning: the vectors are computed again next time, as {collection.unkept}")
    if source.published.get("name"):
        trained = {"partly": "of which the last layers are trained", "whole": "which is trained as a whole"}
        how = "which stays as it is" if source.published["frozen"] else trained[config.tune]
        why = f", since {source.published['why']}" if source.published["why"] else ""
        report.say(f"the items are seen by {source.published['name']}, {how}{why}")
    elif source.published.get("why"):
        report.say(f"a network learns from scratch, since {source.published['why']}")
