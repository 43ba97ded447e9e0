"""Videos from end to end: shapes that move in four ways, filmed in several codecs and rates; only motion tells them."""

import csv
import json
import math

import av
import numpy as np
import pytest
from footage import evenly, write_video

from novakind.app.cli import main
from novakind.data.source import Source
from novakind.datasets.gather import kind_for
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.modality.video import Video
from novakind.runs.discovery import Discovery

SIDE, SECONDS = 40, 2
FORMATS = [("mp4", "mpeg4", "yuv420p"), ("avi", "mjpeg", "yuvj420p"), ("webm", "libvpx", "yuv420p")]
RATES = (10, 12, 15, 25)
MOTIONS = ("across", "up and down", "in a circle", "there and gone")
KNOWN = MOTIONS[:2]
OPTIONS = "--novel 2 --size 32 --frames 8 --batch 40 --epochs 25 --views.crop 0.7"


def place(motion: str, turn: float) -> tuple[float, float, float]:
    """Where the shape is, from the middle, and how large, as shares of the picture; `turn` is in radians."""
    if motion == "across":
        return 0.3 * math.sin(turn), 0.0, 1.0
    if motion == "up and down":
        return 0.0, 0.3 * math.sin(turn), 1.0
    if motion == "in a circle":
        return 0.3 * math.sin(turn), 0.3 * math.cos(turn), 1.0
    return 0.0, 0.0, max(0.05, math.sin(turn))


def film(file, motion, rng, number):
    """A bright disc on a dark ground, of any colours, in any phase, in a slightly other place."""
    ground, colour = rng.integers(20, 110, 3), rng.integers(140, 250, 3)
    phase, speed = rng.uniform(0, 2 * math.pi), rng.uniform(0.8, 1.2)
    middle, half = SIDE / 2 + rng.uniform(-3, 3, 2), rng.uniform(5, 7)
    rows, columns = np.mgrid[:SIDE, :SIDE]
    rate = RATES[number % len(RATES)]

    def draw(frame: int) -> np.ndarray:
        right, down, size = place(motion, phase + 2 * math.pi * speed * frame / rate)
        inside = np.hypot(columns - middle[0] - SIDE * right, rows - middle[1] - SIDE * down) < half * size
        return np.where(inside[:, :, None], colour, ground).astype(np.uint8)

    ending, codec, pixels = FORMATS[number % len(FORMATS)]
    return write_video(file.with_suffix(f".{ending}"), evenly(SECONDS * rate, rate), codec, pixels, draw)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Labeled folders of two motions; the other two unlabeled; new videos of all four; and what they are."""
    if not all(codec in av.codecs_available for _, codec, _ in FORMATS):
        pytest.skip("this PyAV cannot write all codecs")
    root, rng, number = tmp_path_factory.mktemp("films"), np.random.default_rng(0), 0
    truth = []
    for motion in MOTIONS:
        for _ in range(40):
            folder = motion if motion in KNOWN else "unlabeled"
            file = film(root / "train" / folder / f"{number:03}", motion, rng, number)
            if motion not in KNOWN:
                truth.append([f"unlabeled/{file.name}", motion])
            number += 1
        for _ in range(12):
            film(root / "new" / motion / f"{number:03}", motion, rng, number)
            number += 1
    (root / "train" / "unlabeled" / "broken.mp4").write_bytes(b"no video")
    with (root / "truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label"], *truth])
    return root


def test_videos_come_from_a_folder_or_from_a_manifest(films):
    listed = films / "listed.csv"
    names = [path.relative_to(films) for path in (films / "train").rglob("*.*")]
    listed.write_text("path,label\n" + "".join(f"{name},\n" for name in names))
    assert {kind_for(Source(str(data))) for data in (films / "train", listed)} == {Video}
    assert kind_for(Source(str(films / "absent"))) == Image
    listed.write_text("path,label\na.csv,\nb.csv,\n")
    assert kind_for(Source(str(listed))) == Series
    listed.write_text("path,label\n")
    assert kind_for(Source(str(listed))) == Image


def test_motions_are_found_predicted_and_shown(films):
    run = films / "run"
    truth = ["--truth", str(films / "truth.csv")]
    assert main(["discover", str(films / "train"), *OPTIONS.split(), *truth, "--out", str(run), "--quiet"]) == 0
    found = Discovery.load(run)
    assert "broken.mp4" in (run / "skipped.csv").read_text()
    score = json.loads((run / "results.json").read_text())["metrics"]["novel_acc/train/agnostic"]
    assert score > 0.9

    assert main(["predict", str(run), str(films / "new"), "--out", str(films / "sorted.csv")]) == 0
    with (films / "sorted.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12 * len(MOTIONS)
    chosen = {motion: [row["category"] for row in rows if f"/{motion}/" in row["path"]] for motion in MOTIONS}
    for motion in KNOWN:
        assert chosen[motion].count(motion) >= 10
    most = [max(set(chosen[motion]), key=chosen[motion].count) for motion in MOTIONS[2:]]
    assert set(most) == set(found.names[2:])
    assert all(chosen[motion].count(name) >= 10 for motion, name in zip(MOTIONS[2:], most, strict=True))

    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "data:image/webp;base64" in page  # strips of frames
