"""Clothing and CLINC150 by name, in their official layouts, in small."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sentences import sentences
from small import paint

from novakind.app.cli import main
from novakind.app.discover import assemble
from novakind.data.files import quiet
from novakind.data.source import Source
from novakind.datasets import DATASETS
from novakind.datasets.gather import gather
from novakind.errors import UserError
from novakind.modality.image import ImageReading
from novakind.modality.strings import from_row
from novakind.modality.text import TextReading

NAMES = [
    f"{part}/{kind}/{n}.jpg" for part in ("train", "validation", "test") for kind in ("hat", "dress") for n in "12"
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clothes(tmp_path):
    for number, name in enumerate(NAMES):
        paint(tmp_path / "root" / "clothing" / name, 20 * number)
    (tmp_path / "root" / "clothing" / "train" / "hat" / "notes.txt").write_text("no picture")
    (tmp_path / "root" / "clothing" / "train" / "hat" / "torn.jpg").write_bytes(b"torn")
    return tmp_path / "root"


def test_clothing_has_its_official_parts(clothes, tmp_path):
    found = DATASETS["clothing"].load(clothes, ImageReading(), quiet)
    assert found.classes == found.truth_classes == ("dress", "hat")
    assert set(found.paths) == set(NAMES)
    assert found.items.shape == (12, 3, 64, 64)
    for path, label, held in zip(found.paths, found.labels, found.official_test, strict=True):
        assert path.split("/")[1] == found.classes[label]
        assert path.startswith("test/") == held
    assert found.skipped == (("train/hat/torn.jpg", "not an image"),)
    assert DATASETS["clothing"].load(clothes, ImageReading(size=32, flips=True), quiet).modality.shape == (3, 32, 32)
    assert len(list((tmp_path / "cache" / "stores").iterdir())) == 2


def test_decoded_clothes_are_not_decoded_again(clothes, monkeypatch):
    first = DATASETS["clothing"].load(clothes, ImageReading(), quiet)
    monkeypatch.setattr("novakind.modality.image.open_rgb", None)
    assert DATASETS["clothing"].load(clothes, ImageReading(), quiet).digest() == first.digest()


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_clothing_that_is_not_whole_is_refused(clothes, part):
    (clothes / "clothing" / part).rename(clothes / "away")
    with pytest.raises(UserError, match=f"clothing is not in .*no picture in clothing/{part}/<class>.*--data-root"):
        DATASETS["clothing"].load(clothes, ImageReading(), quiet)


@pytest.fixture
def intents(tmp_path):
    parts = {"train": 10, "val": 4, "test": 6}
    pairs = {
        part: [[f"{part} {n}", ("a", "b", "c", "d")[n % 4]] for n in range(count)] for part, count in parts.items()
    }
    pairs |= {"oos_train": [["what is this", "oos"]], "oos_val": [], "oos_test": [["and this", "oos"]]}
    (tmp_path / "root" / "clinc150").mkdir(parents=True)
    (tmp_path / "root" / "clinc150" / "data_full.json").write_text(json.dumps(pairs))
    return tmp_path / "root"


def test_clinc150_leaves_out_what_is_out_of_scope(intents):
    found = DATASETS["clinc150"].load(intents, TextReading(), quiet)
    assert found.classes == ("a", "b", "c", "d")
    assert found.paths[:2] == ("train/0", "train/1")
    assert found.paths[-1] == "test/5"
    assert [from_row(row) for row in found.items] == [path.replace("/", " ") for path in found.paths]
    np.testing.assert_array_equal(found.official_test, np.arange(20) >= 14)


def test_what_clinc150_says_is_shown_and_exported(intents, tmp_path, capsys):
    texts, kinds = sentences()
    pairs = [[text, kind] for text, kind in zip(texts, kinds, strict=True)]
    (intents / "clinc150" / "data_full.json").write_text(json.dumps({"train": pairs, "val": [], "test": pairs[:8]}))
    asked = ["--known", "2", "--data-root", str(intents), "--batch", "40", "--epochs", "1", "--quiet"]
    assert main(["discover", "clinc150", "--out", "run", *asked]) == 0
    table = capsys.readouterr().out
    assert any(text in table for text in texts)  # the table shows what items say, not their names
    assert main(["export", "run", "--out", "out.csv"]) == 0
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [*texts, *texts[:8]]


def test_clinc150_is_a_benchmark_by_name(intents, tmp_path):
    source, _ = assemble("clinc150", "auto", {"known": "2", "data_root": str(intents), "length": 20})
    seen_by = {"name": "minilm", "frozen": True, "why": ""}  # there is no other way
    reading = TextReading(20)
    assert source == Source("clinc150", "text", reading, published=seen_by, known="2", data_root=str(intents))
    collection, split = gather(source, tmp_path / "store", 0.1, quiet)
    assert collection.classes == ("a", "b")
    assert [collection.paths[item][:4] for item in split.test] == ["test"] * 6


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"clinc150 is not in .*root \(no clinc150/data_full.json\): put the official file"),
        (b"", "cannot be read .JSONDecodeError"),
        (b'{"train": []}', "cannot be read .KeyError: 'val'"),
        (b'{"train": [["a"]], "val": [], "test": []}', "cannot be read .ValueError"),
        (b"[1]", "cannot be read .TypeError"),
        (b"\xff", "cannot be read .UnicodeDecodeError"),
    ],
)
def test_a_broken_clinc150_is_refused(intents, content, message):
    file = intents / "clinc150" / "data_full.json"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        DATASETS["clinc150"].load(intents, TextReading(), quiet)
