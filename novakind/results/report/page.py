"""The page as HTML: whole in one file for the report, or with its parts as files for the review."""

from __future__ import annotations

import html
import json
import math
import re
from functools import cache
from importlib.resources import files
from typing import Any

STYLES = ("page.css", "signals.css", "clips.css", "texts.css")
# one scope, in this order
SCRIPTS = (
    "page.js",
    "viewer.js",
    "signals.js",
    "clips.js",
    "texts.js",
    "cards.js",
    "map.js",
    "charts.js",
    "evidence.js",
)
# what the review has in addition: all that edits
REVIEW_STYLES = ("review.css", "views.css")
REVIEW_SCRIPTS = (
    "server.js",
    "items.js",
    "notices.js",
    "history.js",
    "choice.js",
    "selection.js",
    "naming.js",
    "band.js",
    "grid.js",
    "category.js",
    "merges.js",
    "splitting.js",
    "lasso.js",
    "queue.js",
    "labels.js",
    "export.js",
    "round.js",
    "review.js",
)
FIRST, LAST, ICON = "errors.js", "start.js", "icon.svg"
STATIC = (FIRST, ICON, *STYLES, *REVIEW_STYLES, *SCRIPTS, *REVIEW_SCRIPTS, LAST)

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def report_page(data: dict[str, Any]) -> str:
    """One file with its data; nothing in a name or a path can end the block of data or become markup."""
    # with "<" escaped no name can close the script element; ASCII carries file names that are not valid Unicode
    block = json.dumps(finite(data), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "\n".join(read(name) for name in (*SCRIPTS, LAST))
    head = [
        f'<meta http-equiv="Content-Security-Policy"\n  content="{POLICY}">',
        '<link rel="icon" href="data:,">',
        f"<style>\n{''.join(map(read, STYLES))}</style>",
        f"<script>\n{read(FIRST)}</script>",
    ]
    return fill(
        title=html.escape(data["name"].encode("utf-8", "replace").decode()),
        head="\n".join(head),
        review="",
        data=f'<script type="application/json" id="data">{block}</script>',
        script=f'<script>\n"use strict";\n{scripts}</script>',
    )


def review_page(title: str, root: str = "/static") -> str:
    """The same page without data, its parts as files below `root`: names in STATIC, read by `read`."""
    styles = [f'<link rel="stylesheet" href="{root}/{name}">' for name in (*STYLES, *REVIEW_STYLES)]
    scripts = [f'<script src="{root}/{name}" defer></script>' for name in (*SCRIPTS, *REVIEW_SCRIPTS, LAST)]
    return fill(
        title=html.escape(title.encode("utf-8", "replace").decode()),
        head="\n".join([f'<link rel="icon" href="{root}/{ICON}">', *styles, f'<script src="{root}/{FIRST}"></script>']),
        review=read("review.html"),
        data="",
        script="\n".join(scripts),
    )


def fill(**parts: str) -> str:
    """The template with its parts."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], read("page.html"))


@cache
def read(name: str) -> str:
    """A file of the page."""
    return (files("novakind.results.report") / name).read_text(encoding="utf-8")


def finite(value: Any) -> Any:
    """The same data with null for numbers that JSON cannot hold."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
