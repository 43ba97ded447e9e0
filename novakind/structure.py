"""Structure: whether a value that was read back is what was written, by the types that the code names."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from novakind.settings import Range, is_a

WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "a table"}
WORDS |= {list: "a list", tuple: "a list", type(None): "nothing"}


def misfit(value: Any, hint: Any, name: str) -> str:
    """What is wrong with a value, in a few words that begin with its name; "" where it is of this type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return ""
    if origin is Annotated:
        limits = next((mark for mark in inner[1:] if isinstance(mark, Range)), None)
        wrong = misfit(value, inner[0], name)
        return wrong or (f"{name} is not {limits}" if limits and value not in limits else "")
    if origin in (Union, types.UnionType):
        wrong = [misfit(value, one, name) for one in inner]
        return "" if "" in wrong else wrong[0]
    if origin is Literal:
        return "" if value in inner else f"{name} is none of {', '.join(map(str, inner))}"
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            return f"{name} is not {WORDS[list]}"
        return next((wrong for one in value if (wrong := misfit(one, inner[0], f"an entry of {name}"))), "")
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return f"{name} is not {WORDS[dict]}"
        if not all(is_whole(key) for key in value):
            return f"a key of {name} holds half a sign"
        parts = ((one, f"{key} in {name}") for key, one in value.items())
        return next((wrong for one, what in parts if (wrong := misfit(one, inner[1], what))), "")
    plain = type(None) if hint is None else hint
    if plain is str and isinstance(value, str) and not is_whole(value):
        return f"{name} holds half a sign"
    return "" if is_a(value, plain) else f"{name} is not {WORDS.get(plain, plain)}"


def is_whole(text: str) -> bool:
    """Whether a text can be written to a file: half a sign of UTF-16, which JSON can hold, cannot."""
    try:
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def misfit_table(table: Any, wanted: Mapping[str, Any], optional: Mapping[str, Any], name: str = "it") -> str:
    """The same for a table: what it must have and may have; more is no harm."""
    if not isinstance(table, dict):
        return f"{name} is not {WORDS[dict]}"
    lacking = next((key for key in wanted if key not in table), None)
    if lacking is not None:
        return f"{lacking} is missing"
    known = {**wanted, **optional}
    return next((wrong for key, one in table.items() if key in known and (wrong := misfit(one, known[key], key))), "")


def misfit_fields(kind: type, table: Mapping[str, Any]) -> str:
    """The same for what a dataclass is built from: its fields, and no others."""
    hints = get_type_hints(kind, include_extras=True)
    known = {each.name: each for each in fields(kind)}
    strange = next((key for key in table if key not in known), None)
    if strange is not None:
        return f"{strange} is not known"
    must = {
        name: hints[name] for name, each in known.items() if each.default is MISSING and each.default_factory is MISSING
    }
    return misfit_table(dict(table), must, {name: hints[name] for name in known})
