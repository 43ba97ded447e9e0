"""Attempt: one try of the campaign: what is made in a folder, the commands, and what must hold after them."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from novakind.app.cli import main
from novakind.errors import UserError
from novakind.results.report import layout
from novakind.runs.discovery import Discovery

LONGEST = 400  # seconds, on a busy machine, of a command, beyond which it hangs
DECISIONS: list[dict[str, Any]] = [
    {"verb": "rename", "category": 2, "name": "stripes"},
    {"verb": "confirm", "category": 2},
    {"verb": "create", "items": [2, 6], "name": "odd ones"},
    {"verb": "ignore", "items": [3]},
    {"verb": "undo"},
    {"verb": "merge", "into": 2, "categories": [3]},
]
PRECIOUS = "somebody's own file"


@dataclass
class Attempt:
    """`commands` run one after the other in the folder; `check` says what is wrong after them, or "".

    `within` is a context in which they run, such as a disk that is full.
    """

    what: str
    commands: list[list[str]]
    check: Callable[[list[int]], str] = lambda codes: ""
    within: Callable[[], Any] = contextlib.nullcontext
    may: tuple[int, ...] = (0, 2)


@dataclass
class Verdict:
    """How it went: the codes of the commands, and what is bad about it, or ""."""

    attempt: Attempt
    codes: list[int] = field(default_factory=list)
    bad: str = ""
    said: str = ""

    @property
    def code(self) -> int:
        return max(self.codes, default=0)


Make = Callable[[Path, np.random.Generator], Attempt]


class Hanging(BaseException):
    """Nothing that a handler of exceptions would catch."""


def hang(number: int, frame: object) -> None:
    raise Hanging


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def carry_out(make: Make, folder: Path, rng: np.random.Generator) -> Verdict:
    """Make the attempt in the folder, run its commands in this process, and judge it."""
    folder.mkdir(parents=True)
    (folder / "precious").write_text(PRECIOUS)
    with inside(folder):
        verdict = Verdict(make(Path(), rng))
        for words in verdict.attempt.commands:
            code, bad, said = run(words, verdict.attempt.within)
            verdict.codes.append(code)
            verdict.said += said
            verdict.bad = verdict.bad or bad
        if not verdict.bad:
            verdict.bad = judge(verdict)
    return verdict


def run(words: list[str], within: Callable[[], Any] = contextlib.nullcontext) -> tuple[int, str, str]:
    """The code, what is bad, and what was said."""
    out, err, bad, code = Output(), Output(), "", 1
    before = signal.signal(signal.SIGALRM, hang)
    signal.alarm(LONGEST)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), within():
            code = typed(words)
    except Hanging:
        bad = f"hangs for {LONGEST} s"
    except BaseException:  # whatever it is, a user would see it
        bad = traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    said = err.text()
    if not bad and code == 2:
        sentences = [line for line in said.splitlines() if line.startswith("novakind: ")]
        if len(sentences) != 1:
            bad = f"{len(sentences)} sentences instead of one"
    if not bad and "the memory of this machine is not enough" in said:
        bad = "it takes all memory"
    if not bad and "Traceback" in said:
        bad = "a traceback was printed"
    return code, bad, said


def typed(words: list[str]) -> int:
    """The exit code of a command; a review, which is a server, is what its page would send to it.

    Maps are drawn by PCA, since t-SNE would take most of the time and writes nothing.
    """
    with mock.patch.object(layout, "project", flat):
        return decided(Path(words[1])) if words[0] == "review" else main(words)


def flat(embedding: np.ndarray) -> tuple[np.ndarray, str]:
    return layout.spanned(layout.principal(embedding, 2)), "PCA"


def decided(run: Path, most: int = len(DECISIONS)) -> int:
    """The same decisions each time, with the same ids: those that are saved already are not made twice."""
    try:
        review = Discovery.load(run).review
        assert review is not None
        for number, decision in enumerate(DECISIONS[:most], 1):
            review.do(decision | {"id": f"me-{number}"})
            with open(f"{run}-told", "a") as told:  # beside the door: this is who was told that it is saved
                told.write(f"me-{number}\n")
    except UserError as error:
        print(f"novakind: {error}", file=sys.stderr)
        return 2
    return 0


class Output(io.TextIOWrapper):
    """What a terminal shows."""

    def __init__(self) -> None:
        self.kept = io.BytesIO()
        super().__init__(self.kept, encoding="utf-8", errors="strict", write_through=True)

    def text(self) -> str:
        return self.kept.getvalue().decode(errors="replace")


def judge(verdict: Verdict) -> str:
    wrong = [code for code in verdict.codes if code not in verdict.attempt.may]
    if wrong:
        return f"exit code {wrong[0]}"
    if Path("precious").read_text() != PRECIOUS:
        return "somebody's own file was changed"
    if Path("trapped").exists():
        return "code in a file was run"
    return verdict.attempt.check(verdict.codes)


def kept(verdict: Verdict, folder: Path, place: Path, name: str) -> None:
    """Write a bad attempt down: its command, what was said, and where its files are."""
    place.mkdir(parents=True, exist_ok=True)
    commands = "\n".join(shlex.join(["novakind", *words]) for words in verdict.attempt.commands)
    text = f"{verdict.attempt.what}\n\ncd {folder}\n{commands}\n\n{verdict.codes}\n{verdict.bad}\n\n{verdict.said}\n"
    (place / f"{name}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    print(text, file=sys.stderr)
