"""A hook of the site: the settings, from the dataclasses that hold them, take the place of a mark in settings.md."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from novakind.datasets.source import Source

from novakind.config import Config

MARK = "<!-- settings -->"
POSITIONAL = {"data": "DATA"}
WORDS = {int: "whole number", float: "number", bool: "switch", str: "text"}


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, "\n\n".join([*sections(Source), *sections(Config)]))


def sections(kind: type, within: str = "") -> Iterator[str]:
    """A heading, what the class says of itself and a table of its fields; then the same for each dataclass inside."""
    hints, docs = get_type_hints(kind, include_extras=True), docs_of(kind)
    rows, inner = [], []
    for each in fields(kind):
        plain, marks = parts(hints[each.name])
        if is_dataclass(plain):
            inner.append((plain, f"{within}{each.name}."))
        else:
            cells = (option(within, each.name, plain), value(plain, marks), default(each), docs.get(each.name, ""))
            rows.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    table = "\n".join(["| option | value | default | |", "|---|---|---|---|", *rows])
    yield f"## {kind.__name__}\n\n{inspect.getdoc(kind)}\n\n{table}"
    for dataclass, name in inner:
        yield from sections(dataclass, name)


def docs_of(kind: type) -> Mapping[str, str]:
    """The docstring below each field of a dataclass, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    return {
        each.target.id: " ".join(text.value.value.split())
        for each, text in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its annotations, and these."""
    return (get_args(hint)[0], get_args(hint)[1:]) if get_origin(hint) is Annotated else (hint, ())


def option(within: str, name: str, plain: Any) -> str:
    if name in POSITIONAL:
        return f"`{POSITIONAL[name]}`"
    spelled = f"{within}{name}".replace("_", "-")
    return f"`--{spelled}`, `--{opposite(spelled)}`" if plain is bool else f"`--{spelled}`"


def opposite(spelled: str) -> str:
    before, dot, last = spelled.rpartition(".")
    return f"{before}{dot}no-{last}"


def value(plain: Any, marks: tuple[Any, ...]) -> str:
    if get_origin(plain) is Literal:
        return ", ".join(get_args(plain))
    limits = [str(mark) for mark in marks if type(mark).__name__ == "Range"]
    return ", ".join([WORDS.get(plain, str(plain)), *limits])


def default(each: Field[Any]) -> str:
    if each.default in ("", None, MISSING):
        return ""
    return {True: "on", False: "off"}[each.default] if isinstance(each.default, bool) else str(each.default)
