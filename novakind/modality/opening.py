"""Picture files as a person sees them: upright, in RGB, whatever their mode and depth."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps

from novakind.errors import UnreadableError

GLANCE = 50  # pictures tell what the others are


def glance(files: Sequence[Path]) -> Iterator[Pillow.Image]:
    """Some of the pictures, those that can be read."""
    for file in files[:: max(1, len(files) // GLANCE)]:
        try:
            yield open_rgb(file)
        except (UnreadableError, OSError, Pillow.DecompressionBombError):
            continue


def colour(picture: Pillow.Image) -> float:
    """How far the three tones of a picture's points lie apart, from 0 to 1."""
    tones = np.asarray(picture.convert("RGB").resize((32, 32)), dtype=np.float32) / 255
    return float((tones.max(2) - tones.min(2)).mean())


def open_rgb(path: Path, side: int = 512) -> Pillow.Image:
    """The picture as a person sees it: turned by its EXIF tag, 16-bit tones scaled, transparency laid on white."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata in files that it reads well
            with Pillow.open(path) as file:
                file.draft("RGB", (side, side))  # large JPEGs decode at a fraction of their size
                picture = ImageOps.exif_transpose(file)
                if picture.mode.startswith(("I", "F")):
                    return from_deep(picture).convert("RGB")
                if picture.has_transparency_data:
                    picture = picture.convert("RGBA")
                    return Pillow.alpha_composite(Pillow.new("RGBA", picture.size, "white"), picture).convert("RGB")
                return picture.convert("RGB")
    except Pillow.UnidentifiedImageError:
        raise UnreadableError("empty file" if path.stat().st_size == 0 else "not an image") from None
    except Exception as error:  # decoders of damaged files raise almost anything
        raise UnreadableError(f"{type(error).__name__}: {error}".replace("\n", " ")) from None


def from_deep(picture: Pillow.Image) -> Pillow.Image:
    """16-bit, 32-bit and float pictures as 8-bit grey: 16-bit by its full range, others stretched to theirs."""
    tones = np.asarray(picture, dtype=np.float64)
    valid = np.isfinite(tones)  # float pictures mark missing pixels with NaN
    low, high = tones[valid].min(), tones[valid].max()
    if picture.mode != "F" and 255 < high <= 65535:
        low, high = 0.0, 65535.0
    return Pillow.fromarray(np.uint8(255 * (np.where(valid, tones, low) - low) / max(high - low, 1e-12)))
