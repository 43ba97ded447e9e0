"""5,000 small files of which 500 are hostile: are the others sorted as if those were not there, and in what memory?

python bench/hostile.py [--files 5000] [--hostile 500]
Two runs of novakind discover in processes of their own, one with the hostile files and one without them. What must
hold: the same predictions to the last byte, a line in skipped.csv for each hostile file, and at most 1.2 times the
memory.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

FOLDERS = ("across", "down", "unlabeled", "unlabeled")


def good(root: Path, count: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(count):
        tones = rng.integers(0, 60, (12, 12), dtype=np.uint8)
        place = 1 + number % 3
        kind = number % 4
        if kind in (0, 2):
            tones[place : place + 3 + 2 * kind, :] = 250
        else:
            tones[:, place : place + 3 + 2 * kind] = 250
        file = root / FOLDERS[kind] / f"{number:05}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(tones).save(file)


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(width: int, height: int, content: bytes, kind: int = 0) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(content, 9)) + chunk(b"IEND", b"")


def hostile(root: Path, count: int) -> None:
    """Ten sorts in turn; none of them can be read."""
    rng = np.random.default_rng(1)
    whole = next((root / "across").iterdir()).read_bytes()
    large = png(12_000, 12_000, bytes(100_000))  # 144 million pixels in a file of 200 bytes
    for number in range(count):
        file = root / FOLDERS[number % 3] / f"h{number:05}.png"
        sorts = [
            lambda: large,
            lambda: png(9_000, 9_000, bytes(100_000), 6),  # 81 million, of which nearly all are missing
            lambda: whole[: int(rng.integers(0, 60))],
            lambda: rng.bytes(300),
            lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
            lambda: b"",
            lambda: b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            lambda: b"\x80\x04\x8c\x05posix\x8c\x05mkdir\x93\x8c\x07trapped\x85R.",
        ]
        kind = number % (len(sorts) + 2)
        if kind < len(sorts):
            file.write_bytes(sorts[kind]())
        elif kind == len(sorts):
            os.mkfifo(file)
        else:
            file.symlink_to("/dev/zero")


def measured(data: Path, out: Path) -> tuple[float, float]:
    """Megabytes and seconds of a run."""
    words = [sys.executable, "-m", "novakind", "discover", str(data), "--novel", "2", "--preset", "glyphs", "--quiet"]
    begun = time.monotonic()
    process = subprocess.Popen([*words, "--epochs", "2", "--out", str(out)], stdout=subprocess.DEVNULL)
    _, code, usage = os.wait4(process.pid, 0)
    assert code == 0, code
    return usage.ru_maxrss / 1024, time.monotonic() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--hostile", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        good(root / "data", asked.files - asked.hostile)
        clean, clean_seconds = measured(root / "data", root / "clean")
        hostile(root / "data", asked.hostile)
        mixed, mixed_seconds = measured(root / "data", root / "mixed")
        same = all(
            (root / "clean" / name).read_bytes() == (root / "mixed" / name).read_bytes()
            for name in ("predictions.csv", "model.safetensors")
        )
        skipped = len((root / "mixed" / "skipped.csv").read_text().splitlines()) - 1
        trapped = Path("trapped").exists()
    print(f"{asked.files} files, {asked.hostile} of them hostile")
    print(f"lines in skipped.csv: {skipped}")
    print(f"predictions and model to the last byte as without them: {'yes' if same else 'NO'}")
    print(f"memory: {mixed:.0f} MB, {clean:.0f} MB without them, {mixed / clean:.2f} times")
    print(f"seconds: {mixed_seconds:.0f}, {clean_seconds:.0f} without them")
    return 0 if same and skipped == asked.hostile and mixed <= 1.2 * clean and not trapped else 1


if __name__ == "__main__":
    sys.exit(main())
