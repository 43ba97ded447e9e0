"""Kills and full disks: at any step that changes the disk, or at every one of them in turn.

However a command ended, the same command afterwards ends with the bytes of one that was never disturbed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from novakind import disk
from novakind.runs.discovery import Discovery

from . import goods
from .attempt import Attempt, Make, inside, run, typed
from .bases import copy_of, scratch
from .goods import QUICK

FORKS = multiprocessing.get_context("forkserver")  # what every command imports takes seconds: it is imported once
FORKS.set_forkserver_preload(["novakind.app.cli", "torch._dynamo", "sklearn.cluster", "sklearn.manifold"])
ERRORS = (errno.ENOSPC, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES)
NOT_COMPARED = (".lock", "compare.svg", "curves.svg")
COMPARED = ["--known", "2", "--methods", "kmeans", "--seeds", "2", "--epochs", "1", "--batch", "20", "--quiet"]
COMMANDS = {
    "discover": ["discover", "data", *QUICK, "--epochs", "2", "--out", "out"],
    "compare": ["compare", "data.npz", *COMPARED, "--out", "out"],
    "export table": ["export", "run", "--out", "out/table.csv"],
    "export arrays": ["export", "run", "--out", "out/arrays.npz"],
    "export folders": ["export", "run", "--out", "out"],
    "predict": ["predict", "run", "data", "--out", "out/more.csv"],
    "report": ["report", "run"],
    "review": ["review", "run"],
    "recut": ["recut", "run", "--novel", "1"],
    "second round": ["discover", "data", "--after", "run", "--epochs", "1", "--quiet", "--out", "out"],
}


def prepare(verb: str, here: Path) -> list[str]:
    """What the verb works on, and the words of its command."""
    if verb == "compare":
        np.savez(here / "data.npz", X=goods.vectors(np.random.default_rng(0))[0], y=np.repeat(list("abcd"), 13))
    elif verb == "discover":
        goods.pictures(here / "data")
    else:
        copy_of("counted" if verb == "recut" else "image", here)
    if verb == "second round":
        Discovery.load(here / "run").rename("new-1", "stripes")
    return COMMANDS[verb]


def essence(verb: str, here: Path) -> dict[str, Any]:
    """What a command has written, without times: by file."""
    if verb == "recut":  # what was cut once goes on from there: by other decisions to the same groups
        groups: dict[int, int] = {}
        category = Discovery.load(here / "run").category.tolist()
        return {"groups": [groups.setdefault(one, len(groups)) for one in category]}
    place = here / ("run" if verb in ("report", "review") else "out")
    found: dict[str, Any] = {}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if not file.is_file() or name.startswith(("store/", "edits-torn")) or file.name in NOT_COMPARED:
            continue
        content = file.read_bytes()
        if file.suffix == ".npz":
            with np.load(io.BytesIO(content)) as arrays:
                found[name] = {key: arrays[key].tobytes() for key in arrays if key != "stamp"}  # a time
        elif file.suffix in (".json", ".jsonl"):
            found[name] = [timeless(json.loads(line)) for line in as_lines(content, file.suffix)]
        elif file.name in ("report.html", "compare.csv", "compare.md"):
            found[name] = len(content) > 0
        elif file.name not in ("config.toml", "state.pt"):
            found[name] = content
        else:
            found[name] = None
    return found


def as_lines(content: bytes, ending: str) -> list[bytes]:
    return content.splitlines() if ending == ".jsonl" else [content]


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        places = ("seconds", "minutes", "data", "digest", "asked", "after", "root", "time")
        return {key: timeless(one) for key, one in value.items() if key not in places}
    return value


@cache
def undisturbed(verb: str) -> tuple[dict[str, Any], list[str]]:
    """What the command writes when nothing happens, and its steps."""
    here = scratch() / f"whole {verb}"
    here.mkdir(parents=True)
    steps = Counting()
    with inside(here), steps:
        words = prepare(verb, Path())
        steps.names.clear()
        code, bad, said = run(words)
        assert code == 0, (verb, bad, said)
        return essence(verb, Path()), steps.names


class Counting:
    """Counts the steps; at the n-th one `happens` in its place."""

    def __init__(self, at: int = 0, happens: Callable[..., Any] | None = None) -> None:
        self.at, self.happens, self.names = at, happens, list[str]()

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        self.names.append(getattr(call, "__name__", ""))
        if self.happens and len(self.names) >= self.at:
            return self.happens(call, *arguments)
        return call(*arguments)

    def __enter__(self) -> Counting:
        self.before, disk.act = disk.act, self
        return self

    def __exit__(self, *details: object) -> None:
        disk.act = self.before


def full(number: int) -> Callable[..., Any]:
    """From now on nothing can be written, but files can be removed."""

    def refuse(call: Callable[..., Any], *arguments: Any) -> Any:
        if call in (os.unlink, os.ftruncate) and number in (errno.ENOSPC, errno.EDQUOT):
            return call(*arguments)
        if call is os.open and not arguments[1] & (os.O_WRONLY | os.O_RDWR):
            return call(*arguments)
        raise OSError(number, os.strerror(number))

    return refuse


def die(how: str) -> Callable[..., Any]:
    """The process ends before a step, in the middle of a write, or after it."""

    def end(call: Callable[..., Any], *arguments: Any) -> Any:
        if how == "half" and call is os.write:
            call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        elif how == "after":
            call(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return end


def child(here: str, words: list[str], at: int, how: str) -> None:
    import torch

    torch.set_num_threads(1)
    os.chdir(here)
    with (
        Counting(at, die(how)),
        open(os.devnull, "w") as nothing,
        contextlib.redirect_stdout(nothing),
        contextlib.redirect_stderr(nothing),
    ):
        code = typed(words)
    sys.exit(code)


def killed(here: Path, words: list[str], at: int, how: str) -> int:
    """The command in a process of its own, which is killed; its exit code."""
    process = FORKS.Process(target=child, args=(str(here.resolve()), words, at, how))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def same(verb: str) -> Callable[[list[int]], str]:
    def check(codes: list[int]) -> str:
        if codes[-1] != 0:
            return f"it does not go on: {codes}"
        if verb == "review" and (lost := told() - saved()):
            return f"{lost} were told to be saved, and are not"
        whole, found = undisturbed(verb)[0], essence(verb, Path())
        other = [name for name in {**whole, **found} if whole.get(name) != found.get(name)]
        return f"{other[0]} is not the same" if other else ""

    return check


def told() -> set[str]:
    """Decisions that somebody was told to be saved."""
    return set(Path("run-told").read_text().split()) if Path("run-told").exists() else set()


def saved() -> set[str]:
    """Those that are on disk."""
    lines = Path("run/edits.jsonl").read_bytes().splitlines() if Path("run/edits.jsonl").exists() else []
    return {json.loads(line)["id"] for line in lines if line.endswith(b"}")}


def signals(here: Path, rng: np.random.Generator) -> Attempt:
    """Killed once or twice at any step, then once more without."""
    verb = list(COMMANDS)[rng.integers(len(COMMANDS))]
    steps = len(undisturbed(verb)[1])
    words = prepare(verb, here)
    how = ("before", "half", "after")[rng.integers(3)]
    places = [int(rng.integers(1, steps + 1)) for _ in range(rng.integers(1, 3))]
    for place in places:
        assert killed(here, words, place, how) in (-signal.SIGKILL, 0, 2)
    return Attempt(f"{verb} killed {how} steps {places}", [words], same(verb))


def disks(here: Path, rng: np.random.Generator) -> Attempt:
    """A disk that refuses from some step on, then there is room again."""
    verb = list(COMMANDS)[rng.integers(len(COMMANDS))]
    steps = len(undisturbed(verb)[1])
    place, number = int(rng.integers(1, steps + 1)), ERRORS[rng.integers(len(ERRORS))]
    return disturbed(verb, here, place, number)


def disturbed(verb: str, here: Path, place: int, number: int) -> Attempt:
    words = prepare(verb, here)
    contexts: Iterator[Any] = iter([Counting(place, full(number)), contextlib.nullcontext()])

    def check(codes: list[int]) -> str:
        left = set(undisturbed(verb)[1][place - 1 :]) - {"unlink"}  # what is whole may be followed by clearing up
        return f"a full disk ended with {codes[0]}" if codes[0] != 2 and left else same(verb)(codes)

    what = f"{verb}, {errno.errorcode[number]} from step {place} on"
    return Attempt(what, [words, words], check, lambda: next(contexts))


def every(verb: str, folder: Path, stride: int = 1, first: int = 1) -> dict[str, Any]:
    """A kill before every step of a command, in the middle of every write, and a full disk from every step on: how many
    there were, and which did not end well."""
    from .attempt import carry_out

    steps, bad = undisturbed(verb)[1], []
    counts = {"steps": len(steps), "kills": 0, "full": 0}
    for place in range(first, len(steps) + 1, stride):
        tries: dict[str, Make] = {"full": lambda here, rng, place=place: disturbed(verb, here, place, errno.ENOSPC)}
        for how in ("half", "before")[: 2 if stride == 1 and steps[place - 1] == "write" else 1]:
            tries[how] = lambda here, rng, place=place, how=how: killed_once(verb, here, place, how)
        for what, make in tries.items():
            counts["full" if what == "full" else "kills"] += 1
            with tempfile.TemporaryDirectory(prefix="step-", dir=folder) as here:
                verdict = carry_out(make, Path(here) / "here", np.random.default_rng(0))
            bad += [f"{what}, step {place}: {verdict.bad}\n{verdict.said}"] if verdict.bad else []
    return counts | {"bad": bad}


def killed_once(verb: str, here: Path, place: int, how: str) -> Attempt:
    words = prepare(verb, here)
    code = killed(here, words, place, how)
    lost = told() - saved() if verb == "review" else set()

    def check(codes: list[int]) -> str:
        if code != -signal.SIGKILL or lost:
            return f"it ended with {code}; lost: {lost}"
        return same(verb)(codes)

    return Attempt(f"killed {how} step {place}", [words], check)
