"""Files of videos: those that are none and damaged ones are named, folders are decoded once and resumed."""

import io
import re
import sys
import wave
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from footage import evenly, numbered, numbers_of, only_with, read, shown_at, write_video
from PIL import Image as Pillow

from novakind.app.discover import assemble
from novakind.data import store as store_module
from novakind.data.files import load
from novakind.errors import UnreadableError, UserError
from novakind.modality.clips import look
from novakind.modality.video import Video, VideoReading

# --- files that are no videos, and damaged ones


def sound(path) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(8000))


def scrambled(content: bytes) -> bytes:
    """The bytes of a third in the middle inverted."""
    changed = bytearray(content)
    third = len(changed) // 3
    changed[third : 2 * third] = bytes(255 - byte for byte in changed[third : 2 * third])
    return bytes(changed)


def picture() -> bytes:
    buffer = io.BytesIO()
    Pillow.new("RGB", (32, 32), "red").save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.mp4", b"", "empty file"),
        ("a.mp4", b"\0" * 5000, "not a video"),
        ("a.avi", b"path,label\n" * 99, "not a video"),
        ("a.txt", b"all of this is text\n" * 99, "not a video"),
        ("a.png", picture(), "not a video"),
        ("a.mp4", picture(), "not a video"),
        ("a.mp4", b"#EXTM3U\n#EXTINF:1,\nhttp://localhost:9/a.ts\n", "."),
        ("a.mp4", None, "No such file"),
    ],
)
def test_what_is_no_video_says_why_in_one_line(tmp_path, name, content, reason):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for reader in (read, look):
        with pytest.raises(UnreadableError, match=reason) as caught:
            reader(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_sound_alone_is_no_video(tmp_path):
    sound(tmp_path / "a.avi")
    with pytest.raises(UnreadableError, match="sound without pictures"):
        read(tmp_path / "a.avi")


def broken_off(file: Path, frames: int) -> bytes:
    """The beginning of an AVI file, up to the chunk in which this frame would be."""
    content = file.read_bytes()
    return content[: [chunk.start() for chunk in re.finditer(b"00dc", content)][frames]]


def test_a_file_that_breaks_off_is_used_as_far_as_it_goes(tmp_path):
    whole = write_video(tmp_path / "whole.avi", evenly(100, 25))
    for frames, first, last in ((90, 15, 75), (60, 0, 60), (35, 0, 35)):  # of what is left the middle, or all
        (tmp_path / "cut.avi").write_bytes(broken_off(whole, frames))
        found = numbers_of(read(tmp_path / "cut.avi"))
        assert first <= found[0] <= found[-1] <= last
        assert sorted(set(found)) == sorted(found) or found[-1] == found[-2]
        assert len(set(found)) >= 8
    (tmp_path / "cut.avi").write_bytes(broken_off(whole, 10))
    with pytest.raises(UnreadableError, match=r"only 0\.\d s of 4\.0 s can be decoded"):
        read(tmp_path / "cut.avi")
    short = write_video(tmp_path / "short.avi", evenly(20, 25))
    (tmp_path / "cut.avi").write_bytes(broken_off(short, 16))
    assert len(set(numbers_of(read(tmp_path / "cut.avi")))) >= 3  # half of less than a second


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "mpeg4"), ("a.avi", "libx264"), ("a.webm", "libvpx")])
def test_damage_within_a_file_is_survived(tmp_path, name, codec):
    only_with(codec)
    content = write_video(tmp_path / name, evenly(75, 25), codec, "yuv420p").read_bytes()
    for damaged in (scrambled(content), content[: len(content) // 2]):
        (tmp_path / name).write_bytes(damaged)
        with suppress(UnreadableError):
            assert read(tmp_path / name).shape == (3, 16, 16, 16)


def test_decoding_says_nothing(tmp_path, capfd):
    content = write_video(tmp_path / "a.mp4", evenly(60, 25), "mpeg4", "yuv420p").read_bytes()
    (tmp_path / "b.mp4").write_bytes(scrambled(content))
    read(tmp_path / "b.mp4")
    assert capfd.readouterr() == ("", "")


def test_without_pyav_the_fix_is_named(tmp_path, monkeypatch):
    file = write_video(tmp_path / "data" / "a" / "a.avi", evenly(3, 5))
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(UserError, match=r"pip install 'novakind\[video\]'"):
        Video(16).read(file)
    with pytest.raises(UserError, match=r"pip install 'novakind\[video\]'"):
        load(tmp_path / "data", tmp_path / "store")


# --- folders


def numbered_from(first: int, number: int) -> np.ndarray:
    return numbered(first + number)


@pytest.fixture
def folder(tmp_path):
    for number in range(6):
        draw = partial(numbered_from, 3 * number)
        kind = ("run", "jump", "unlabeled")[number % 3]
        write_video(tmp_path / "data" / kind / f"{number}.avi", evenly(20, 10), draw=draw)
    return tmp_path / "data"


def test_a_folder_of_videos(folder, tmp_path):
    (folder / "run" / "broken.avi").write_bytes(b"RIFF")
    (folder / "run" / "notes.txt").write_text("filmed in May")
    collection = load(folder, tmp_path / "store", VideoReading(frames=4))
    chosen = collection.modality
    assert (chosen.kind, chosen.size, chosen.frames, chosen.stored, chosen.fps) == ("video", 48, 4, 8, 4.0)
    assert collection.items.shape == (6, 3, 8, 48, 48)
    assert collection.classes == ("jump", "run")
    assert [path.removesuffix(".avi") for path in collection.paths] == [
        *("jump/1", "jump/4", "run/0", "run/3", "unlabeled/2", "unlabeled/5")
    ]
    assert {name for name, _ in collection.skipped} == {"run/broken.avi", "run/notes.txt"}
    shown = [shown_at(evenly(20, 10), Fraction(k, 4)) for k in range(8)]
    assert numbers_of(collection.items[1]) == [12 + number for number in shown]
    assert collection.groups == {}


def test_decoding_goes_on_where_it_was_stopped(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "FILES", 2)
    progress, taken, plain = [], [], Video.read
    monkeypatch.setattr(Video, "read", lambda self, path: taken.append(path.name) or plain(self, path))

    def stop(done: int, total: int) -> None:
        progress.append((done, total))
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(folder, tmp_path / "store", VideoReading(16, frames=2), stop)
    assert progress == [(0, 6), (2, 6), (4, 6)]
    assert len(taken) == 4
    collection = load(folder, tmp_path / "store", VideoReading(16, frames=2), lambda *heard: progress.append(heard))
    assert progress[3:] == [(4, 6), (6, 6)]
    assert len(taken) == len(set(taken)) == 6
    fresh = load(folder, tmp_path / "other", VideoReading(16, frames=2))
    np.testing.assert_array_equal(collection.items, fresh.items)


def test_size_and_rate_are_chosen_by_the_files(tmp_path):
    def large(number: int) -> np.ndarray:
        return numbered(number, 160, 120)

    for number, seconds in enumerate((1, 2, 20)):
        write_video(tmp_path / "data" / "a" / f"{number}.avi", evenly(10 * seconds, 10), draw=large)
    chosen = load(tmp_path / "data", tmp_path / "store").modality
    assert (chosen.size, chosen.frames, chosen.stored, chosen.fps) == (64, 16, 32, 16.0)
    asked = load(tmp_path / "data", tmp_path / "store", VideoReading(24, frames=3, fps=2.5)).modality
    assert (asked.size, asked.frames, asked.stored, asked.fps) == (24, 3, 6, 2.5)


@pytest.mark.parametrize(
    ("reading", "message"),
    [
        ({"frames": -1}, "--frames -1 is out of range"),
        ({"frames": 1000}, "--frames 1000 is out of range, it must be from 0 to 256"),
        ({"fps": -2.0}, "--fps -2.0 is out of range"),
        ({"size": 4}, "--size 4 is out of range, it must be from 8 to 1024"),
    ],
)
def test_readings_that_cannot_be_are_refused(reading, message):
    with pytest.raises(UserError, match=message):
        VideoReading(**reading)


@pytest.mark.parametrize("ending", ["png", "csv"])
def test_options_of_videos_are_refused_for_other_files(tmp_path, ending):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / f"1.{ending}").write_bytes(b"")
    for name, value in (("frames", 4), ("fps", 4.0)):
        with pytest.raises(UserError, match=r"is for videos, and .* holds (pictures|recordings): leave it out"):
            assemble(str(tmp_path / "data"), "auto", {name: value})


def test_a_folder_without_a_readable_video(tmp_path):
    (tmp_path / "data" / "a").mkdir(parents=True)
    (tmp_path / "data" / "a" / "1.mp4").write_bytes(b"")
    with pytest.raises(UserError, match=r"can be read as videos .*empty file\): give videos such as MP4 or AVI"):
        load(tmp_path / "data", tmp_path / "store")
