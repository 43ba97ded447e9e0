"""Settings: dataclasses whose fields name their type, their choices and their range.

They are checked wherever they come from: an option, an argument in Python, a run folder's TOML. Messages name a setting
as the command line does (`--optim.lr 0.1`).
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import numbers
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from novakind.errors import UserError


@dataclass(frozen=True)
class Range:
    """The finite numbers from `low` to `high`; `above` and `below` leave out the ends."""

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False

    def __contains__(self, value: float) -> bool:
        over = value > self.low if self.above else value >= self.low
        under = value < self.high if self.below else value <= self.high
        return over and under and math.isfinite(value)

    def __str__(self) -> str:
        low, high = (f"{end:,.0f}" if float(end).is_integer() else f"{end:g}" for end in (self.low, self.high))
        start = f"above {low}" if self.above else low
        if math.isinf(self.high):
            return start if self.above else f"{start} or more"
        if self.above:
            return f"{start} and {'below' if self.below else 'at most'} {high}"
        return f"from {start} to {'below ' if self.below else ''}{high}"


Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(0, 1, above=True)]
BelowOne = Annotated[float, Range(0, 1, below=True)]
Weight = Annotated[float, Range(0, 1e6)]
Positive = Annotated[float, Range(0, 1e6, above=True)]
Pixels = Annotated[int, Range(0, 1024)]
Seed = Annotated[int, Range(0, 2**32 - 1)]

WORDS = {int: "whole number", float: "number", bool: "truth value", str: "text", Path: "path"}


@dataclass(frozen=True)
class Setting:
    """One field of a dataclass of settings, by its dotted name."""

    name: str
    type: Any
    """int, float, bool, str or Path."""
    choices: tuple[str, ...]
    range: Range | None
    default: Any
    doc: str

    @property
    def option(self) -> str:
        """As the command line spells it."""
        return f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> None:
        """Refuse a value that this setting cannot have."""
        if self.choices:
            if value not in self.choices:
                raise UserError(f"{self.option} {value} is no choice of it: choose from {', '.join(self.choices)}")
        elif not is_a(value, self.type):
            raise UserError(f"{self.option} {value!r} is no {WORDS[self.type]}: give {self.example}")
        elif self.range and value not in self.range:
            raise UserError(f"{self.option} {value} is out of range, it must be {self.range}: give {self.example}")

    @property
    def example(self) -> str:
        """What to give instead, for advice."""
        return f"{self.option} {self.default}" if self.default else f"a {WORDS[self.type]}"

    def parse(self, text: str) -> Any:
        """A value from what stands on a command line."""
        try:
            if self.type is Path and not text:
                raise ValueError  # Path("") would be the folder that one is in
            return self.type(text)
        except ValueError:
            shown = text or repr(text)
            raise UserError(f"{self.option} {shown} is no {WORDS[self.type]}: give {self.example}") from None


def is_a(value: Any, kind: type) -> bool:
    """Whether a value may stand in a field of this type: a whole number may for a number, a truth value may not."""
    if kind is bool or isinstance(value, (bool, np.bool_)):
        return kind is bool and isinstance(value, (bool, np.bool_))
    return isinstance(value, {int: numbers.Integral, float: numbers.Real}.get(kind, kind))


@cache
def settings_of(kind: type, within: str = "") -> Mapping[str, Setting]:
    """Every setting of a dataclass by its dotted name, those of dataclasses inside it too."""
    hints, docs = get_type_hints(kind, include_extras=True), docs_of(kind)
    found: dict[str, Setting] = {}
    for each in fields(kind):
        hint = hints[each.name]
        marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        name = f"{within}{each.name}"
        if is_dataclass(plain):
            found |= settings_of(plain, f"{name}.")  # pyright: ignore[reportArgumentType]
        elif get_origin(plain) is Literal:
            found[name] = Setting(name, str, get_args(plain), None, each.default, docs.get(each.name, ""))
        elif (types := [one for one in get_args(plain) or (plain,) if one in WORDS]) and plain is not Any:
            limits = next((mark for mark in marks if isinstance(mark, Range)), None)
            found[name] = Setting(name, types[0], (), limits, each.default, docs.get(each.name, ""))
    return found


@cache
def docs_of(kind: type) -> Mapping[str, str]:
    """The docstring below each field, on one line."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for one, following in zip(body.body, body.body[1:], strict=False):
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and isinstance(following, ast.Expr):
            text = following.value
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[one.target.id] = " ".join(text.value.split())
    return found


def check(settings: Any, within: str = "") -> None:
    """Refuse settings of which one is not of its type, none of its choices or out of its range."""
    for name, setting in settings_of(type(settings), within).items():
        inner = name.removeprefix(within)
        if "." not in inner:  # a dataclass inside has checked itself
            value = getattr(settings, inner)
            if not (value is None and setting.default is None):
                setting.check(value)


def change(settings: Any, name: str, value: Any, within: str = "") -> Any:
    """The settings with one of them, by dotted name, replaced; `within` is what stands before the name in messages."""
    first, _, rest = name.partition(".")
    inner = getattr(settings, first, None)
    if rest and is_dataclass(inner):
        return replace(settings, **{first: change(inner, rest, value, f"{within}{first}.")})
    known = settings_of(type(settings), within)
    if rest or f"{within}{first}" not in known:
        raise UserError(unknown(f"{within}{name}", known))
    known[f"{within}{first}"].check(value)
    return replace(settings, **{first: value})


def plain(value: Any) -> Any:
    """A path as text and a number of numpy's as one of Python's: what a run folder or a model's card can write down."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def first_change(settings: Any) -> str:
    """The first setting that is not at its default, as an option with its value; "" where there is none."""
    for name, setting in settings_of(type(settings)).items():
        if getattr(settings, name) != setting.default:
            return f"{setting.option} {getattr(settings, name)}"
    return ""


def unknown(name: str, known: Iterable[str]) -> str:
    """That there is no such setting, and which one may be meant."""
    near = difflib.get_close_matches(name, list(known), 1)
    meant = f"did you mean --{near[0].replace('_', '-')}?" if near else "see novakind discover --help-all"
    return f"--{name.replace('_', '-')} is no setting: {meant}"
