"""Run folders that were damaged or changed by somebody, and options that cannot be."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from novakind.app.cli import VERBS
from novakind.settings import Setting

from . import goods
from .attempt import Attempt, decided, typed
from .bases import copy_of
from .goods import QUICK, mutated

TEXTS = ("results.json", "metrics.jsonl", "config.toml", "predictions.csv", "store/index.jsonl")
FILES = (
    *TEXTS,
    "state.pt",
    "model.safetensors",
    "embeddings.npz",
    "skipped.csv",
    "store/rows-0-0000.bin",
    ".lock",
    ".map.npz",
)
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    1.5,
    float("nan"),
    "",
    "x" * 5000,
    "../../precious",
    [],
    {},
    [[]],
    "\ud800",
]
COMMANDS = [
    ["report", "run"],
    ["export", "run", "--out", "out.csv"],
    ["export", "run", "--out", "out.npz"],
    ["export", "run", "--out", "sorted"],
    ["export", "run", "--out", "sorted", "--link", "--everything"],
    ["predict", "run", "data/dark", "--out", "more.csv"],
    ["discover", "data", *QUICK, "--out", "run"],
    ["review", "run"],
]
RECUT = [
    ["recut", "run", "--novel", "1"],
    ["recut", "run", "--novel", "3"],
    ["report", "run"],
    ["export", "run", "--out", "out.csv"],
    ["predict", "run", "data/x.npz", "--out", "more.csv"],
]
ROUND = ["discover", "data", "--after", "run", "--epochs", "1", "--quiet", "--out", "next"]


def folder(here: Path, rng: np.random.Generator) -> Attempt:
    """A finished run in which one to three files are not what they were; then any verbs. Or a second round of it."""
    if rng.random() < 0.15:
        return counted(here, rng)
    copy_of("image", here)
    if rng.random() < 0.3:
        return reviewed(here, rng)
    touched = [FILES[number] for number in rng.integers(0, len(FILES), rng.integers(1, 4))]
    for name in touched:
        tamper(here / "run" / name, rng)
    chosen = [COMMANDS[number] for number in rng.integers(0, len(COMMANDS), 2)]
    afterwards = [["discover", "data", *QUICK, "--out", "run", "--fresh"]] if rng.random() < 0.1 else []
    return Attempt(f"a run with another {', '.join(touched)}", chosen + afterwards, outside)


def reviewed(here: Path, rng: np.random.Generator) -> Attempt:
    """What a person decided was changed, or what the second round made of it."""
    is_round = rng.random() < 0.5
    assert decided(here / "run", 1 if is_round else 6) == 0
    (here / "run-told").unlink()
    touched = ["run/edits.jsonl"]
    if is_round:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            assert typed(ROUND) == 0
        touched = ["next/decisions.json", "next/config.toml", "next/results.json", "next/state.pt"]
        touched = touched[: 1 if rng.random() < 0.5 else 4]
    name = touched[rng.integers(len(touched))]
    tamper(here / name, rng)
    place = name.partition("/")[0]
    chosen = [["report", place], ["export", place, "--out", "out.csv"], ["review", "run"], ROUND]
    return Attempt(f"another {name}", [chosen[number] for number in rng.integers(0, len(chosen), 2)] + [ROUND], outside)


def counted(here: Path, rng: np.random.Generator) -> Attempt:
    """A run with a tree of merges, which is cut elsewhere before or after something in it was changed."""
    copy_of("counted", here)
    name = ("results.json", "embeddings.npz", "predictions.csv", "edits.jsonl")[rng.integers(4)]
    if name == "edits.jsonl":
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            assert typed(RECUT[1]) == 0
    tamper(here / "run" / name, rng)
    chosen = [RECUT[number] for number in rng.integers(0, len(RECUT), 2)]
    return Attempt(f"a run with a tree and another {name}", [*chosen, RECUT[0]], outside)


def outside(codes: list[int]) -> str:
    """Nothing is written above the folder of the attempt, and nothing but what was asked for in it."""
    known = {"precious", "data", "run", "next", "run-told", "out.csv", "out.npz", "sorted", "more.csv"}
    strange = set(os.listdir(".")) - known
    return f"{strange} was written" if strange else ""


def tamper(file: Path, rng: np.random.Generator) -> None:
    if not file.is_file() or file.is_symlink():
        return
    kind = rng.integers(10)
    content = file.read_bytes()
    if kind == 0 or not content.strip():
        file.unlink()
    elif kind == 1:
        file.unlink()
        [lambda: os.mkfifo(file), lambda: file.symlink_to("/dev/zero"), file.mkdir][rng.integers(3)]()
    elif kind == 2:
        file.unlink()
        file.symlink_to(Path("precious").resolve())
    elif kind < 6 and file.name.endswith((".json", ".jsonl")):
        lines = file.read_text(errors="replace").splitlines()  # it may be touched for the second time
        file.write_text("\n".join(changed_line(line, rng) for line in lines))
    elif kind < 6 and file.name == "predictions.csv":
        lines = file.read_text(errors="replace").splitlines()
        place = int(rng.integers(len(lines)))
        cells = lines[place].split(",")
        cells[rng.integers(len(cells))] = str(VALUES[rng.integers(len(VALUES) - 1)])
        lines[place] = ",".join(cells)
        file.write_text("\n".join(lines[: len(lines) - int(rng.integers(2))]))
    elif kind < 6 and file.name == "config.toml":
        lines = file.read_text(errors="replace").splitlines()
        place = int(rng.integers(len(lines)))
        name = lines[place].partition("=")[0]
        lines[place] = f"{name}= {['1', '-1', '[]', 'true', 'nan', '1e99', '{}', '9' * 40][rng.integers(8)]}"
        file.write_text("\n".join(lines))
    elif content:
        file.write_bytes(mutated(content, rng))


def changed_line(line: str, rng: np.random.Generator) -> str:
    """JSON of which one value, wherever it is, is another one."""
    try:
        found = json.loads(line)
        if rng.random() < 0.5 and isinstance(found, dict | list) and found:
            replace_one(found, rng)
        return json.dumps(found)
    except (ValueError, RecursionError):  # it was changed before
        return line


def replace_one(found: Any, rng: np.random.Generator) -> None:
    keys = list(found) if isinstance(found, dict) else list(range(len(found)))
    key = keys[rng.integers(len(keys))]
    if isinstance(found[key], dict | list) and found[key] and rng.random() < 0.6:
        replace_one(found[key], rng)
    elif rng.random() < 0.2 and isinstance(found, dict):
        del found[key]
    else:
        found[key] = VALUES[rng.integers(len(VALUES))]


WORDS = [
    "",
    "-1",
    "0",
    "1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "99999999999",
    "1.5",
    "x",
    "x" * 5000,
    "/" * 5000,
    "a/" * 3000,
]
WORDS += [
    "../..",
    "~",
    "/dev/null",
    "/proc/self/mem",
    "precious",
    "data",
    "1/2,1/2",
    "1/0,1",
    "ü🦊",
    "--",
    "-",
    "%n",
    "$(id)",
]
WORDS += [
    "random:2",
    "dark",
    "dark,dark",
    "1,2,3",
    "auto",
    "none",
    "True",
    "0x10",
    "1_000",
    "٣",
    "\udcff",
    " ",
    "\t",
    "{}",
]
NUMBERED = {"--novel", "--epochs", "--batch"}


def option(here: Path, rng: np.random.Generator) -> Attempt:
    """One or two options with values that nobody should give; those that could train for hours are kept short."""
    goods.pictures(here / "data")
    words = ["discover", "data", "--novel", "2", "--batch", "20", "--quiet", "--out", "run"]
    known = [
        name
        for name in VERBS["discover"].known()
        if name not in ("epochs", "minutes", "work", "data_root", "dim", "heads")
    ]
    for _ in range(int(rng.integers(1, 3))):
        name = known[rng.integers(len(known))]
        spelled = f"--{name.replace('_', '-')}"
        if rng.random() < 0.6:
            words += plausible(spelled, VERBS["discover"].known()[name], rng)
            continue
        value = WORDS[rng.integers(len(WORDS))]
        words += [f"{spelled}={value}"] if rng.random() < 0.5 else [spelled, value]
    words += ["--epochs", ("1", "-1", "nan", "99999999999")[0 if rng.random() < 0.8 else rng.integers(1, 4)]]
    if rng.random() < 0.2:
        words = [WORDS[rng.integers(len(WORDS))] if rng.random() < 0.2 else word for word in words]
        words += ["--epochs", "1"]
    if rng.random() < 0.1:
        name, bad = [("dim", "99999999999"), ("heads", "100000"), ("minutes", "inf"), ("novel", "99999999999")][
            rng.integers(4)
        ]
        words += [f"--{name}", bad]
    return Attempt("options", [words], lambda codes: leftovers())


def plausible(spelled: str, setting: Setting, rng: np.random.Generator) -> list[str]:
    """A value of the right type, and as a rule at the end of its range; what would take hours is left at rest."""
    if setting.type is bool:
        return [spelled if rng.random() < 0.5 else f"--no-{spelled[2:]}"]
    if setting.choices:
        return [spelled, str(setting.choices[rng.integers(len(setting.choices))])]
    if (
        setting.type in (int, float)
        and setting.range
        and setting.name not in ("size", "views.small", "frames", "novel")
    ):
        low, high = setting.range.low, min(setting.range.high, 1e9)
        value = (low, high, low + 1e-9, high - 1e-9, (low + high) / 2, low + 1)[rng.integers(6)]
        return [f"{spelled}={int(value) if setting.type is int else value}"]
    return []


def leftovers() -> str:
    """Whatever was asked for, nothing is written over somebody's file."""
    shutil.rmtree("run", ignore_errors=True)
    return ""
