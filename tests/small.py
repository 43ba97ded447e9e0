"""Small data for tests: pictures and vectors of four kinds, easy to distinguish, and plain pictures."""

from pathlib import Path

import numpy as np
from PIL import Image as Pillow


def shapes_folder(root: Path) -> None:
    """Small pictures: two known kinds, two unlabeled ones."""
    rng = np.random.default_rng(0)
    for number in range(160):
        kind = number % 4
        picture = rng.integers(0, 60, (12, 12), dtype=np.uint8)
        place = rng.integers(1, 4)
        if kind == 0:
            picture[place : place + 3, :] = 250
        elif kind == 1:
            picture[:, place : place + 3] = 250
        elif kind == 2:
            picture[place : place + 7, place : place + 7] = 250
        else:
            picture[np.arange(12), np.arange(12)] = 250
        folder = root / (("across", "down")[kind] if kind < 2 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(picture).save(folder / f"{number}.png")


def paint(file: Path, tone: int, side: int = 8) -> None:
    """A picture of one tone, whatever the file is called."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as opened:  # Pillow would choose the format by a name that may be odd
        Pillow.new("L", (side, side), tone).save(opened, "PNG")


def blobs_file(file: Path) -> None:
    """Four classes of vectors, all labeled."""
    rng = np.random.default_rng(0)
    X = np.repeat(4 * rng.normal(size=(4, 6)), 40, axis=0) + rng.normal(size=(160, 6))
    np.savez(file, X=X, y=np.repeat(np.arange(4), 40))
