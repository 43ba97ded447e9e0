"""Pictures: every mode and oddity read as a person sees it."""

import io
import json
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from novakind.encoders.front import origin_of
from novakind.errors import UnreadableError
from novakind.modality import from_array, from_settings
from novakind.modality.image import Image, ImageReading
from novakind.model import seen_shape

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)


def of_mode(mode: str, pixels: list, size: tuple[int, int] = (2, 2)) -> Pillow.Image:
    picture = Pillow.new(mode, size)
    for number, pixel in enumerate(pixels):
        picture.putpixel((number % size[0], number // size[0]), pixel)
    return picture


def paletted(transparent: int | bytes | None = None) -> Pillow.Image:
    picture = of_mode("P", [0, 1, 2, 3])
    picture.putpalette([*RED, *GREEN, *BLUE, *BLACK])
    if transparent is not None:
        picture.info["transparency"] = transparent
    return picture


def greys(*tones: int) -> list[tuple[int, int, int]]:
    return [(tone, tone, tone) for tone in tones]


def deep(array: list, dtype: type) -> Pillow.Image:
    return Pillow.fromarray(np.array(array, dtype=dtype).reshape(2, 2))


@pytest.mark.parametrize(
    ("picture", "suffix", "expected", "tolerance"),
    [
        (of_mode("L", [0, 99, 100, 255]), "png", greys(0, 99, 100, 255), 0),
        (of_mode("1", [0, 1, 1, 0]), "png", greys(0, 255, 255, 0), 0),
        (paletted(), "png", [RED, GREEN, BLUE, BLACK], 0),
        (paletted(1), "png", [RED, WHITE, BLUE, BLACK], 0),
        (paletted(1), "gif", [RED, WHITE, BLUE, BLACK], 0),
        (paletted(bytes([255, 0, 255, 127])), "png", [RED, WHITE, BLUE, (128, 128, 128)], 0),
        (
            of_mode("RGBA", [(*RED, 255), (*RED, 0), (0, 200, 0, 51), (0, 0, 0, 204)]),
            "png",
            [RED, WHITE, (204, 244, 204), (51, 51, 51)],
            1,
        ),
        (of_mode("LA", [(0, 255), (0, 0), (100, 255), (0, 51)]), "png", greys(0, 255, 100, 204), 1),
        (of_mode("CMYK", [(0, 0, 0, 0), (255, 0, 0, 0), (0, 255, 255, 0), (0, 0, 0, 255)]), "tif", None, 0),
        (deep([0, 100 * 257, 7 * 257, 65535], np.uint16), "png", greys(0, 100, 7, 255), 0),
        (deep([9 * 257, 100 * 257, 7 * 257, 99 * 257], np.uint16), "tif", greys(9, 100, 7, 99), 0),  # not stretched
        (deep([-500_000, 500_000, 0, 100_000], np.int32), "tif", greys(0, 255, 127, 153), 0),
        (deep([-1.0, 1.0, 0.0, 0.2], np.float32), "tif", greys(0, 255, 127, 153), 0),
        (deep([-1.0, 1.0, np.nan, np.inf], np.float32), "tif", greys(0, 255, 0, 0), 0),  # missing pixels
        (deep([3.5] * 4, np.float32), "tif", greys(0, 0, 0, 0), 0),  # constant: nothing to stretch
    ],
    ids=lambda value: value.mode if isinstance(value, Pillow.Image) else value if isinstance(value, str) else "",
)
def test_every_mode_is_read_as_it_looks(tmp_path, picture, suffix, expected, tolerance):
    picture.save(tmp_path / f"picture.{suffix}")
    ((_, row),) = Image(2).read(tmp_path / f"picture.{suffix}")
    assert row.shape == (3, 2, 2)
    assert row.dtype == np.uint8
    expected = expected or [WHITE, (0, 255, 255), RED, BLACK]  # of CMYK
    np.testing.assert_allclose(row.reshape(3, 4).T.astype(int), expected, atol=tolerance)


TO_STORED = {  # how a camera lays down an upright picture, by EXIF orientation
    1: None,
    2: Pillow.Transpose.FLIP_LEFT_RIGHT,
    3: Pillow.Transpose.ROTATE_180,
    4: Pillow.Transpose.FLIP_TOP_BOTTOM,
    5: Pillow.Transpose.TRANSPOSE,
    6: Pillow.Transpose.ROTATE_90,
    7: Pillow.Transpose.TRANSVERSE,
    8: Pillow.Transpose.ROTATE_270,
}


@pytest.mark.parametrize("orientation", TO_STORED)
@pytest.mark.parametrize("side", [32, 1056])  # the larger is decoded at a fraction of its size
def test_photographs_stand_upright(tmp_path, orientation, side):
    upright = of_mode("RGB", [RED, GREEN, BLUE, WHITE]).resize((side, side), Pillow.Resampling.NEAREST)
    turn, exif = TO_STORED[orientation], Pillow.Exif()
    exif[0x0112] = orientation
    (upright.transpose(turn) if turn is not None else upright).save(tmp_path / "p.jpg", exif=exif, quality=95)
    row = Image(8).read(tmp_path / "p.jpg")[0][1].astype(int)
    corners = [row[:, 1, 1], row[:, 1, 6], row[:, 6, 1], row[:, 6, 6]]
    np.testing.assert_allclose(corners, [RED, GREEN, BLUE, WHITE], atol=12)


@pytest.mark.parametrize("size", [(1, 1), (90, 30), (30, 90), (4000, 1), (1, 4000), (31, 17)])
def test_any_shape_is_cropped_at_its_centre(tmp_path, size):
    width, height = size
    picture = Pillow.new("RGB", size, BLUE)
    short, edge = min(size), 1 + min(size) // 4  # the filter reaches a little over the edge of the crop
    left, top = (width - short) // 2, (height - short) // 2
    picture.paste(GREEN, (max(0, left - edge), max(0, top - edge), left + short + edge, top + short + edge))
    picture.save(tmp_path / "p.png")
    row = Image(8).read(tmp_path / "p.png")[0][1]
    assert (row == np.array(GREEN)[:, None, None]).all()


def bomb() -> bytes:
    """A PNG of a few bytes that claims 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(99)))


def encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    Pillow.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b"path,label\na.png,cat\n", "not an image"),
        (encoded("PNG")[:3000], "truncated"),
        (encoded("JPEG")[:800], "truncated"),
        (encoded("PNG")[:20], "."),
        (encoded("GIF")[:300], "."),
        (bomb(), "DecompressionBomb"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_read_says_why_in_one_line(tmp_path, content, reason):
    if content is not None:
        (tmp_path / "p.png").write_bytes(content)
    with pytest.raises(UnreadableError, match=reason) as caught:
        Image(8).read(tmp_path / "p.png")
    assert "\n" not in str(caught.value)


def test_large_jpegs_keep_their_detail_at_large_sizes(tmp_path):
    """Decoding at a fraction of the size saves time, but never below the size that is asked for."""
    lines = np.zeros((1400, 1400), np.uint8)
    lines[:, ::4] = 255
    Pillow.fromarray(lines).save(tmp_path / "lines.jpg", quality=95)
    for size in (700, 1024):
        ((_, row),) = Image(size).read(tmp_path / "lines.jpg")
        whole = np.asarray(Pillow.fromarray(lines).resize((size, size), Pillow.Resampling.BILINEAR), dtype=float)
        assert row[0].astype(float).std() > 0.8 * whole.std()


def test_pictures_are_seen_at_another_size_than_they_are_kept_at():
    pictures = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    rows, image = from_array(pictures, ImageReading(size=64))
    assert isinstance(image, Image)
    assert (image.shape, image.seen, rows.shape) == ((3, 32, 32), 64, (6, 3, 32, 32))
    assert seen_shape(image) == (3, 64, 64)
    assert from_settings(json.loads(json.dumps(image.settings()))) == image
    seen = image.normalise(image.collate(rows))
    mean, std = (np.array(each).reshape(3, 1, 1) for each in (image.mean, image.std))
    for tones, picture in zip(seen.numpy() * std + mean, pictures, strict=True):
        wanted = np.asarray(Pillow.fromarray(picture).resize((64, 64), Pillow.Resampling.BILINEAR)) / 255
        np.testing.assert_allclose(tones.transpose(1, 2, 0), wanted, atol=0.004)  # half a tone of 256
    _, smaller = from_array(pictures, ImageReading(size=8))
    assert seen_shape(smaller) == (3, 8, 8)
    _, same = from_array(pictures, ImageReading())
    assert seen_shape(same) == (3, 32, 32)


@pytest.mark.parametrize(("size", "asked", "seen"), [(300, 0, 224), (40, 0, 224), (40, 64, 64)])
def test_a_published_encoder_sees_its_own_size_and_tones(size, asked, seen):
    origin = origin_of("efficientnet-lite0")
    image = Image(size, seen=asked).for_encoder(origin)
    assert (image.size, image.seen, image.interpolation) == (size, seen, "bicubic")
    assert (image.mean, image.std) == (origin.mean, origin.std)
    black, white = (image.normalise(torch.full((1, 3, size, size), tone)) for tone in (0.0, 1.0))
    assert black.shape == (1, 3, seen, seen)
    torch.testing.assert_close(black, torch.full_like(black, -127 / 128))
    torch.testing.assert_close(white, torch.full_like(white, 1.0))


def test_files_are_kept_at_what_a_published_encoder_sees(tmp_path):
    for number, side in enumerate((100, 300, 300)):
        Pillow.new("RGB", (side, side + 50)).save(tmp_path / f"{number}.png")
    files, origin = sorted(tmp_path.iterdir()), origin_of("efficientnet-lite0")
    assert Image.survey(files, ImageReading(), origin).size == 224
    assert Image.survey(files, ImageReading()).size == 64
    asked = Image.survey(files, ImageReading(size=48), origin)
    assert (asked.size, asked.seen) == (48, 48)


def test_tones_are_measured_over_all_pixels_of_a_channel():
    rows = np.random.default_rng(0).integers(0, 200, (130, 3, 9, 9), dtype=np.uint8)
    kind = Image(9).fitted(rows)
    assert kind.mean == pytest.approx((rows / 255).mean((0, 2, 3)), abs=1e-4)
    assert kind.std == pytest.approx((rows / 255).std((0, 2, 3)), abs=1e-4)
