"""Texts all the way: discover, predict, export and discover again, in tables and in folders; Discoverer."""

import csv
from pathlib import Path

import numpy as np
import pytest
from runs import write_run
from sentences import WordCounts, sentences

from novakind import Discoverer
from novakind.app.cli import main
from novakind.encoders import ENCODERS, Spec
from novakind.errors import UserError
from novakind.estimator import as_array
from novakind.modality.text import Text
from novakind.results.export import to_csv
from novakind.results.outcome import outcome
from novakind.runs.discovery import Discovery

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["--novel", "2", "--encoder", "words", "--epochs", "2", "--batch", "40", "--quiet"]
TEXTS, KINDS = sentences()
KNOWN = [kind if kind in ("weather", "music") else "" for kind in KINDS]


def rows_of(file: str) -> list[dict[str, str]]:
    with Path(file).open(newline="", encoding="utf-8") as opened:
        return list(csv.DictReader(opened))


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ENCODERS, "words", Spec(1, lambda shape: WordCounts()))
    monkeypatch.setattr(Text, "trainable", True)  # by this encoder


def test_a_table_of_texts_goes_through_every_verb(encoder, capsys):
    with Path("said.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *zip(TEXTS, KNOWN, strict=True), [" ", ""]])
    assert main(["discover", "said.csv", *WORDS]) == 0
    assert "160,row 160 has no text" in Path("runs/said/skipped.csv").read_text()
    assert 'kind = "text"' in Path("runs/said/config.toml").read_text()
    Path("more.jsonl").write_text('{"id": "a", "text": "play"}\n{"id": "b", "text": ""}\n{"id": "c", "text": "世界"}\n')
    Path("one.txt").write_text("bake a pie " * 500)
    capsys.readouterr()
    assert main(["predict", "runs/said", "more.jsonl", "one.txt", "--out", "new.csv"]) == 0
    assert [row["path"] for row in rows_of("new.csv")] == ["a", "c", "one.txt"]
    assert "skipped more.jsonl/b: row 1 has no text" in capsys.readouterr().err
    page = Path("runs/said/report.html").read_bytes()
    assert main(["report", "runs/said"]) == 0
    assert Path("runs/said/report.html").read_bytes() == page
    assert b'"texts":{"items"' in page
    assert main(["export", "runs/said", "--out", "out.csv"]) == 0
    rows = rows_of("out.csv")
    assert list(rows[0]) == ["id", "label", "category", "status", "suggested", "probability", "text"]
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [
        (str(number), text, label) for number, (text, label) in enumerate(zip(TEXTS, KNOWN, strict=True))
    ]
    assert main(["discover", "out.csv", *WORDS]) == 0  # the next round
    assert main(["export", "runs/said", "--out", "sorted"]) == 2
    assert "rows of an array or table, and only files go into folders" in capsys.readouterr().err
    assert main(["export", "runs/said", "--out", "said.csv"]) == 2
    assert "is what the run was made from" in capsys.readouterr().err
    np.savez("numbers.npz", X=np.zeros((3, 4)))
    assert main(["predict", "runs/said", "numbers.npz"]) == 2
    assert "holds vectors of shape (4,), but the model was trained on texts" in capsys.readouterr().err


def test_a_folder_of_texts_is_sorted_into_folders(encoder, capsys):
    for number, (text, label) in enumerate(zip(TEXTS, KNOWN, strict=True)):
        file = Path("notes", label or "unlabeled", f"{number}.txt")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    Path("notes/unlabeled/picture.txt").write_bytes(b"\x89PNG\0\0")
    assert main(["discover", "notes", *WORDS]) == 0
    assert 'unlabeled/picture.txt,"has NUL bytes' in Path("runs/notes/skipped.csv").read_text()
    assert main(["export", "runs/notes", "--out", "sorted"]) == 0
    assert len(list(Path("sorted").rglob("*.txt"))) == 80
    assert main(["discover", "notes", *WORDS, "--size", "32"]) == 2
    assert "--size 32 is for pictures and videos, and notes holds texts" in capsys.readouterr().err


def test_texts_that_are_gone_from_their_table_are_empty(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", paths=[str(number) for number in range(60)]))
    to_csv(outcome(found), tmp_path / "out.csv", None, {"0": 'one, "two"\nthree'})
    rows = rows_of(str(tmp_path / "out.csv"))
    assert [row["text"] for row in rows[:2]] == ['one, "two"\nthree', ""]


def test_discoverer_takes_a_list_of_texts(tmp_path):
    found = Discoverer(n_novel=2, encoder=WordCounts(), epochs=20, random_state=0, settings={"batch": 40})
    found.fit(TEXTS, KNOWN)
    assert found.classes_.tolist() == ["music", "weather", "new-1", "new-2"]
    more = ["play a song by oslo", "a much longer text than any before: " + "bake a pie " * 99, ""]
    expected = found.predict_proba(more)
    assert expected.shape == (3, 4)
    assert found.predict(more)[0] == "music"
    for given in (tuple(more), np.array(more), np.array(more, dtype=object)[:, None]):
        assert np.array_equal(found.predict_proba(given), expected)
    for bad, message in (
        ("play a song", "X is one text of 11 signs"),
        (["play", None], "X holds None in row 1, which is no text"),
        (["play", 5], "X holds 5 in row 1, which is no text"),
        (np.zeros((2, 4)), "X has 4 features|X holds vectors"),
    ):
        with pytest.raises(UserError, match=message):
            found.predict(bad)


def test_columns_of_tables_are_texts():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["one", "two"]})
    for given in (frame, frame["text"], frame["text"].astype("string"), frame["text"].tolist()):
        assert as_array(given).tolist() == ["one", "two"]
    assert as_array(["x" * 10**6, *["short"] * 10**4]).dtype == object  # 40 gigabytes as one array of strings
