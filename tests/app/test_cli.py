"""The verbs as a person types them, mistakes included: one sentence, exit code 2, never a traceback."""

import csv
import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from novakind.app.cli import VERBS, main
from novakind.app.discover import assemble, every_setting
from novakind.app.help import DISCOVER_HELP
from novakind.app.options import parsed, read_words
from novakind.config import starting, starting_reading
from novakind.modality import KINDS
from novakind.runs.folder import Run

QUICK = ["--epochs", "2", "--batch", "20", "--quiet"]


def picture(file: Path, tone: int, number: int = 0) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((10, 10, 3), tone, dtype=np.uint8)
    pixels[number % 10, :] = 255 - tone
    Pillow.fromarray(pixels).save(file)


@pytest.fixture
def photos(tmp_path, monkeypatch) -> Path:
    """Two known classes and forty unlabeled pictures, in the current folder."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "photos"
    for number in range(20):
        picture(root / "dark" / f"{number}.png", 20, number)
        picture(root / "light" / f"{number}.png", 230, number)
        picture(root / "unlabeled" / f"a{number}.png", 90, number)
        picture(root / "unlabeled" / f"b{number}.png", 160, number)
    return root


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--novel", "0"], "--novel 0 asks for no new category"),
        (["--novel", "-3"], "--novel -3 is out of range"),
        (["--novel", "2", "--prior", "1/2,1/4,1/4"], "has 3 shares, but --novel asks for 2"),
        (["--novel", "2", "--prior=-1/2,3/2"], "holds a share that is not above 0"),
        (["--novel", "2", "--prior", "1/2,1/4"], "sums to 0.75"),
        (["--novel", "2", "--prior", "half,half"], "is not a list of numbers"),
        (["--novel", "2", "--batch", "19"], "--batch 19 is below 10 x 2 new categories"),
        (["--novel", "9", "--batch", "99"], "36 unlabeled items to train on are fewer than 10 x 9"),
        (["--novel", "2", "--method", "magic"], 'method "magic" is unknown'),
        (["--novel", "100000"], "--batch 20 is below 10 x 100000"),
        (["--novel", "2", "--size", "5000"], "--size 5000 is out of range"),
        (["--novel", "2", "--device", "cuda"], "no GPU"),
        (["--novel", "2", "--encoder", "magic"], "magic"),
        (["--novel", "2", "--encoder", "mlp"], "mlp"),
        (["--novel", "2", "--known", "cats"], 'names "cats", which is no class here'),
        (["--novel", "2", "--truth", "absent.csv"], "absent.csv"),
        (["--novel", "2", "--val", "0.6", "--test", "0.6"], "leave nothing to train on"),
        (["--novel", "2", "--encoder-weights", "absent.safetensors"], "absent.safetensors"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_settings_that_cannot_be(photos, capsys, words, sentence):
    quick = [word for word in QUICK if "--batch" not in words or word not in ("--batch", "20")]
    assert sentence in refused(capsys, "discover", "photos", *quick, *words)


def test_folders_that_cannot_be(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    discover = ("--novel", "2", *QUICK)
    assert "does not exist" in refused(capsys, "discover", "nowhere", *discover)
    Path("empty").mkdir()
    assert "holds no file in a sub-folder" in refused(capsys, "discover", "empty", *discover)
    for number in range(30):
        picture(Path("all") / "unlabeled" / f"{number}.png", 100, number)
        picture(Path("none") / "dark" / f"{number}.png", 100, number)
    assert "no labeled item" in refused(capsys, "discover", "all", *discover)
    assert "no unlabeled item" in refused(capsys, "discover", "none", *discover)
    for name in ("a", "unlabeled"):
        (Path("words") / name).mkdir(parents=True)
        (Path("words") / name / "note.txt").write_text("hello")
    assert "none of 2 files can be read as a recording" in refused(capsys, "discover", "words", *discover)
    Path("file.txt").write_text("hello")
    assert "neither a folder" in refused(capsys, "discover", "file.txt", *discover)


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


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite(tmp_path, monkeypatch, capsys, bad):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[7, 2] = bad
    np.savez("vectors.npz", X=X, y=np.repeat([0, 1, -1], 20))
    assert "row 7, column 2" in refused(capsys, "discover", "vectors.npz", "--novel", "2", *QUICK)


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
    assert "rows of an array" in refused(capsys, "export", "runs/vectors", "--to", "folders", "--out", "sorted")


def test_run_folders_that_cannot_be(photos, capsys):
    discover = ("discover", "photos", "--novel", "2", *QUICK)
    Path("file").write_text("in the way")
    assert "cannot be written" in refused(capsys, *discover, "--out", "file/run")
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    assert "holds other files than a run" in refused(capsys, *discover, "--out", "mine")
    assert "holds other files than a run" in refused(capsys, *discover, "--out", "mine", "--fresh")
    assert Path("mine/thesis.txt").exists()
    assert main(list(discover)) == 0
    capsys.readouterr()
    sentence = refused(capsys, *discover, "--seed", "5")
    assert "was begun with seed = 0, not 5" in sentence
    assert "--fresh" in sentence
    picture(photos / "dark" / "another.png", 20)
    assert "other data" in refused(capsys, *discover)


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_checkpoint_is_named_and_a_way_on_given(photos, capsys, damage):
    command = ["discover", "photos", "--novel", "2", *QUICK]
    assert main(command) == 0
    capsys.readouterr()
    state = Path("runs/photos/state.pt")
    state.write_bytes(state.read_bytes()[:3000] if damage is None else damage)
    sentence = refused(capsys, *command)
    assert "runs/photos/state.pt is damaged" in sentence
    assert "delete it" in sentence
    state.unlink()
    assert main(command) == 0

    model = Path("runs/photos/model.safetensors")
    model.write_bytes(model.read_bytes()[:100])
    capsys.readouterr()
    assert "model.safetensors is damaged" in refused(capsys, "predict", "runs/photos", "photos/dark")
    assert main(command) == 0
    assert main(["predict", "runs/photos", "photos/dark"]) == 0


def test_places_that_hold_no_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words in (["predict", "nowhere", "x.png"], ["report", "nowhere"], ["export", "nowhere", "--out", "x.csv"]):
        assert "nowhere" in refused(capsys, *words)
    assert '"dicsover" is no command' in refused(capsys, "dicsover")


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
    values |= {"--truth": "t.csv", "--window": "3s", "--hop": "1.5s", "--rate": "50"}
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


def test_a_mistake_does_not_lock_the_folder(photos, capsys):
    words = ("discover", "photos", "--novel", "2", *QUICK)
    assert "encoder" in refused(capsys, *words, "--encoder", "mlp")
    assert main(list(words)) == 0


def test_exports_go_where_they_can_do_no_harm(photos, capsys):
    assert main(["discover", "photos", "--novel", "2", *QUICK]) == 0
    capsys.readouterr()
    for place in ("photos", "photos/sorted"):
        assert "is in the data folder" in refused(capsys, "export", "runs/photos", "--to", "folders", "--out", place)
    assert "--link is for folders" in refused(capsys, "export", "runs/photos", "--out", "x.csv", "--link")
    page = Path("runs/photos/report.html").read_bytes()
    photos.rename("moved")
    assert "none of the 40 files is in" in refused(capsys, "export", "runs/photos", "--out", "sorted")
    assert "stays as it is" in refused(capsys, "report", "runs/photos")
    assert Path("runs/photos/report.html").read_bytes() == page


def test_one_at_a_time(photos, capsys):
    with Run.claim(Path("runs/photos")).alone():
        assert "another novakind is at work" in refused(capsys, "discover", "photos", "--novel", "2", *QUICK)


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--novle", "2"], "--novle is no setting: did you mean --novel?"),
        (["--novel"], "--novel needs a value"),
        (["--novel", "--quiet"], "--novel needs a value"),
        (["--novel", "two"], "--novel two is no whole number"),
        (["--quiet=yes", "--novel", "2"], "--quiet=yes gives a value to a flag"),
        (["--novel", "2", "more"], "does not know what more means"),
        (["--novel", "2", "--window", "3s"], "--window 3s is for recordings, and photos holds pictures: leave it out"),
        (["--novel", "2", "--views.rotate", "999"], "--views.rotate 999.0 is out of range"),
        (["--novel", "2", "--preset", "videos"], "--preset videos is not for pictures"),
        (["--novel", "2", "--kind", "smell"], "--kind smell is no kind of data"),
        (["--novel", "2", "--split-seed", "-1"], "--split-seed -1 is out of range"),
        (["--novel", "2", "--optim.name", "adam"], "--optim.name adam is no choice"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_words_that_cannot_be(photos, capsys, words, sentence):
    assert sentence in refused(capsys, "discover", "photos", *words)
