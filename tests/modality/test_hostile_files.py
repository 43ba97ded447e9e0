"""Files that are made to harm: none hangs, starts a program, takes gigabytes or stops the others."""

import io
import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from footage import evenly, write_video
from PIL import Image as Pillow

from novakind import given
from novakind.errors import UnreadableError
from novakind.modality import KINDS, clips, opening
from novakind.modality.image import Image, ImageReading
from novakind.modality.opening import open_rgb
from novakind.modality.video import Video, VideoReading

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n%%BeginPreview: 1 1 1 1\nshowpage\n%%EOF\n"


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def bomb(width: int, height: int) -> bytes:
    """A PNG file of some KB that is `width` x `height` pixels of one tone."""
    rows = zlib.compressobj(9)
    line = bytes(1 + width)
    content = b"".join(rows.compress(line) for _ in range(height)) + rows.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def test_a_picture_of_another_format_starts_no_program(put, monkeypatch):
    """An EPS file would be drawn by Ghostscript, whatever it is called."""
    monkeypatch.setattr("subprocess.Popen", lambda *words, **more: pytest.fail("a program was started"))
    for name in ("a.png", "a.jpg", "a.eps"):
        with pytest.raises(UnreadableError, match="not an image"):
            open_rgb(put(EPS, name))


def test_a_file_that_goes_away_while_it_is_read_is_unreadable(put, monkeypatch):
    file = put(EPS, "a.png")
    opening_it = Pillow.open
    monkeypatch.setattr(Pillow, "open", lambda *given, **more: (file.unlink(), opening_it(*given, **more)))
    with pytest.raises(UnreadableError, match="No such file"):
        open_rgb(file)


@pytest.mark.parametrize("ending", ["bmp", "gif", "jpg", "png", "ppm", "tif", "webp"])
def test_every_format_that_is_named_is_read(tmp_path, ending):
    Pillow.new("RGB", (9, 9), (200, 100, 50)).save(tmp_path / f"a.{ending}")
    assert open_rgb(tmp_path / f"a.{ending}").size == (9, 9)


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(put, monkeypatch):
    file = put(bomb(20_000, 5_100), "a.png")
    assert file.stat().st_size < 200_000
    with pytest.raises(UnreadableError, match=r"20000 x 5100 pixels, more than --megapixels 100: 102 would read it"):
        Image(8).read(file)
    monkeypatch.setattr(Pillow.Image, "load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(UnreadableError, match="more than --megapixels 2"):
        Image.survey([file], ImageReading(size=8, megapixels=2)).read(file)


def test_the_limit_of_pixels_can_be_raised_and_what_was_skipped_is_tried_again(put):
    file = put(bomb(1500, 1000), "a.png")
    low, usual = Image(8, megapixels=1), Image(8)
    with pytest.raises(UnreadableError):
        low.read(file)
    assert usual.read(file)[0][1].shape == (3, 8, 8)
    assert low.decoding() != usual.decoding()
    assert "megapixels" not in usual.settings()  # runs from before there was a limit go on


def test_a_very_large_picture_looks_as_a_small_one_does(tmp_path):
    tones = np.zeros((4200, 4200, 3), np.uint8)
    tones[:, 2100:] = (250, 120, 10)
    exif = Pillow.Exif()
    exif[0x0112] = 6  # it stands on its side
    for mode in ("RGB", "RGBA", "P", "L"):
        Pillow.fromarray(tones).convert(mode).save(tmp_path / f"{mode}.png", exif=exif)
        small = open_rgb(tmp_path / f"{mode}.png")
        assert small.size[0] < 4200
        pixels = np.asarray(small).astype(int)
        assert pixels[: pixels.shape[0] // 3].max() < 10  # what was left is above
        assert pixels[-pixels.shape[0] // 3 :].mean() > 60


@pytest.mark.parametrize("kind", ["image", "video", "series", "text"])
def test_a_pipe_or_a_device_never_hangs(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    modality = {"image": Image(8), "video": Video(8), "text": KINDS["text"](64)}
    modality["series"] = KINDS["series"](("x",), 8)
    for place in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UnreadableError, match="not a file"):
            modality[kind].read(place)
        KINDS[kind].recognises(place)


def unknown_codec(file: Path) -> Path:
    """A real video whose codec nobody knows."""
    write_video(file, evenly(8, 8))
    file.write_bytes(file.read_bytes().replace(b"MJPG", b"QQQQ").replace(b"mjpg", b"qqqq"))
    return file


def test_a_video_of_an_unknown_codec_is_one_unreadable_file(tmp_path):
    good, bad = write_video(tmp_path / "good.avi", evenly(8, 8)), unknown_codec(tmp_path / "bad.avi")
    modality = Video.survey([good, bad], VideoReading())
    assert len(modality.read(good)) == 1
    with pytest.raises(UnreadableError, match="codec"):
        modality.read(bad)


def test_a_list_of_other_files_is_no_video(tmp_path):
    write_video(tmp_path / "secret.mp4", evenly(8, 8), codec="mpeg4", pixels="yuv420p")
    lists = {
        "concat.mp4": "ffconcat version 1.0\nfile secret.mp4\n",
        "hls.mp4": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.mp4\n#EXT-X-ENDLIST\n",
    }
    for name, content in lists.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(UnreadableError, match="not a video"):
            Video(16, 8, 16, 8.0).read(tmp_path / name)


def test_frames_larger_than_any_camera_takes_are_refused(tmp_path, monkeypatch):
    file = write_video(tmp_path / "a.avi", evenly(8, 8))
    monkeypatch.setattr(clips, "LARGEST", 64 * 48 - 1)
    with pytest.raises(UnreadableError, match="frames of 64 x 48 pixels"):
        Video(16, 8, 16, 8.0).read(file)


def test_pictures_decoded_side_by_side_share_one_budget(put, monkeypatch):
    budget = given.Budget(3_000_000)
    monkeypatch.setattr(opening, "MEMORY", budget)
    seen = []
    lessened = opening.lessened
    monkeypatch.setattr(
        opening, "lessened", lambda picture, side: (seen.append(budget.used), lessened(picture, side))[1]
    )
    files = [put(bomb(1500, 1000), f"{number}.png") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(Image(8).read, files))
    assert max(seen) <= 3_000_000
    assert budget.used == 0


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured by Linux")
def test_memory_of_huge_pictures_is_given_back(put):
    """81 million pixels that are nearly all missing, in six threads: each kept 300 MB for good."""
    head = struct.pack(">IIBBBBB", 9000, 9000, 8, 6, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100_000))) + chunk(b"IEND", b"")
    file = put(b"\x89PNG\r\n\x1a\n" + parts, "a.png")

    def read(_: int) -> int:
        with pytest.raises(UnreadableError):
            Image(8).read(file)
        return held()

    before = read(0)
    with ThreadPoolExecutor(6) as pool:
        assert max(pool.map(read, range(18))) - before < 1000 * 2**20  # some are being read while one looks
        assert held() - before < 500 * 2**20


def held() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_damaged_picture_of_any_byte_is_unreadable_or_read(put):
    """Whatever is in a file, reading it ends in a picture or in one reason."""
    buffer = io.BytesIO()
    Pillow.new("RGB", (30, 20), (9, 99, 199)).save(buffer, "PNG")
    whole = buffer.getvalue()
    rng = np.random.default_rng(0)
    for _ in range(100):
        content = bytearray(whole)
        for place in rng.integers(0, len(content), 3):
            content[place] = rng.integers(0, 256)
        with suppress(UnreadableError):
            assert Image(8).read(put(bytes(content), "a.png"))
