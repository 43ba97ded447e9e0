"""discover(): the whole way from data to a report, in one call: what the command line and Python users run."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from novakind.app.again import assemble_round
from novakind.config import Config, preset_for, starting, starting_reading
from novakind.data.choice import choose
from novakind.data.paths import in_files, list_items
from novakind.data.source import Source
from novakind.datasets import DATASETS, is_named
from novakind.datasets.gather import kind_for
from novakind.errors import UserError, as_arguments
from novakind.modality import KINDS, Kind
from novakind.results.report import draw_report
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.runs.rounds import next_folder
from novakind.settings import Setting, change, plain, settings_of, unknown
from novakind.training.unknown import as_options


def discover(
    data: str | Path,
    out: str | Path | None = None,
    *,
    after: str | Path | None = None,
    preset: str = "auto",
    fresh: bool = False,
    quiet: bool = True,
    **options: Any,
) -> Discovery:
    """Find new categories among the unlabeled items of a folder, a manifest, an .npz file or a data set by name.

    `options` are those of the command line, with `_` for `-`: `novel=5`, `window="3s"`, `truth="truth.csv"`; settings
    with a dot are given as `**{"optim.lr": 0.05}`. The run folder is `out`, by default `runs/` and the name of the
    data; a run that was interrupted goes on, one that is finished stays. `after` is the folder of an earlier run: this
    one goes on from it, and from what a person decided about it, with its settings and its weights.
    """
    try:
        given = {name: plain(value) for name, value in options.items()}
        if after is not None:
            source, config, decisions = assemble_round(str(data), Path(after), preset, given)
            path = Path(out) if out is not None else next_folder(Path(after), decisions)
        else:
            source, config = assemble(str(data), preset, given)
            path, decisions = Path(out) if out is not None else run_folder(source), None
        complete(source, config, path, fresh, quiet, draw=draw_report, decisions=decisions)
        found = Discovery.load(path)
    except UserError as error:
        raise UserError(as_arguments(str(error), of_function=True)) from None
    for warning in found.warnings:
        warnings.warn(as_arguments(warning, of_function=True), stacklevel=2)
    return found


def run_folder(source: Source, before: str = "") -> Path:
    """Where a run is written by default: after the name of its data."""
    data = Path(source.data)
    return Path("runs") / f"{before}{data.resolve().stem if data.exists() else data.name}"


def assemble(
    data: str, preset: str, options: Mapping[str, Any], parse: Callable[[Setting, Any], Any] = lambda _, value: value
) -> tuple[Source, Config]:
    """The data and all settings: those of the kind of data and the preset, with the options on top.

    Every option is checked against its type, choices and range; one that has no meaning for these data is refused.
    """
    left = as_options(options)
    own = {name: setting for name, setting in settings_of(Source).items() if name != "data" and name in left}
    given = {name: parse(setting, left.pop(name)) for name, setting in own.items()}
    for name, setting in own.items():
        setting.check(given[name])
    source = Source(data, **given)
    kind = kind_for(source)
    source = replace(source, kind=kind.kind, published=published_for(source, kind, preset, left, parse))
    learnt = source.learnt
    if preset == "auto" and is_named(data, source.root) and not source.published.get("name"):
        preset = DATASETS[data].preset
    if preset == "auto" and source.published.get("name") and learnt is kind:
        preset = "tuned"
    if learnt is kind and "encoder" in left:
        preset = preset_for(kind, preset, parse(settings_of(Config)["encoder"], left["encoder"]))
    reading = starting_reading(kind, preset if learnt is kind else "auto")
    config = starting(learnt, preset)
    if source.published.get("frozen"):
        left.pop("encoder", None)
    settings = {**settings_of(kind.Reading), **settings_of(Config), **settings_of(learnt.Views, "views.")}
    for name, value in left.items():
        if name not in settings:
            raise UserError(refusal(name, value, kind, learnt, data))
        if name in settings_of(kind.Reading):
            reading = change(reading, name, parse(settings[name], value))
        else:
            config = change(config, name, parse(settings[name], value))
    if source.published.get("name") and learnt is kind:
        config = replace(config, encoder=source.published["name"], tune="whole" if config.tune == "whole" else "partly")
    return replace(source, reading=reading), config


def sorts_files(source: Source) -> bool:
    """Whether the items are files, and not rows of arrays or tables."""
    return not is_named(source.data, source.root) and in_files(Path(source.data))


def published_for(
    source: Source, kind: Kind, preset: str, options: Mapping[str, Any], parse: Callable[[Setting, Any], Any]
) -> dict[str, Any]:
    """The published encoder that looks at the items, or none; a preset and a data set by name are as they were
    published, with a network that learns from scratch, unless an encoder is named, or how to train one."""
    every = settings_of(Config)
    encoder, tune = (
        parse(every[name], options[name]) if name in options else every[name].default for name in ("encoder", "tune")
    )
    every["tune"].check(tune)
    as_published = preset != "auto" or is_named(source.data, source.root)
    if encoder == tune == "auto" and as_published and kind.trainable:
        return {}
    given, listing = Path(source.data), None
    if given.exists() and not is_named(source.data, source.root):
        listing = list_items(given)

    def some() -> Sequence[Path] | np.ndarray:
        if listing is None:
            return []
        return listing.files if listing.arrays is None else np.atleast_1d(listing.arrays["X"])[:50]

    counts = Counter(label for label in (listing.labels if listing else ()) if label)
    return choose(kind, encoder, tune, some, counts.total() / max(1, len(counts)))


def every_setting() -> Mapping[str, Setting]:
    """Whatever may be set of a run, for any kind of data."""
    found: dict[str, Setting] = {}
    for kind in KINDS.values():
        found |= {**settings_of(kind.Reading), **settings_of(kind.Views, "views.")}
    found |= {**settings_of(Source), **settings_of(Config)}
    del found["data"]
    return found


def refusal(name: str, value: Any, kind: Kind, learnt: Kind, data: str) -> str:
    """Why an option cannot be: it is for another kind of data, or there is none of that name."""
    others = [
        other.noun
        for other in KINDS.values()
        if name in settings_of(other.Reading) or name in settings_of(other.Views, "views.")
    ]
    if not others:
        return unknown(name, every_setting())
    option = f"--{name.replace('_', '-')} {value}"
    if learnt is not kind and kind.noun in others:
        return f"{option} is for {kind.noun}, but a frozen encoder turns them into vectors first: leave it out"
    return f"{option} is for {' and '.join(others)}, and {data} holds {kind.noun}: leave it out"
