"""Clips: sampled by the clock from real files of many kinds, upright and in proportion."""

import math
import os
from fractions import Fraction

import av
import numpy as np
import pytest
from footage import evenly, numbers_of, only_with, read, shown_at, write_video

from novakind.modality.clips import look

RED, GREEN, BLUE, WHITE = (250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 250)


# --- reading by the clock

KINDS = [
    ("a.mp4", "mpeg4", "yuv420p"),
    ("a.mp4", "libx264", "yuv420p"),
    ("a.avi", "libx264", "yuv420p"),  # frames stored in another order than shown
    ("a.mkv", "libx264", "yuv420p10le"),
    ("a.avi", "mjpeg", "yuvj420p"),
    ("a.webm", "libvpx", "yuv420p"),
    ("a.webm", "libvpx-vp9", "yuv420p"),
    ("a.mkv", "ffv1", "yuv444p16le"),
    ("a.mov", "mjpeg", "yuvj444p"),
    ("a.gif", "gif", "rgb8"),
    ("a.mpg", "mpeg2video", "yuv420p"),
]


@pytest.mark.parametrize(("name", "codec", "pixels"), KINDS, ids=lambda value: str(value))
def test_every_kind_of_file_is_sampled_by_its_timestamps(tmp_path, name, codec, pixels):
    only_with(codec)
    times = evenly(50, 25)
    file = write_video(tmp_path / name, times, codec, pixels)
    expected = [shown_at(times, Fraction(k, 8)) for k in range(16)]
    if name.endswith("gif"):  # 16 bright and dark frames: its palette has too few tones for more
        draw = lambda number: np.full((48, 64, 3), 255 * (number % 7 < 3), np.uint8)  # noqa: E731
        row = read(write_video(file, times, codec, pixels, draw))
        assert [picture.mean() > 128 for picture in row[0]] == [number % 7 < 3 for number in expected]
    else:
        assert numbers_of(read(file)) == expected


@pytest.mark.parametrize("rate", [Fraction(5), Fraction(25, 2), Fraction(25), Fraction(30), Fraction(30000, 1001)])
@pytest.mark.parametrize("fps", [3.0, 8.0, 30.0])
def test_every_rate_gives_what_was_on_the_screen(tmp_path, rate, fps):
    times = evenly(math.ceil(2 * rate), rate)
    file = write_video(tmp_path / "a.mp4", times, "mpeg4", "yuv420p")
    moments = [Fraction(k) / Fraction(fps) for k in range(round(2 * fps))]
    found = numbers_of(read(file, stored=len(moments), frames=1, fps=fps))
    first = [shown_at(times, moment) for moment in moments]
    last = [shown_at(times, moment + Fraction(2, 1000)) for moment in moments]
    assert all(low <= number <= high for low, number, high in zip(first, found, last, strict=True)), (first, found)


def test_a_varying_rate_is_followed(tmp_path):
    times = [Fraction(t, 1000) for t in (0, 40, 50, 300, 310, 320, 700, 1301, 1302, 1900, 1960)]
    for name in ("a.mkv", "a.mp4"):
        file = write_video(tmp_path / name, times, "mpeg4", "yuv420p")
        found = numbers_of(read(file))
        assert found == [shown_at(times, Fraction(k, 8)) for k in range(16)], name


@pytest.mark.parametrize("name", ["a.mp4", "a.avi", "a.mkv"])
def test_of_a_long_video_the_middle_is_taken(tmp_path, name):
    times = evenly(250, 25)
    file = write_video(tmp_path / name, times, "mpeg4", "yuv420p")
    assert look(file) == (48, pytest.approx(10, abs=0.05))
    found = numbers_of(read(file))
    expected = [shown_at(times, 4 + Fraction(k, 8)) for k in range(16)]  # 2 of 10 s
    assert np.abs(np.subtract(found, expected)).max() <= 1


def test_a_short_video_holds_its_last_frame(tmp_path):
    file = write_video(tmp_path / "a.mp4", evenly(10, 10), "mpeg4", "yuv420p")
    found = numbers_of(read(file))
    assert found == [*(shown_at(evenly(10, 10), Fraction(k, 8)) for k in range(8)), *[9] * 8]
    assert numbers_of(read(write_video(tmp_path / "b.avi", evenly(1, 25)))) == [0] * 16


def test_timestamps_that_begin_late_begin_the_clip(tmp_path):
    late = [time + 7 for time in evenly(25, 25)]
    file = write_video(tmp_path / "a.mkv", late, "mpeg4", "yuv420p")
    assert numbers_of(read(file, stored=8)) == [shown_at(evenly(25, 25), Fraction(k, 8)) for k in range(8)]


def corners(number: int) -> np.ndarray:
    """Red, green, blue and white, clockwise from the upper left but one."""
    picture = np.zeros((32, 32, 3), np.uint8)
    picture[:16, :16], picture[:16, 16:], picture[16:, :16], picture[16:, 16:] = RED, GREEN, BLUE, WHITE
    return picture


@pytest.mark.parametrize("flips", [{}, {"hflip": True}, {"vflip": True}], ids=str)
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_what_was_filmed_sideways_stands_upright(tmp_path, degrees, flips):
    if not hasattr(av.VideoStream, "set_display_rotation"):
        pytest.skip("this PyAV cannot write a rotation")
    upright = np.rot90(corners(0), degrees // 90)
    upright = upright[:, ::-1] if "hflip" in flips else upright[::-1] if "vflip" in flips else upright

    def turn(stream: av.VideoStream) -> None:
        stream.set_display_rotation(degrees, **flips)

    file = write_video(tmp_path / "a.mp4", evenly(3, 5), "mpeg4", "yuv420p", corners, turn)
    row = read(file, size=8)[:, 0, [1, 1, 6, 6], [1, 6, 1, 6]]
    np.testing.assert_allclose(row.T, upright[[4, 4, 28, 28], [4, 28, 4, 28]], atol=14)


@pytest.mark.parametrize("size", [(51, 33), (33, 51), (16, 16), (320, 18), (2, 90), (250, 240)])
def test_any_size_is_cropped_at_its_centre(tmp_path, size):
    width, height = size
    short = min(size)
    left, top, edge = (width - short) // 2, (height - short) // 2, 1 + short // 4

    def centred(number: int) -> np.ndarray:
        picture = np.zeros((height, width, 3), np.uint8)
        picture[:] = BLUE
        picture[max(0, top - edge) : top + short + edge, max(0, left - edge) : left + short + edge] = GREEN
        return picture

    row = read(write_video(tmp_path / "a.mkv", evenly(2, 5), "ffv1", "yuv444p", centred), size=8)
    assert np.abs(row.astype(int) - np.array(GREEN)[:, None, None, None]).max() <= 3


def test_pixels_that_are_not_square_are_stretched(tmp_path):
    def tall(stream: av.VideoStream) -> None:
        stream.codec_context.sample_aspect_ratio = Fraction(1, 2)

    def striped(number: int) -> np.ndarray:  # 64 x 32 pixels that are shown as 32 x 32
        return np.concatenate([corners(0)] * 2, axis=1)

    row = read(write_video(tmp_path / "a.mp4", evenly(2, 5), "mpeg4", "yuv420p", striped, tall), size=8)
    assert row[0, 0, 1].tolist()[0] > 200  # the red of the left edge is not cropped away


def test_names_are_taken_as_they_are(tmp_path):
    for name in ("http:a.mp4", "a%03d.mp4", "*?[b].mp4", "ü – 猫.mp4", os.fsdecode(b"\xff\xfe.mp4")):
        file = write_video(tmp_path / "plain.mp4", evenly(3, 5), "mpeg4", "yuv420p").rename(tmp_path / name)
        assert numbers_of(read(file))[0] == 0
