"""Picture files as a person sees them: upright, in RGB, whatever their mode and depth; none larger than allowed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image as Pillow
from PIL import ImageOps

from novakind.errors import UnreadableError
from novakind.given import MEMORY, at_once, status
from novakind.settings import Range

GLANCE = 50  # pictures tell what the others are
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # others may start programs: EPS, Ghostscript
MEGAPIXELS = 100
LARGE = 2**24  # pixels from which a picture is made smaller before anything else is done with it
BYTES = {"1": 1, "L": 1, "P": 1, "LA": 4, "I;16": 2}  # of a pixel as Pillow keeps it; 4 in all other modes
# where Pillow finds out how a picture is turned, beside the tags of TIFF; to look takes long where pictures are small
TURNED = {"exif", "Raw profile type exif", "XML:com.adobe.xmp", "xmp"}
# Pillow takes memory in blocks of 16 MB, which the C library keeps for the thread that freed them: six threads that had
# read one huge picture each held 2 GB. Larger ones go back to the system at once.
BLOCK = 2**26

Pillow.core.set_block_size(BLOCK)

Megapixels = Annotated[int, Range(1, 178)]  # beyond which Pillow itself refuses


def glance(files: Sequence[Path], megapixels: int = MEGAPIXELS) -> Iterator[Pillow.Image]:
    """Some of the pictures, those that can be read."""
    for file in files[:: max(1, len(files) // GLANCE)]:
        try:
            yield open_rgb(file, megapixels=megapixels)
        except UnreadableError:
            continue


def colour(picture: Pillow.Image) -> float:
    """How far the three tones of a picture's points lie apart, from 0 to 1."""
    tones = np.asarray(picture.convert("RGB").resize((32, 32)), dtype=np.float32) / 255
    return float((tones.max(2) - tones.min(2)).mean())


def open_rgb(path: Path, side: int = 512, megapixels: int = MEGAPIXELS) -> Pillow.Image:
    """The picture as a person sees it: turned by its EXIF tag, 16-bit tones scaled, transparency laid on white."""
    try:
        with at_once(path) as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata in files that it reads well
            with Pillow.open(stream, formats=FORMATS) as file:
                check_pixels(*file.size, megapixels)
                if min(file.size) >= 2 * side:
                    file.draft("RGB", (side, side))  # large JPEGs decode at a fraction of their size
                with MEMORY.room(weight(file, side)):
                    found: Pillow.Image | None = None
                    try:
                        picture = lessened(file, side)
                        picture.load()
                        if TURNED & picture.info.keys() or picture.format == "TIFF":
                            ImageOps.exif_transpose(picture, in_place=True)
                        found = as_rgb(picture)
                        return found
                    finally:
                        if found is not file:
                            file.close()  # its pixels too, though whatever failed may still hold it
    except UnreadableError:
        raise
    except Pillow.UnidentifiedImageError:
        raise UnreadableError("not an image" if status(path).st_size else "empty file") from None
    except Exception as error:  # decoders of damaged files raise almost anything
        raise UnreadableError(f"{type(error).__name__}: {error}".replace("\n", " ")) from None


def check_pixels(width: int, height: int, megapixels: int) -> None:
    """Refuse what would take more memory than it is worth: a file of some KB can hold gigabytes of one tone."""
    if width * height > megapixels * 1_000_000:
        found = -(-width * height // 1_000_000)
        raise UnreadableError(f"{width} x {height} pixels, more than --megapixels {megapixels}: {found} would read it")


def weight(picture: Pillow.Image, side: int) -> int:
    """Bytes that are taken while it becomes RGB: a very large one is there once, of others there are copies."""
    pixels = picture.width * picture.height
    if pixels >= LARGE and smaller_by(picture, side) > 1:
        return pixels * BYTES.get(picture.mode, 4)
    return 4 * pixels * (4 if picture.mode in ("RGBA", "LA", "PA", "P") else 2)


def smaller_by(picture: Pillow.Image, side: int) -> int:
    times = min(picture.size) // (2 * side)
    return 1 if picture.width * picture.height < LARGE else max(times, 1)


def lessened(picture: Pillow.Image, side: int) -> Pillow.Image:
    """A very large picture at a fraction of its size, in its own mode; others as they are."""
    times = smaller_by(picture, side)
    if times == 1:
        return picture
    tag = picture.getexif()
    if picture.mode in ("1", "P", "PA") or ";" in picture.mode:  # which cannot be averaged
        width, height = picture.size
        smaller = picture.resize((width // times, height // times), Pillow.Resampling.NEAREST)
    else:
        smaller = picture.reduce(times)
    smaller.info["exif"] = tag.tobytes()  # that tells how it is turned
    return smaller


def as_rgb(picture: Pillow.Image) -> Pillow.Image:
    if picture.mode.startswith(("I", "F")):
        return from_deep(picture).convert("RGB")
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        return Pillow.alpha_composite(Pillow.new("RGBA", picture.size, "white"), picture).convert("RGB")
    return picture if picture.mode == "RGB" else picture.convert("RGB")


def from_deep(picture: Pillow.Image) -> Pillow.Image:
    """16-bit, 32-bit and float pictures as 8-bit grey: 16-bit by its full range, others stretched to theirs."""
    tones = np.asarray(picture, dtype=np.float64)
    valid = np.isfinite(tones)  # float pictures mark missing pixels with NaN
    low, high = tones[valid].min(), tones[valid].max()
    if picture.mode != "F" and 255 < high <= 65535:
        low, high = 0.0, 65535.0
    return Pillow.fromarray(np.uint8(255 * (np.where(valid, tones, low) - low) / max(high - low, 1e-12)))
