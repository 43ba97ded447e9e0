"""What a page can show of items: a picture each, the course of a time series, a clip that plays, or a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Row = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Pictures:
    """`thumbnail(i)` is item i as a small picture (PNG, WebP), or None where there is nothing to see."""

    thumbnail: Callable[[int], bytes | None]


@dataclass(frozen=True)
class Signals:
    """The items as time series: `row(i)` is item i as (channels, time)."""

    channels: tuple[str, ...]
    rate: float  # samples per second, 0 = unknown
    unit: str  # of the values, "" = unknown
    row: Row


@dataclass(frozen=True)
class Clips:
    """The items as videos: `row(i)` is item i as (3, frames, height, width), in bytes."""

    fps: float  # frames per second of the frames in a row, 0 = unknown
    row: Row


@dataclass(frozen=True)
class Texts:
    """The items as texts: `text(i)` is what item i says."""

    text: Callable[[int], str]


Display = Pictures | Signals | Clips | Texts
