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
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from novakind import disk
from novakind.app.cli import main
from novakind.runs.discovery import Discovery

from . import goods
from .attempt import Attempt, inside, run
from .bases import copy_of, scratch
from .goods import QUICK

FORKS = multiprocessing.get_context("forkserver")  # what every command imports takes seconds: it is imported once
FORKS.set_forkserver_preload(["novakind.app.cli", "torch._dynamo", "sklearn.cluster", "sklearn.manifold"])
ERRORS = (errno.ENOSPC, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES)
COMPARED = ["--known", "2", "--methods", "ours,kmeans", "--seeds", "1", "--epochs", "1", "--batch", "20", "--quiet"]
COMMANDS = {
    "discover": ["discover", "data", *QUICK, "--epochs", "2", "--out", "out"],
    "compare": ["compare", "data", *COMPARED, "--out", "out"],
    "export table": ["export", "run", "--out", "out/table.csv"],
    "export arrays": ["export", "run", "--out", "out/arrays.npz"],
    "export folders": ["export", "run", "--out", "out"],
    "report": ["report", "run"],
    "second round": ["discover", "data", "--after", "run", "--epochs", "1", "--quiet", "--out", "out"],
}


def prepare(verb: str, here: Path) -> list[str]:
    """What the verb works on, and the words of its command."""
    if verb == "compare":
        for number, name in enumerate(goods.pictures(here / "all")):
            goods.put(here / "data" / "abcd"[number % 4] / Path(name).name, (here / "all" / name).read_bytes())
        shutil.rmtree(here / "all")
    elif verb == "discover":
        goods.pictures(here / "data")
    else:
        copy_of("image", here)
    if verb == "second round":
        Discovery.load(here / "run").rename("new-1", "stripes")
    return COMMANDS[verb]


def essence(verb: str, here: Path) -> dict[str, Any]:
    """What a command has written, without times: by file."""
    place = here / ("run" if verb == "report" else "out")
    found: dict[str, Any] = {}
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place).as_posix()
        if not file.is_file() or name.startswith("store/") or file.name in (".lock", "compare.svg", "curves.svg"):
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
        places = ("seconds", "minutes", "data", "digest", "asked", "after", "root")
        return {key: timeless(one) for key, one in value.items() if key not in places}
    return value


@cache
def undisturbed(verb: str) -> tuple[dict[str, Any], int]:
    """What the command writes when nothing happens, and in how many steps."""
    here = scratch() / f"whole {verb}"
    here.mkdir(parents=True)
    steps = Counting()
    with inside(here), steps:
        words = prepare(verb, Path())
        steps.calls = 0
        code, bad, said = run(words)
        assert code == 0, (verb, bad, said)
        return essence(verb, Path()), steps.calls


class Counting:
    """Counts the steps; at the n-th one `happens` in its place."""

    def __init__(self, at: int = 0, happens: Callable[..., Any] | None = None) -> None:
        self.at, self.happens, self.calls = at, happens, 0

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        self.calls += 1
        if self.happens and self.calls >= self.at:
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
        code = main(words)
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
        whole, found = undisturbed(verb)[0], essence(verb, Path())
        other = [name for name in {**whole, **found} if whole.get(name) != found.get(name)]
        return f"{other[0]} is not the same" if other else ""

    return check


def signals(here: Path, rng: np.random.Generator) -> Attempt:
    """Killed once or twice at any step, then once more without."""
    verb = list(COMMANDS)[rng.integers(len(COMMANDS))]
    steps = undisturbed(verb)[1]
    words = prepare(verb, here)
    how = ("before", "half", "after")[rng.integers(3)]
    places = [int(rng.integers(1, steps + 1)) for _ in range(rng.integers(1, 3))]
    for place in places:
        assert killed(here, words, place, how) in (-signal.SIGKILL, 0, 2)
    return Attempt(f"{verb} killed {how} steps {places}", [words], same(verb))


def disks(here: Path, rng: np.random.Generator) -> Attempt:
    """A disk that refuses from some step on, then there is room again."""
    verb = list(COMMANDS)[rng.integers(len(COMMANDS))]
    steps = undisturbed(verb)[1]
    place, number = int(rng.integers(1, steps + 1)), ERRORS[rng.integers(len(ERRORS))]
    return disturbed(verb, here, place, number)


def disturbed(verb: str, here: Path, place: int, number: int) -> Attempt:
    words = prepare(verb, here)
    contexts: Iterator[Any] = iter([Counting(place, full(number)), contextlib.nullcontext()])

    def check(codes: list[int]) -> str:
        return f"a full disk ended with {codes[0]}" if codes[0] != 2 else same(verb)(codes)

    what = f"{verb}, {errno.errorcode[number]} from step {place} on"
    return Attempt(what, [words, words], check, lambda: next(contexts))


def every(verb: str, folder: Path, stride: int = 1, first: int = 1) -> dict[str, Any]:
    """A kill and a full disk at every step of a command: how many there are, and which did not end well."""
    from .attempt import carry_out

    steps, bad = undisturbed(verb)[1], []
    rng = np.random.default_rng(0)
    kills = filled = 0
    for place in range(first, steps + 1, stride):
        for how in ("before", "half") if stride == 1 else ("half",):

            def kill(here: Path, rng: np.random.Generator, place: int = place, how: str = how) -> Attempt:
                words = prepare(verb, here)
                code = killed(here, words, place, how)
                return Attempt(
                    f"killed {how} {place}", [words], lambda codes: same(verb)(codes) if code == -9 else f"{code}"
                )

            kills += 1
            verdict = carry_out(kill, folder / f"{verb} {place} {how}", rng)
            bad += [f"killed {how} step {place}: {verdict.bad}"] if verdict.bad else []
        verdict = carry_out(
            lambda here, rng, place=place: disturbed(verb, here, place, errno.ENOSPC), folder / f"{verb} {place}", rng
        )
        filled += 1
        bad += [f"ENOSPC at step {place}: {verdict.bad}"] if verdict.bad else []
        for left in folder.glob(f"{verb} {place}*"):
            shutil.rmtree(left, ignore_errors=True)
    return {"steps": steps, "kills": kills, "full": filled, "bad": bad}
