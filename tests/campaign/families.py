"""Families: what is attacked, by name, and an attempt of any of them by its number and a seed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .attempt import Make, Verdict, carry_out, kept
from .encoders import encoder
from .files import image, series, text, video
from .folders import folder, option
from .tables import array, manifest, vectors
from .writes import disks, signals

FAMILIES: dict[str, Make] = {
    "image": image,
    "video": video,
    "recording": series,
    "text": text,
    "manifest": manifest,
    "array": array,
    "vectors": vectors,
    "encoder": encoder,
    "run folder": folder,
    "option": option,
    "signal": signals,
    "disk": disks,
}


@dataclass
class Count:
    """How the attempts of a family went."""

    tries: int = 0
    fine: int = 0
    refused: int = 0
    bad: int = 0

    def add(self, verdict: Verdict) -> None:
        self.tries += 1
        self.fine += not verdict.bad and verdict.code == 0
        self.refused += not verdict.bad and verdict.code == 2
        self.bad += bool(verdict.bad)


def draw(number: int, seed: int, counts: dict[str, Count], keep: Path) -> Verdict:
    """The attempt of this number: families take turns; a bad one is kept with its files."""
    names = list(counts)
    name = names[number % len(names)]
    place = Path(tempfile.mkdtemp(prefix="attempt-"))
    try:
        rng = np.random.default_rng((seed, number))
        verdict = carry_out(FAMILIES[name], place / "here", rng)
        counts[name].add(verdict)
        if verdict.bad:
            here = keep / f"{number}-{name.replace(' ', '-')}"
            shutil.copytree(place / "here", here, symlinks=True, ignore=without_pipes, dirs_exist_ok=True)
            kept(verdict, here, keep, f"{number}-{name.replace(' ', '-')}")
        return verdict
    finally:
        shutil.rmtree(place, ignore_errors=True)


def without_pipes(folder: str, names: list[str]) -> list[str]:
    """Copying a pipe would wait for ever."""
    return [name for name in names if (Path(folder) / name).is_fifo()]
