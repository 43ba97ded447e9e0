"""Short real videos for tests, in which every frame tells its own number."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from novakind.modality.video import Video

STEP, DARK = 8, 20  # tones are coarse enough to survive any codec
DIGIT = 27


def numbered(number: int, width: int = 64, height: int = 48) -> np.ndarray:
    """A picture whose halves are as bright as the two digits of its number, counted in 27s."""
    picture = np.empty((height, width, 3), np.uint8)
    picture[:, : width // 2] = DARK + STEP * (number % DIGIT)
    picture[:, width // 2 :] = DARK + STEP * (number // DIGIT)
    return picture


def number_of(picture: np.ndarray) -> int:
    """The number in a picture (3, height, width)."""
    side = picture.shape[2]
    low, high = (
        round((float(picture[:, :, part].mean()) - DARK) / STEP)
        for part in (slice(side // 8, side * 3 // 8), slice(side * 5 // 8, side * 7 // 8))
    )
    return low + DIGIT * high


def write_video(
    file: Path,
    times: Sequence[Fraction],
    codec: str = "mjpeg",
    pixels: str = "yuvj420p",
    draw: Callable[[int], np.ndarray] = numbered,
    prepare: Callable[[av.VideoStream], None] = lambda stream: None,
) -> Path:
    """Frames at these times, in seconds; `prepare` sets whatever else the stream should be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    steps = {b - a for a, b in pairwise(times)}
    rate = 1 / steps.pop() if len(steps) == 1 else Fraction(25)
    base = 1 / rate if not steps else Fraction(1, 1000)
    height, width, _ = draw(0).shape
    with av.open(str(file), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, pixels
        stream.codec_context.time_base, stream.bit_rate = base, 4_000_000
        stream.codec_context.thread_count = 1  # starting threads takes ten times as long as encoding so few frames
        prepare(stream)
        for number, time in enumerate(times):
            frame = av.VideoFrame.from_ndarray(draw(number), format="rgb24")
            frame.pts, frame.time_base = round(time / base), base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file


def evenly(count: int, rate: Fraction | int) -> list[Fraction]:
    return [number / Fraction(rate) for number in range(count)]


def shown_at(times: Sequence[Fraction], moment: Fraction) -> int:
    """The number of the frame that is on the screen: the last one that has come, the first if none has."""
    return max([number for number, time in enumerate(times) if time <= moment], default=0)


def numbers_of(row: np.ndarray) -> list[int]:
    """The numbers in the frames of a clip (3, frames, height, width)."""
    return [number_of(row[:, frame]) for frame in range(row.shape[1])]


def read(file, **changes) -> np.ndarray:
    ((suffix, row),) = replace(Video(16, 8, 16, 8.0), **changes).read(file)
    assert suffix == ""
    assert row.dtype == np.uint8
    return row


def only_with(codec: str) -> None:
    if codec not in av.codecs_available:
        pytest.skip(f"this PyAV cannot write {codec}")
