"""From result to next round: exports of every form of data, in any folder, and nothing of a person's work lost."""

import csv
import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from novakind.app.cli import main
from novakind.data.files import load
from novakind.data.truth import with_truth
from novakind.modality.series import SeriesReading

QUICK = ["--novel", "2", "--preset", "glyphs", "--epochs", "2", "--batch", "40", "--quiet"]


def items_of(folder: Path) -> list[list[str]]:
    return [
        [f"shapes/{file.relative_to(folder)}", "" if file.parent.name == "unlabeled" else file.parent.name]
        for file in sorted(folder.rglob("*.png"))
    ]


def write_manifest(folder: Path, file: str) -> None:
    rows = items_of(folder)
    if file.endswith(".parquet"):
        from pyarrow import parquet, table

        parquet.write_table(table({"path": [path for path, _ in rows], "label": [label for _, label in rows]}), file)
    else:
        with open(file, "w", newline="") as opened:
            csv.writer(opened).writerows([["path", "label"], *rows])


@pytest.mark.parametrize("manifest", ["items.csv", "items.parquet"])
def test_the_command_that_discover_prints_exports_a_manifest(shapes, capsys, manifest):
    write_manifest(shapes, manifest)
    assert main(["discover", manifest, *QUICK]) == 0
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("export it:"))
    assert main(shlex.split(printed.split("novakind", 1)[1])) == 0
    assert len(list(Path("sorted-items").rglob("*.png"))) == 80
    assert main(["report", "runs/items"]) == 0


@pytest.mark.parametrize("place", ["here.csv", "further/down/there.csv", "shapes/within.csv"])
def test_an_exported_table_is_the_next_collection_wherever_it_lies(shapes, tmp_path, place):
    assert main(["discover", "shapes", *QUICK]) == 0
    assert main(["export", "runs/shapes", "--out", place]) == 0
    first = load(shapes, tmp_path / "one")
    again = load(Path(place), tmp_path / "two")
    np.testing.assert_array_equal(first.items, again.items)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert first.classes == again.classes
    with Path(place).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["status"] for row in rows if row["label"]} == {"labeled"}
    assert {(row["status"], bool(row["category"])) for row in rows if not row["label"]} == {("suggested", True)}


def test_a_folder_whose_name_is_not_unicode(shapes):
    odd = os.fsdecode(b"formes \xe9\xff")
    shapes.rename(odd)
    assert main(["discover", odd, *QUICK, "--out", "run"]) == 0
    assert (Path("run") / "report.html").stat().st_size > 10_000
    assert main(["report", "run"]) == 0
    assert main(["export", "run", "--out", "table.csv"]) == 0
    assert main(["export", "run", "--out", "sorted"]) == 0
    assert len(list(Path("sorted").rglob("*.png"))) == 80


def test_a_fresh_start_keeps_what_a_person_decided(shapes):
    run = Path("runs/shapes")
    for number in (1, 2):
        assert main(["discover", "shapes", *QUICK]) == 0
        (run / "edits.jsonl").write_text(f'{{"decision": {number}}}\n')
        assert main(["discover", "shapes", *QUICK, "--fresh"]) == 0
        assert not (run / "edits.jsonl").exists()  # of categories that are no longer there
        assert (run / f"edits-{number}.jsonl").read_text() == f'{{"decision": {number}}}\n'


def test_the_label_of_a_recording_counts_for_all_its_windows(tmp_path):
    times = np.arange(400) / 50
    for folder, name in (("walk", "a"), ("unlabeled", "b"), ("unlabeled", "c@home")):
        file = tmp_path / "data" / folder / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(file, np.stack([times, np.sin(times)], 1), "%.4f", ",", header="time,x", comments="")
    collection = load(tmp_path / "data", tmp_path / "store", SeriesReading(window="2s"))
    (tmp_path / "truth.csv").write_text("path,label\nunlabeled/b.csv,run\nunlabeled/c@home.csv,jump\n")
    told = with_truth(collection, tmp_path / "truth.csv")
    truth = {"walk/a.csv": "walk", "unlabeled/b.csv": "run", "unlabeled/c@home.csv": "jump"}
    assert len(told) > 12
    for path, number in zip(told.paths, told.truth, strict=True):
        assert told.truth_classes[number] == truth[path.rpartition("@")[0]]
    single = next(path for path in collection.paths if "c@home" in path)
    (tmp_path / "truth.csv").write_text(f"path,label\nunlabeled/c@home.csv,jump\n{single},fall\n")
    assert with_truth(collection, tmp_path / "truth.csv").truth_classes == ("walk", "fall", "jump")


def test_windows_of_recordings_have_a_next_round_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for folder, pace in (("still", 0.0), ("walk", 2.0), ("unlabeled", 5.0)):
        for number in range(2):
            times = np.arange(1500) / 50
            wave = np.sin(2 * np.pi * pace * times) + 0.1 * rng.normal(size=1500)
            file = Path("moves") / folder / f"{number}.csv"
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(file, np.stack([times, wave], 1), "%.4f", ",", header="time,x", comments="")
    quick = ["--novel", "1", "--epochs", "1", "--batch", "20", "--quiet"]
    assert main(["discover", "moves", "--window", "2s", *quick]) == 0
    Path("away").mkdir()
    assert main(["export", "runs/moves", "--out", "away/moves.csv"]) == 0
    table = Path("away/moves.csv").read_text().replace("/unlabeled/0.csv@0.0s,,", "/unlabeled/0.csv@0.0s,shake,")
    Path("away/moves.csv").write_text(table)  # a person names one window
    assert main(["discover", "away/moves.csv", "--window", "2s", *quick, "--out", "second"]) == 0
    with Path("second/predictions.csv").open(newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    assert labels.count("shake") == 1
    assert labels.count("still") == labels.count("walk") == labels.count("") + 1
    capsys.readouterr()
    assert main(["discover", "away/moves.csv", "--window", "3.3s", *quick, "--out", "third"]) == 2
    assert "cut otherwise" in capsys.readouterr().err
