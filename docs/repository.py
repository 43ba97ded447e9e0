"""A hook of the site: pages link to files outside of docs/ as they do on GitHub, and the site carries those files too.

A file of the repository has the same place in the site, but what is in docs/ is one level higher.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from re import Match
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
GLUED = re.compile(r"^(?![-|>#\s]|\d+\.)(.+)\n(?=- )", re.MULTILINE)


def place(source: str) -> str:
    """Where in the repository a page of the site comes from."""
    return f"docs/{source}" if (ROOT / "docs" / source).is_file() else source


def linked(page: str) -> Iterator[str]:
    """The files of the repository that a page, itself given by its place in the repository, links to."""
    for found in LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))


def pages_of(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif nav:
        for inner in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(inner)


def on_files(files: Files, config: Any) -> Files:
    waiting = sorted({place(source) for source in pages_of(config.nav)})
    seen = set[str]()
    while waiting:
        target = waiting.pop()
        if target in seen or not (ROOT / target).is_file():
            continue
        seen.add(target)
        if not target.startswith("docs/"):
            files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
        if target.endswith(".md"):
            waiting += linked(target)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site needs them, and an empty line before each list, which GitHub does not ask for."""
    folder = posixpath.dirname(place(page.file.src_uri))
    here = posixpath.dirname(page.file.src_uri)

    def moved(found: Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        inside = target.removeprefix("docs/")
        return f"]({posixpath.relpath(inside, here or '.')}{found[2] or ''})"

    return GLUED.sub(r"\1\n\n", LINK.sub(moved, markdown))
