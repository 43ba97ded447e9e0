"""Where a number comes from: the code that it depends on, the commit, the machine."""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch

import novakind

PACKAGE = Path(novakind.__file__).parent
ROOTS = ("runs/complete",)  # what trains and scores, and what loads and divides


@cache
def code_digest() -> str:
    """Changes with every statement that a number may depend on, but not with comments, docstrings or layout.

    That is all that the roots import, directly or not: the report and the command line have no part in it.
    """
    files = sorted(reached(), key=str)
    summary = hashlib.sha256()
    for file in files:
        summary.update(f"{file.relative_to(PACKAGE).as_posix()}\n{statements(file)}\n".encode())
    return summary.hexdigest()[:16]


def reached() -> set[Path]:
    """The files of the package that the roots need."""
    waiting, found = [PACKAGE / f"{name}.py" for name in ROOTS], set[Path]()
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imports(file)
    return found


def imports(file: Path) -> Iterator[Path]:
    """The package's files that a file imports; of a package in the package, also what lies in it by that name."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE.name:
            inner = PACKAGE.joinpath(*node.module.split(".")[1:])
            below = [inner / alias.name for alias in node.names]
            for place in (inner, *below) if inner != PACKAGE else below:  # what the package offers lies further down
                yield from (each for each in (place.with_suffix(".py"), place / "__init__.py") if each.is_file())


def statements(file: Path) -> str:
    """A module without comments and docstrings, in one layout."""
    tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [each for each in body if not is_text(each)] or [ast.Pass()]  # pyright: ignore
    return ast.unparse(tree)


def is_text(node: ast.stmt) -> bool:
    """A string that stands alone: a docstring, of a module, class, function or field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def commit() -> str:
    """The commit, with a + where files of the package differ from it; empty outside of a repository."""

    def git(*words: str) -> str:
        asked = subprocess.run(["git", *words], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
        return asked.stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--", PACKAGE.name) else "")


def machine() -> str:
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"
    return f"{os.cpu_count()} cores, {torch.get_num_threads()} threads, {device}, torch {torch.__version__}"
