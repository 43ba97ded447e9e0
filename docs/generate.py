"""A hook of the site: the commands, settings and presets take the place of marks in settings.md, from the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from novakind.app.cli import VERBS
from novakind.config import Config, Objective, Optim
from novakind.data.source import Source
from novakind.modality import KINDS, Kind
from novakind.settings import WORDS, Setting, settings_of


def on_page_markdown(markdown: str, **_: Any) -> str:
    for mark, text in (("<!-- commands -->", commands), ("<!-- settings -->", settings), ("<!-- kinds -->", kinds)):
        if mark in markdown:
            markdown = markdown.replace(mark, "\n\n".join(text()))
    return markdown


def commands() -> Iterator[str]:
    """Each verb: what it takes, what it does, its own options."""
    for name, verb in VERBS.items():
        yield f"### {name}"
        yield f"`{' '.join(['novakind', name, *verb.plain.split()])}`"
        yield inspect.cleandoc(verb.options.__doc__ or "")
        yield from table(settings_of(verb.options).values())
        if verb.is_training:
            yield "And all [settings of a run](#settings-of-a-run) and of [its kind of data](#kinds-of-data)."


def settings() -> Iterator[str]:
    """What every run has, by what it belongs to."""
    own = {name: one for name, one in settings_of(Config).items() if "." not in name}
    yield from section("Data", Source, {name: one for name, one in settings_of(Source).items() if name != "data"})
    yield from section("Training", Config, own)
    yield from section("Objective", Objective, settings_of(Objective, "objective."))
    yield from section("Optimiser", Optim, settings_of(Optim, "optim."))


def kinds() -> Iterator[str]:
    """How each kind of data is read and varied, and what its presets change."""
    for kind in KINDS.values():
        yield f"### {kind.noun.capitalize()}"
        endings = ", ".join(f"`{ending}`" for ending in sorted(kind.endings))
        yield " ".join(filter(None, (f"Files: {endings}." if endings else "", arrays(kind))))
        for title, options in (("Reading", settings_of(kind.Reading)), ("Views", settings_of(kind.Views, "views."))):
            if options:
                yield f"**{title}.** {inspect.cleandoc(getattr(kind, title).__doc__ or '')}"
                yield from table(options.values())
        yield "**Presets.**"
        yield "\n".join(f"- `{name}`{origin(kind, name)}: {changes(kind, name)}" for name in kind.presets)


def arrays(kind: Kind) -> str:
    return f"Arrays: {kind.arrays}." if kind.arrays else ""


def origin(kind: Kind, name: str) -> str:
    return " (without `--preset`)" if name == next(iter(kind.presets)) else ""


def changes(kind: Kind, name: str) -> str:
    """The options that stand for a preset."""
    spelled = [spell(key.removeprefix("reading."), value) for key, value in kind.presets[name].items()]
    return " ".join(f"`{one}`" for one in spelled) or "the defaults"


def spell(name: str, value: Any) -> str:
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--{opposite(option)}"
    return f"--{option} {value:g}" if isinstance(value, float) else f"--{option} {value}"


def opposite(option: str) -> str:
    before, dot, last = option.rpartition(".")
    return f"{before}{dot}no-{last}"


def section(title: str, kind: type, options: Mapping[str, Setting]) -> Iterator[str]:
    yield f"### {title}"
    yield inspect.cleandoc(kind.__doc__ or "")
    yield from table(options.values())


def table(options: Iterable[Setting]) -> Iterator[str]:
    rows = [
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in (names(one), values(one), default(one), one.doc))} |"
        for one in options
    ]
    if rows:
        yield "\n".join(["| option | value | default | |", "|---|---|---|---|", *rows])


def names(setting: Setting) -> str:
    option = setting.option.removeprefix("--")
    return f"`--{option}`, `--{opposite(option)}`" if setting.type is bool else f"`--{option}`"


def values(setting: Setting) -> str:
    if setting.type is bool:
        return ""
    return ", ".join(setting.choices) or ", ".join(
        filter(None, (WORDS[setting.type], str(setting.range) if setting.range else ""))
    )


def default(setting: Setting) -> str:
    if setting.default in ("", None):
        return ""
    return {True: "on", False: "off"}[setting.default] if setting.type is bool else f"{setting.default}"
