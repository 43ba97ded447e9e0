"""Folders of published encoders in which something is not as it was: tables by value, files by byte, or no files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
from published import publish_pictures

from . import goods
from .attempt import Attempt
from .bases import scratch
from .folders import replace_one, tamper
from .goods import QUICK

TABLES = ("config.json", "preprocessor_config.json")


def encoder(here: Path, rng: np.random.Generator) -> Attempt:
    whole = scratch() / "encoder"
    if not whole.exists():
        publish_pictures("vit", whole)
    shutil.copytree(whole, here / "encoder")
    goods.pictures(here / "data")
    if rng.random() < 0.7:
        file = here / "encoder" / TABLES[rng.integers(2)]
        found = json.loads(file.read_text())
        replace_one(found, rng)
        file.write_text(json.dumps(found))
        what = f"another value in {file.name}"
    else:
        names = sorted(path.name for path in whole.iterdir())
        what = names[rng.integers(len(names))]
        tamper(here / "encoder" / what, rng)
    words = ["discover", "data", *QUICK, "--encoder", "hf:encoder", "--out", "run"]
    return Attempt(f"an encoder with {what}", [words])
