"""Options: the words of a command line, read once into names and values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from novakind.errors import UserError
from novakind.settings import Setting, settings_of, unknown


@dataclass(frozen=True)
class Words:
    """What was typed: words that belong to no option, and options by the names of their settings."""

    plain: list[str]
    options: Mapping[str, Any]
    """Texts, and truth values of flags."""
    typed: tuple[str, ...] = ()
    """All words, as they were typed."""


def read_words(words: Iterable[str], known: Mapping[str, Setting]) -> Words:
    """Split words at options: --name value, --name=value, and for flags --name or --no-name.

    `known` are all settings that may be named; what a value must be is checked by whoever knows the kind of data.
    """
    plain: list[str] = []
    options: dict[str, Any] = {}
    typed = tuple(words)
    waiting = iter(typed)
    for word in waiting:
        if not word.startswith("--") or word == "--":
            plain += [word] if word != "--" else waiting
            continue
        spelled, equals, value = word[2:].partition("=")
        name, positive = named(spelled, known)
        if known[name].type is bool:
            if equals:
                raise UserError(f"{word} gives a value to a flag: write --{spelled}, or --no-{spelled}")
            options[name] = positive
            continue
        if not equals:
            value = next(waiting, None)
            if value is None or (value.startswith("--") and len(value) > 2):
                raise UserError(f"--{spelled} needs a value: give {known[name].example}")
        options[name] = value
    return Words(plain, options, typed)


def named(spelled: str, known: Mapping[str, Setting]) -> tuple[str, bool]:
    """The setting that an option names, and whether it is wanted: --no-views.flip and --views.no-flip say no."""
    name = spelled.replace("-", "_")
    if name in known:
        return name, True
    denied = ".".join(part.removeprefix("no_") for part in name.split("."))
    if denied != name and denied in known and known[denied].type is bool:
        return denied, False
    raise UserError(unknown(name, known))


def parsed(setting: Setting, value: Any) -> Any:
    """A value as it was typed, in the type of its setting."""
    return setting.parse(value) if isinstance(value, str) else value


def build(kind: type, options: Mapping[str, Any]) -> Any:
    """A dataclass of options from what was typed of them."""
    found: dict[str, Any] = {}
    for name, setting in settings_of(kind).items():
        if name in options:
            found[name] = parsed(setting, options[name])
            setting.check(found[name])
    return kind(**found)
