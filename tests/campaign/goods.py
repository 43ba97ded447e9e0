"""Goods: small data that novakind sorts, into which the campaign puts what is hostile; and runs on them, made once."""

from __future__ import annotations

import io
import shutil
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

QUICK = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet"]
FOLDERS = ("dark", "bright", "unlabeled", "unlabeled")
COUNT = 52
ODD = [
    "ü",
    "🦊",
    "a b",
    "-x",
    "a'b",
    'a"b',
    "a,b",
    "a\rb",
    "a\nb",
    "a@1",
    "%s",
    "..a",
    "con",
    "x" * 120,
    "\udcff",
    "=1+1",
]


@cache
def pixels(number: int, ending: str = "PNG") -> bytes:
    tones = np.full((10, 10, 3), 20 + 60 * (number % 4), np.uint8)
    tones[number % 10] = 250 - number
    buffer = io.BytesIO()
    Pillow.fromarray(tones).save(buffer, ending)
    return buffer.getvalue()


def put(file: Path, content: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def pictures(root: Path) -> list[str]:
    """Their names."""
    names = [f"{FOLDERS[number % 4]}/{number:03}.png" for number in range(COUNT)]
    for number, name in enumerate(names):
        put(root / name, pixels(number))
    return names


@cache
def recording(number: int) -> bytes:
    rng = np.random.default_rng(number)
    clock = np.arange(40) / 20
    values = np.stack([np.sin(2 * (1 + number % 4) * clock + k) + 0.1 * rng.normal(size=40) for k in range(3)], 1)
    rows = [f"{t:.2f}," + ",".join(f"{one:.4f}" for one in row) for t, row in zip(clock, values, strict=True)]
    return "\n".join(["time,x,y,z", *rows, ""]).encode()


def recordings(root: Path) -> list[str]:
    names = [f"{FOLDERS[number % 4]}/{number:03}.csv" for number in range(COUNT)]
    for number, name in enumerate(names):
        put(root / name, recording(number))
    return names


def note(number: int) -> bytes:
    subject = ("the weather in spring", "a recipe for bread", "a train that is late", "the final of a cup")[number % 4]
    return f"note {number} is about {subject}".encode()


def vectors(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    centres = 4 * np.random.default_rng(0).normal(size=(4, 5))
    return np.repeat(centres, 13, 0) + rng.normal(size=(52, 5)), np.repeat([0, 1, -1, -1], 13)


def odd_name(rng: np.random.Generator, ending: str) -> str:
    return f"{ODD[rng.integers(len(ODD))]}{rng.integers(1000)}{ending}"


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The same with some damage: bytes changed, cut off, doubled, left out, or replaced by other ones."""
    changed = bytearray(content)
    kind = rng.integers(7)
    place, other = sorted(rng.integers(0, len(content) + 1, 2))
    if kind == 0:
        for where in rng.integers(0, len(content), rng.integers(1, 20)):
            changed[where] = rng.integers(256)
    elif kind == 1:
        del changed[place:]
    elif kind == 2:
        changed[place:place] = changed[place:other]
    elif kind == 3:
        del changed[place:other]
    elif kind == 4:
        changed[place:other] = rng.bytes(int(other - place))
    elif kind == 5:
        changed = bytearray(rng.bytes(int(rng.integers(0, 2000))))
    else:
        changed[place:place] = rng.choice([b"\0" * 50, b"\xff" * 50, b'"', b"\n" * 9, b"9" * 400, b"[" * 5000])
    return bytes(changed)


def copied(run: Path, target: Path) -> None:
    shutil.copytree(run, target, symlinks=True)
