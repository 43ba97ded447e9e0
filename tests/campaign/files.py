"""Hostile files of each kind: pictures, videos, recordings, texts. The good ones beside them must be sorted."""

from __future__ import annotations

import csv
import io
import os
import struct
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from novakind.encoders.front import is_installed

from . import goods
from .attempt import Attempt
from .goods import QUICK, mutated, odd_name, put
from .tables import sentences

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP", "PPM")
SCRIPTS = [
    b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(trapped) (w) file\nshowpage\n",
    b"<svg xmlns='http://www.w3.org/2000/svg'><image href='file:///etc/passwd'/></svg>",
    b"#!/bin/sh\nmkdir trapped\n",
    b"#EXTM3U\n#EXTINF:1,\n../precious\n#EXT-X-ENDLIST\n",
    b"ffconcat version 1.0\nfile ../precious\n",
    b"push graphic-context\nimage over 0,0 0,0 'ephemeral:precious'\npop graphic-context\n",
    b"\x80\x04\x8c\x05posix\x8c\x05mkdir\x93\x8c\x07trapped\x85R.",
    b"PK\x03\x04" + bytes(200),
    b"",
    b"\0" * 5000,
]


@cache
def drawn(ending: str, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    side = int(rng.integers(1, 60))
    mode = ("RGB", "L", "P", "1", "RGBA", "I;16", "CMYK", "LA")[seed % 8]
    tones = Pillow.fromarray(rng.integers(0, 256, (side, max(1, side // 2), 3), dtype=np.uint8))
    buffer = io.BytesIO()
    try:
        tones.convert(mode).save(buffer, ending)
    except (OSError, ValueError):  # a format that has no such mode
        tones.save(buffer, ending)
    return buffer.getvalue()


def large(rng: np.random.Generator) -> bytes:
    """A PNG that claims any size and holds next to nothing."""
    width, height = (int(2 ** rng.uniform(0, 31)) for _ in range(2))
    head = struct.pack(">IIBBBBB", width, height, 8, (0, 2, 3, 6)[rng.integers(4)], 0, 0, 0)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    content = zlib.compress(bytes(int(rng.integers(1, 100_000))))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", content) + chunk(b"IEND", b"")


def hostile_picture(rng: np.random.Generator) -> bytes:
    kind = rng.integers(5)
    if kind == 0:
        return SCRIPTS[rng.integers(len(SCRIPTS))]
    if kind == 1:
        return large(rng)
    return mutated(drawn(FORMATS[rng.integers(len(FORMATS))], int(rng.integers(24))), rng)


def odd_thing(file: Path, rng: np.random.Generator) -> None:
    """What is no file: a pipe, a link to a device, to nothing or in a circle, a folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kind = rng.integers(5)
    if kind == 0:
        os.mkfifo(file)
    elif kind == 1:
        file.symlink_to("/dev/zero")
    elif kind == 2:
        file.symlink_to("nowhere")
    elif kind == 3:
        file.symlink_to(file.name)
    else:
        file.mkdir()


def scatter(root: Path, ending: str, content, rng: np.random.Generator) -> int:
    """One to five hostile files among the others."""
    count = int(rng.integers(1, 6))
    for _ in range(count):
        file = root / ("dark", "bright", "unlabeled")[rng.integers(3)] / odd_name(rng, ending)
        if not os.path.lexists(file):
            odd_thing(file, rng) if rng.random() < 0.15 else put(file, content(rng))
    return count


def all_there(out: str, names: list[str], file: str = "predictions.csv"):
    """Every good file has a row."""

    def check(codes: list[int]) -> str:
        if any(codes):
            return f"good files were not sorted: {codes}"
        text = (Path(out) / file if file else Path(out)).read_text(encoding="utf-8", errors="surrogateescape")
        found = {os.path.basename(row["path"]) for row in csv.DictReader(io.StringIO(text, newline=""))}
        lost = [name for name in names if os.path.basename(name).partition("@")[0] not in found]
        return f"{len(lost)} good files are lost, e.g. {lost[0]}" if lost else ""

    return check


def image(here: Path, rng: np.random.Generator) -> Attempt:
    """A folder that is trained on, or some files that a trained model sorts."""
    if rng.random() < 0.3:
        names = goods.pictures(here / "photos")
        scatter(here / "photos", (".png", ".jpg", ".tif", ".webp")[rng.integers(4)], hostile_picture, rng)
        return Attempt("hostile pictures", [["discover", "photos", *QUICK, "--out", "run"]], all_there("run", names))
    return predicted(here, "image", [("good.png", goods.pixels(3))], (".png", ".jpg"), hostile_picture, rng)


def predicted(here: Path, kind: str, good: list[tuple[str, bytes]], endings, content, rng) -> Attempt:
    from .bases import base

    for name, plain in good:
        put(here / "new" / "dark" / name, plain)
    scatter(here / "new", endings[rng.integers(len(endings))], content, rng)
    command = ["predict", str(base(kind)), "new", "--out", "out.csv"]
    return Attempt(f"hostile {kind}", [command], all_there("out.csv", [name for name, _ in good], ""))


@cache
def clip(seed: int) -> bytes:
    from footage import evenly, write_video

    from .bases import scratch

    codec, pixels, ending = (
        ("mjpeg", "yuvj420p", "avi"),
        ("mpeg4", "yuv420p", "mp4"),
        ("mpeg4", "yuv420p", "mkv"),
        ("gif", "rgb8", "gif"),
    )[seed % 4]
    file = scratch() / f"{seed}.{ending}"
    return write_video(file, evenly(10, 8), codec=codec, pixels=pixels).read_bytes()


def video(here: Path, rng: np.random.Generator) -> Attempt:
    def content(rng: np.random.Generator) -> bytes:
        if rng.random() < 0.15:
            return SCRIPTS[rng.integers(len(SCRIPTS))]
        plain = clip(int(rng.integers(4)))
        if rng.random() < 0.2:
            return plain.replace(b"MJPG", b"QQQQ").replace(b"mp4v", b"qqqq")
        return mutated(plain, rng)

    return predicted(here, "video", [("good.avi", clip(0))], (".avi", ".mp4", ".mkv", ".gif"), content, rng)


def hostile_recording(rng: np.random.Generator) -> bytes:
    lines = goods.recording(int(rng.integers(8))).decode().splitlines()
    kind, place = rng.integers(9), int(rng.integers(1, len(lines)))
    if kind < 4:
        return mutated("\n".join(lines).encode(), rng)
    cell = ["nan", "inf", "1e400", "-1e308", "", '"', "NULL", "2020-13-45T99:99:99", "x" * 200_000, "\u0661"][
        rng.integers(10)
    ]
    cells = lines[place].split(",")
    cells[rng.integers(len(cells))] = cell
    lines[place] = ",".join(cells)
    if kind == 5:
        lines = lines[:1] + lines[:0:-1]
    elif kind == 6:
        lines = [line + ",1" * int(rng.integers(0, 3)) for line in lines]
    elif kind == 7:
        return "\n".join(lines).encode(("utf-16", "utf-8-sig", "latin-1")[rng.integers(3)], "replace")
    return ("\n", "\r", "\r\n", ";\n")[rng.integers(4)].join(lines).encode()


def series(here: Path, rng: np.random.Generator) -> Attempt:
    if rng.random() < 0.2:
        names = goods.recordings(here / "walks")
        scatter(here / "walks", ".csv", hostile_recording, rng)
        words = ["discover", "walks", *QUICK, "--out", "run"]
        words += ["--window", ("20", "1s")[rng.integers(2)]] if rng.random() < 0.3 else []
        return (
            Attempt("hostile recordings", [words], lambda codes: f"{codes}" if any(codes) else "")
            if "--window" in words
            else (Attempt("hostile recordings", [words], all_there("run", names)))
        )
    return predicted(
        here, "series", [("good.csv", goods.recording(1))], (".csv", ".txt", ".dat"), hostile_recording, rng
    )


def text(here: Path, rng: np.random.Generator) -> Attempt:
    """Files of texts that a model sorts; or an encoder that nothing can learn with, which is refused."""

    def content(rng: np.random.Generator) -> bytes:
        words = ("word " * int(rng.integers(1, 3000))).encode()
        encodings = ("utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037")
        kinds = [
            lambda: mutated(words, rng),
            lambda: rng.bytes(int(rng.integers(1, 4000))),
            lambda: ("żółć 你好 🦊 \u202e\x1b[31m" * 20).encode(encodings[rng.integers(6)], "replace"),
            lambda: b"\xf0\x9f" * 100,
            lambda: b" " * 100_000,
            lambda: SCRIPTS[rng.integers(len(SCRIPTS))],
        ]
        return kinds[rng.integers(len(kinds))]()

    if is_installed("minilm") and rng.random() < 0.7:
        if rng.random() < 0.3:
            return sentences(here, rng)
        return predicted(here, "text", [("good.txt", goods.note(1))], (".txt", ".md"), content, rng)
    for number in range(44):
        put(here / "notes" / goods.FOLDERS[number % 4] / f"{number}.txt", goods.note(number))
    scatter(here / "notes", (".txt", ".md")[rng.integers(2)], content, rng)
    command = ["discover", "notes", *QUICK, "--out", "run", "--encoder", "mlp"]
    return Attempt("hostile texts", [command], lambda codes: "" if codes == [2] else f"{codes}")
