"""Clips for the page: each item as one strip of frames side by side, small enough for a page of a few megabytes."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from novakind.modality.display import Clips

CARD_BYTES = 3_900_000  # of all strips on cards
MAP_BYTES = 3_000_000  # of strips that only the map shows
STILL_BYTES = 400_000  # of single frames on the map, once that is spent
TINY = 32  # pixels of the longer side; smaller frames are enlarged, each pixel staying a square
TRIED = 12  # items that are drawn to choose a size
SLACK = 0.9  # the part of a budget that their estimate may fill


@dataclass(frozen=True)
class Size:
    """How a strip is drawn: the most frames, the longer side of each in pixels, and the quality of WebP."""

    frames: int
    side: int
    quality: int


# the first at which all items should fit is taken; whole blocks of 16 pixels keep neighbouring frames apart
ON_CARDS = (
    *(Size(8, 128, 72), Size(8, 96, 68), Size(8, 80, 62), Size(8, 64, 55), Size(8, 64, 42), Size(8, 56, 42)),
    *(Size(8, 48, 40), Size(8, 48, 20)),
)
ON_MAP = (Size(8, 128, 72), Size(8, 96, 68), Size(8, 64, 58), Size(6, 64, 50), Size(4, 64, 45), Size(4, 56, 40))

Row = UInt8[np.ndarray, "3 frames height width"]


def gather_clips(clips: Clips, first: Iterable[int], then: Iterable[int]) -> tuple[dict[int, str], dict[str, Any]]:
    """Strips as data URIs of the items in `first`, on cards, and in `then`, on the map; and facts about them.

    An item that is empty or cannot be read is left out.
    """
    cards = dict.fromkeys(first)
    others = [item for item in then if item not in cards]
    found = {
        **strips(clips, list(cards), ON_CARDS, CARD_BYTES),
        **strips(clips, others, ON_MAP, MAP_BYTES, STILL_BYTES),
    }
    fps = float(clips.fps) if 0 < clips.fps < math.inf else 0
    about = {"fps": fps, "items": {item: facts for item, (_, facts) in found.items()}}
    return {item: uri for item, (uri, _) in found.items()}, about


def strips(
    clips: Clips, items: list[int], sizes: tuple[Size, ...], budget: int, stills: float = math.inf
) -> dict[int, tuple[str, list[Any]]]:
    """Strips of `items` up to `budget` in bytes, then single frames up to `stills`; each with the facts about it.

    The facts are the numbers of the shown frames, the number of all frames, and width by height of one.
    """
    size, spent, found = fitting(clips, items, sizes, budget), 0, {}
    for item in items:
        if spent >= budget + stills:
            break
        row = read(clips, item)
        if row is None:
            continue
        frames = picked(row.shape[1], size.frames if spent < budget else 1)
        picture, aspect = draw(row[:, frames], size)
        uri = f"data:image/webp;base64,{base64.b64encode(picture).decode()}"
        spent += len(uri)
        found[item] = uri, [frames, row.shape[1], round(aspect, 4)]
    return found


def read(clips: Clips, item: int) -> Row | None:
    """An item's frames; None for an item that is empty or cannot be read."""
    try:
        row = np.asarray(clips.row(item))
    except (OSError, ValueError):
        return None
    return row if row.size else None


def fitting(clips: Clips, items: list[int], sizes: tuple[Size, ...], budget: int) -> Size:
    """The first size at which the items should fit the budget, judged by some of them; the last one if none does."""
    tried = [read(clips, item) for item in items[:: math.ceil(len(items) / TRIED) or 1]]
    rows = [row[:, picked(row.shape[1], max(size.frames for size in sizes))] for row in tried if row is not None]
    for size in sizes[:-1]:
        drawn = [len(draw(row[:, picked(row.shape[1], size.frames)], size)[0]) for row in rows]
        if sum(drawn) * 4 / 3 * len(items) <= SLACK * budget * max(len(rows), 1):
            return size
    return sizes[-1]


def picked(total: int, wanted: int) -> list[int]:
    """At most `wanted` of `total` frames, evenly from the first to the last; a single one is from the middle."""
    if wanted == 1:
        return [total // 2]
    return np.linspace(0, total - 1, min(total, wanted)).round().astype(int).tolist()


def draw(frames: Row, size: Size) -> tuple[bytes, float]:
    """The frames side by side as WebP, and width by height of one."""
    pixels = np.ascontiguousarray(frames.transpose(1, 2, 3, 0))
    images = [scaled(Image.fromarray(one), size.side) for one in pixels]
    wide, tall = images[0].size
    sheet = Image.new("RGB", (wide * len(images), tall))
    for place, image in enumerate(images):
        sheet.paste(image, (place * wide, 0))
    buffer = io.BytesIO()
    sheet.save(buffer, "WEBP", quality=size.quality, method=4)
    return buffer.getvalue(), wide / tall


def scaled(image: Image.Image, side: int) -> Image.Image:
    """The frame with a longer side of at most `side` pixels, and at least TINY."""
    longer = max(image.size)
    if longer < TINY:
        times = math.ceil(TINY / longer)
        return image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)
    if longer <= side:
        return image
    wide, tall = (max(1, round(length * side / longer)) for length in image.size)
    return image.resize((wide, tall), Image.Resampling.LANCZOS)
