"""Commands as a person types them, for tests: small folders of pictures, quick settings, how a mistake is refused."""

import csv
import io
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from novakind.app.cli import main

QUICK = ["--epochs", "2", "--batch", "20", "--quiet"]


def picture(file: Path, tone: int, number: int = 0) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((10, 10, 3), tone, dtype=np.uint8)
    pixels[number % 10, :] = 255 - tone
    Pillow.fromarray(pixels).save(file)


def table(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


def refused(capsys, *words: str) -> str:
    """The sentence with which a command is refused."""
    code = main(list(words))
    printed = capsys.readouterr()
    lines = [line for line in printed.err.strip().splitlines() if line.startswith("novakind: ")]
    assert code == 2
    assert "Traceback" not in printed.err
    assert len(lines) == 1, printed.err
    return lines[0]
