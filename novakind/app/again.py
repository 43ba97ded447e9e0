"""--after RUN: what a further round is made of: the settings of the earlier run, with what is asked for on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from novakind.config import Config, Objective, Optim, preset_of
from novakind.data.decided import Decisions
from novakind.data.source import Source
from novakind.datasets.gather import kind_for
from novakind.errors import UserError
from novakind.runs.folder import Run
from novakind.runs.rounds import decisions_of
from novakind.settings import Setting, change, settings_of

LOST = ("start", "heads")  # what a round decides for itself


class Round(NamedTuple):
    """A round that is about to begin."""

    source: Source
    config: Config
    decisions: Decisions


def assemble_round(
    data: str,
    after: Path,
    preset: str,
    options: Mapping[str, Any],
    parse: Callable[[Setting, Any], Any] = lambda _, value: value,
) -> Round:
    """The data, all settings and all decisions of a round after a run."""
    run = Run(after)
    earlier, tables = run.source(), run.settings()
    source = replace(earlier, data=data, decisions="")
    kind = kind_for(replace(source, kind=""))
    if kind.kind != earlier.kind:
        raise UserError(f"{data} holds {kind.noun}, but {after} was made of another kind: give the data of that run")
    config, reading = config_of(tables, source), earlier.reading
    if preset != "auto":
        for name, value in preset_of(source.learnt, preset).items():
            if not name.startswith("reading."):
                config = change(config, name, value)
    learnt, asked = source.learnt, None
    places = {
        **{name: "source" for name in settings_of(Source) if name != "data"},
        **dict.fromkeys(settings_of(kind.Reading), "reading"),
        **dict.fromkeys({**settings_of(Config), **settings_of(learnt.Views, "views.")}, "config"),
    }
    every = {
        **settings_of(Source),
        **settings_of(kind.Reading),
        **settings_of(Config),
        **settings_of(learnt.Views, "views."),
    }
    for name, value in options.items():
        if name not in places or name in LOST or name in ("kind", "encoder", "tune", "head", "dim"):
            raise UserError(
                f"--{name.replace('_', '-')} {value} cannot be other than in {after}, from which a round goes on: "
                "leave it out"
            )
        setting = every[name]
        given = parse(setting, value)
        setting.check(given)
        if name == "novel":
            asked = given
        elif places[name] == "source":
            source = replace(source, **{name: given})
        elif places[name] == "reading":
            reading = change(reading, name, given)
        else:
            config = change(config, name, given)
    return Round(replace(source, reading=reading), config, decisions_of(after, asked))


def config_of(tables: Mapping[str, Any], source: Source) -> Config:
    """The settings of a run as it began with them; what a round finds out by itself is left to it."""
    known = {name: value for name, value in tables.items() if name in Config.__dataclass_fields__}
    parts = {"objective": Objective, "optim": Optim, "views": source.learnt.Views}
    try:
        made = {name: kind(**known.pop(name, {})) for name, kind in parts.items()}
        return Config(**known, **made)
    except TypeError as error:
        raise UserError(
            f"the earlier run has a setting that is not known here ({error}): use the version of novakind that wrote it"
        ) from None
