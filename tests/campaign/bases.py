"""Bases: finished runs of each kind, made once for a whole campaign and copied or read by its attempts."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from . import goods
from .attempt import typed
from .goods import QUICK


@cache
def scratch() -> Path:
    """A folder for what is made once; it goes with the process."""
    folder = tempfile.TemporaryDirectory(prefix="campaign-")
    kept.append(folder)
    return Path(folder.name)


kept: list[tempfile.TemporaryDirectory] = []


@cache
def base(kind: str) -> Path:
    """The folder of a finished run; its data are beside it."""
    from .files import clip

    root = scratch() / kind
    data, more = root / "data", list[str]()
    if kind == "image":
        goods.pictures(root / "data")
    elif kind == "series":
        goods.recordings(root / "data")
    elif kind == "text":
        for number in range(48):
            goods.put(root / "data" / goods.FOLDERS[number % 4] / f"{number}.txt", goods.note(number))
    elif kind == "video":
        for number in range(44):
            goods.put(root / "data" / goods.FOLDERS[number % 4] / f"{number}.avi", clip(number % 4 and 0))
        more = ["--size", "32", "--frames", "8", "--preset", "default", "--val", "0"]
    elif kind == "counted":  # it has a tree of merges
        data = root / "data" / "x.npz"
        data.parent.mkdir(parents=True)
        rng = np.random.default_rng(0)
        pieces = [goods.vectors(rng) for _ in range(5)]
        np.savez(data, X=np.concatenate([X for X, _ in pieces]), y=np.concatenate([y for _, y in pieces]))
        more = ["--novel", "auto"]
    with contextlib.redirect_stdout(io.StringIO()):
        code = typed(["discover", str(data), *QUICK, *more, "--out", str(root / "run")])
    assert code == 0, kind
    return root / "run"


def copy_of(kind: str, here: Path) -> None:
    """The run and its data, in the folder of an attempt: `run` and `data`."""
    run = base(kind)
    shutil.copytree(run.parent / "data", here / "data")
    shutil.copytree(run, here / "run")
    config = here / "run" / "config.toml"
    config.write_text(config.read_text().replace(str(run.parent / "data"), str((here / "data").resolve())))
