"""Small data for tests: pictures, photographs and vectors of four kinds, easy to distinguish, and plain pictures."""

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


def photos_folder(root: Path, count: int = 60, side: int = 96, grey: bool = False, seed: int = 0) -> None:
    """What an encoder of photographs distinguishes: balls and boxes are known, stripes and slopes are not."""
    rng = np.random.default_rng(seed)
    tones = np.array([[200, 60, 40], [40, 90, 200], [60, 190, 80], [220, 200, 60]])
    y, x = np.mgrid[:side, :side] / side
    for number in range(count):
        kind = number % 4
        (left, top), radius, ground = rng.uniform(0.35, 0.65, 2), rng.uniform(0.2, 0.3), rng.uniform(90, 160, 3)
        forms = (
            np.hypot(x - left, y - top) < radius,
            np.maximum(abs(x - left), abs(y - top)) < radius,
            np.sin(40 * x) > 0,
            np.sin(30 * (x + y)) > 0,
        )
        picture = np.where(forms[kind][..., None], tones[kind], ground) + rng.normal(0, 20, (side, side, 3))
        folder = root / (("ball", "box")[kind] if kind < 2 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        photo = Pillow.fromarray(np.clip(picture, 0, 255).astype(np.uint8))
        (photo.convert("L") if grey else photo).save(folder / f"{kind}-{number}.png")


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
