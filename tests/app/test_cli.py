"""The verbs as a person types them, from data to a sorted folder, and their help."""

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import QUICK, picture, refused, table

from novakind.app.cli import VERBS, main
from novakind.app.discover import assemble, every_setting
from novakind.app.help import DISCOVER_HELP
from novakind.app.options import parsed, read_words
from novakind.config import starting, starting_reading
from novakind.modality import KINDS


def test_discover_predict_report_export(photos, capsys):
    assert main(["discover", "photos", "--novel", "2", *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "new-1" in printed
    assert "new-2" in printed
    assert "runs/photos/report.html" in printed
    run = Path("runs/photos")
    assert {file.name for file in run.iterdir()} >= {
        *("config.toml", "metrics.jsonl", "model.safetensors", "state.pt", "predictions.csv", "embeddings.npz"),
        *("results.json", "skipped.csv", "report.html"),
    }

    picture(Path("more") / "new one.png", 91)
    (Path("more") / "notes.txt").write_text("no picture")
    assert main(["predict", str(run), "more", "photos/dark/1.png"]) == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert [row["path"] for row in rows] == ["more/new one.png", "photos/dark/1.png"]
    assert all(row["category"] in ("dark", "light", "new-1", "new-2") for row in rows)
    assert "skipped more/notes.txt: not an image" in printed.err
    assert main(["predict", str(run), "more", "--out", "sorted.csv"]) == 0
    assert Path("sorted.csv").read_text().startswith("path,category,probability\n")

    before = (run / "report.html").read_bytes()
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").read_bytes() == before

    capsys.readouterr()
    assert main(["export", str(run), "--to", "folders", "--out", "sorted"]) == 0
    assert "40 files in sorted" in capsys.readouterr().out
    assert len([file for file in Path("sorted").rglob("*.png") if not file.is_symlink()]) == 40
    assert main(["export", str(run), "--to", "folders", "--out", "linked", "--link", "--everything"]) == 0
    assert len([file for file in Path("linked").rglob("*.png") if file.is_symlink()]) == 80
    assert main(["export", str(run), "--out", "table.csv"]) == 0
    assert main(["export", str(run), "--to", "npz", "--out", "arrays.npz"]) == 0
    assert len(np.load("arrays.npz")["y"]) == 80
    # The one deliberate loop: what was exported is the next collection, wherever it was written.
    Path("elsewhere").mkdir()
    assert main(["export", str(run), "--out", "elsewhere/table.csv"]) == 0
    assert main(["discover", "elsewhere/table.csv", "--novel", "2", *QUICK]) == 0
    first, again = (table(Path("runs") / name / "predictions.csv") for name in ("photos", "table"))
    assert [row["label"] for row in first] == [row["label"] for row in again]
    assert [Path("elsewhere", row["path"]).resolve() for row in again] == [photos / row["path"] for row in first]


def test_a_finished_run_is_not_trained_again(photos, capsys):
    command = ["discover", "photos", "--novel", "2", *QUICK]
    assert main(command) == 0
    log = Path("runs/photos/metrics.jsonl").read_bytes()
    assert main(command) == 0
    assert Path("runs/photos/metrics.jsonl").read_bytes() == log
    assert main([*command, "--fresh"]) == 0
    assert Path("runs/photos/metrics.jsonl").read_bytes() != log


def test_bad_files_among_good_ones_are_skipped_counted_and_listed(photos, capsys):
    whole = (photos / "unlabeled" / "a1.png").read_bytes()
    (photos / "unlabeled" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (photos / "unlabeled" / "empty.png").touch()
    (photos / "dark" / "notes.txt").write_text("no picture")
    (photos / "unlabeled" / ".hidden").write_text("not even looked at")
    assert main(["discover", "photos", "--novel", "2", "--epochs", "1", "--batch", "20"]) == 0
    assert "skipped 3 " in capsys.readouterr().err
    rows = table(Path("runs/photos/skipped.csv"))
    assert {row["path"] for row in rows} == {"unlabeled/cut.png", "unlabeled/empty.png", "dark/notes.txt"}
    assert all(row["reason"] for row in rows)


def test_names_with_spaces_accents_and_emoji(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    root = Path("mes photos d'été 🌻")
    for number in range(20):
        picture(root / "très foncé" / f'nº {number} "é".png', 20, number)
        picture(root / "明るい 🌞" / f"{number}.png", 230, number)
        picture(root / "unlabeled" / f"a b {number}, 'ü' 🐈.png", 120, number)
    assert main(["discover", str(root), "--novel", "1", *QUICK]) == 0
    run = Path("runs") / root.name
    rows = table(run / "predictions.csv")
    assert {row["label"] for row in rows} == {"très foncé", "明るい 🌞", ""}
    assert main(["export", str(run), "--to", "folders", "--out", "trié 📁", "--everything"]) == 0
    assert len(list(Path("trié 📁").rglob("*.png"))) == 60


def test_vectors_from_end_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.repeat(10 * rng.normal(size=(4, 6)), 50, axis=0) + rng.normal(size=(200, 6))
    np.savez("vectors.npz", X=X, y=np.repeat([3, 7, -1, -1], 50))
    assert main(["discover", "vectors.npz", "--novel", "2", "--batch", "50", "--epochs", "20", "--quiet"]) == 0
    np.savez("new.npz", X=X[:3])
    capsys.readouterr()
    assert main(["predict", "runs/vectors", "new.npz"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["category"] for row in rows] == ["3", "3", "3"]
    np.savez("wide.npz", X=np.zeros((3, 9)))
    assert "shape" in refused(capsys, "predict", "runs/vectors", "wide.npz")
    assert "array or table" in refused(capsys, "export", "runs/vectors", "--to", "folders", "--out", "sorted")


def test_help_is_there_for_every_verb(capsys):
    assert main([]) == 0
    assert "novakind demo" in capsys.readouterr().out
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        assert len(capsys.readouterr().out) > 60
    for verb in ("discover", "compare"):
        assert main([verb, "--help-all"]) == 0
        printed = capsys.readouterr().out
        assert all(
            f"{setting.option}  (" in printed or f"{setting.option}\n" in printed
            for setting in every_setting().values()
        )


def test_every_option_in_the_short_help_exists():
    words = [
        word.strip("(),")
        for word in DISCOVER_HELP.split()
        if word.strip("(").startswith("--") and word not in ("--help-all", "--to")
    ]
    values = {"--novel": "5", "--prior": "uniform", "--preset": "glyphs", "--out": "x", "--epochs": "1", "--seed": "1"}
    values |= {"--truth": "t.csv", "--window": "3s", "--hop": "1.5s", "--rate": "50", "--known-share": "0.5"}
    values |= {"--encoder": "convnet", "--tune": "partly", "--mixed": "no", "--after": "run"}
    line = [part for word in dict.fromkeys(words) for part in (word, *([values[word]] if word in values else []))]
    given = read_words(["data", *line], VERBS["discover"].known())
    assert (given.plain, given.options["novel"], given.options["motion"]) == (["data"], "5", False)


def test_main_reads_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["novakind", "--version"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("novakind 0.")


def test_a_run_is_found_again_however_its_data_are_spelled(photos, capsys, monkeypatch, tmp_path):
    assert main(["discover", "photos/", "--novel", "2", *QUICK]) == 0
    log = Path("runs/photos/metrics.jsonl").read_bytes()
    assert main(["discover", str(photos), "--novel", "2", *QUICK]) == 0
    assert Path("runs/photos/metrics.jsonl").read_bytes() == log
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["export", "../runs/photos", "--out", "sorted"]) == 0
    assert len(list(Path("sorted").rglob("*.png"))) == 40
    assert main(["report", "../runs/photos"]) == 0


def test_a_second_round_has_new_names(photos, capsys):
    (photos / "dark").rename(photos / "new-1")
    assert main(["discover", "photos", "--novel", "2", *QUICK]) == 0
    rows = table(Path("runs/photos/predictions.csv"))
    assert {row["category"] for row in rows} <= {"light", "new-1", "new-2", "new-3"}
    assert all(row["category"] == "new-1" for row in rows if row["id"] == "1")
    assert not [row for row in rows if row["category"] == "new-1" and row["id"] != "1"]


def test_a_result_that_cannot_be_trusted_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("noise.npz", X=rng.normal(size=(400, 4)), y=np.repeat([0, 1, 2, -1], 100))
    assert main(["discover", "noise.npz", "--novel", "2", "--epochs", "2", "--batch", "50"]) == 0
    assert "do not trust the new categories yet" in capsys.readouterr().err


def test_a_prior_may_be_rounded_or_in_percent(photos):
    assert main(["discover", "photos", "--prior", "60%,40%", *QUICK]) == 0
    assert main(["discover", "photos", "--prior", "0.333,0.666", "--out", "other", *QUICK]) == 0


@pytest.mark.parametrize(
    ("data", "kind", "preset"),
    [
        (["a/1.png", "unlabeled/2.jpg", "notes.csv"], "image", "default"),
        (["a/1.csv", "unlabeled/2.csv"], "series", "sensors"),
        (["a/1.MP4", "unlabeled/2.webm", "unlabeled/3.avi", "cover.jpg"], "video", "videos"),
        ([".thumbs/1.png", ".thumbs/2.png", ".thumbs/3.png", "a/1.csv", "unlabeled/2.csv"], "series", "sensors"),
        ("ucf101", "video", "videos"),
        ("mobiact", "series", "sensors"),
        ("cifar10", "image", "default"),
        (np.zeros((9, 5)), "features", "default"),
        (np.zeros((9, 20, 3)), "series", "sensors"),
        (np.zeros((9, 8, 8), np.uint8), "image", "default"),
    ],
)
def test_kind_and_preset_follow_from_the_data(tmp_path, monkeypatch, data, kind, preset):
    monkeypatch.chdir(tmp_path)
    given = data if isinstance(data, str) else "mine"
    if isinstance(data, np.ndarray):
        given = "mine.npz"
        np.savez(given, X=data, y=np.zeros(len(data)))
    for name in data if isinstance(data, list) else []:
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).touch()
    source, config = assemble(given, "auto", {"novel": "2"}, parsed)
    assert config == replace(starting(KINDS[kind], preset), novel=2)
    assert source.reading == starting_reading(KINDS[kind], preset)


def test_the_command_line_is_read_once_in_any_order():
    first = ["--novel=2", "--no-views.flip", "photos", "--views.no-flip"]
    words = [*first, "--optim.lr", "0.01", "--preset", "glyphs", "--split-seed", "3"]
    given = read_words(words, VERBS["discover"].known())
    assert given.plain == ["photos"]
    assert given.options == {
        "novel": "2",
        "views.flip": False,
        "optim.lr": "0.01",
        "preset": "glyphs",
        "split_seed": "3",
    }
