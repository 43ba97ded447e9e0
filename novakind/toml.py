"""Plain settings as TOML, and back: the one place that reads and writes it."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def to_toml(tables: dict[str, Any], heading: str = "") -> str:
    """Plain values first, then sub-tables; what is None is left out."""
    plain = {key: value for key, value in tables.items() if value is not None and not isinstance(value, dict)}
    lines = [f"{key} = {written(value)}" for key, value in plain.items()]
    text = (f"[{heading}]\n" if heading and lines else "") + "".join(f"{line}\n" for line in lines)
    for key, value in tables.items():
        if isinstance(value, dict):
            text += "\n" + to_toml(value, f"{heading}.{key}" if heading else key)
    return text


def written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        # A byte of a file name that is not UTF-8 (a lone surrogate) has no escape in TOML: it stays as it is.
        safe = (c if c.isprintable() or "\ud800" <= c <= "\udfff" else f"\\U{ord(c):08x}" for c in escaped)
        return '"' + "".join(safe) + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(written(part) for part in value) + "]"
    return repr(value)


def read_toml(text: str) -> dict[str, Any]:
    """Nested plain values."""
    return tomllib.loads(text)
