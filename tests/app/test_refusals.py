"""Mistakes are refused in one sentence, with exit code 2, never a traceback; nothing that a person has is harmed."""

from pathlib import Path

import numpy as np
import pytest
from commands import QUICK, picture, refused

from novakind.app.cli import main
from novakind.runs.folder import Run


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--novel", "0"], "--novel 0 asks for no new category"),
        (["--novel", "9-3"], "--novel 9-3 is no number of new categories"),
        (["--novel", "30-40"], "--novel 30-40 needs 300 unlabeled items to train on, and there are 36"),
        (["--novel", "-3"], "--novel -3 is out of range"),
        (["--novel", "2", "--prior", "1/2,1/4,1/4"], "has 3 shares, but --novel asks for 2"),
        (["--novel", "2", "--prior=-1/2,3/2"], "holds a share that is not above 0"),
        (["--novel", "2", "--prior", "1/2,1/4"], "sums to 0.75"),
        (["--novel", "2", "--prior", "half,half"], "is not a list of numbers"),
        (["--novel", "2", "--batch", "19", "--method", "kcl"], "--batch 19 is below 10 x 2 new categories"),
        (["--novel", "9", "--batch", "99"], "36 unlabeled items to train on are fewer than 10 x 9"),
        (["--novel", "2", "--method", "magic"], 'method "magic" is unknown'),
        (["--novel", "100000"], "are fewer than 10 x 100000 new categories"),
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
        (Path("words") / name / "note.csv").write_text("hello")
    assert "none of 2 files can be read as a recording" in refused(capsys, "discover", "words", *discover)
    Path("file.txt").write_text("hello")
    assert "neither a folder" in refused(capsys, "discover", "file.txt", *discover)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_features_that_are_not_finite(tmp_path, monkeypatch, capsys, bad):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[7, 2] = bad
    np.savez("vectors.npz", X=X, y=np.repeat([0, 1, -1], 20))
    assert "row 7, column 2" in refused(capsys, "discover", "vectors.npz", "--novel", "2", *QUICK)


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--novle", "2"], "--novle is no setting: did you mean --novel?"),
        (["--novel"], "--novel needs a value"),
        (["--novel", "--quiet"], "--novel needs a value"),
        (["--novel", "two"], "--novel two is no number of new categories"),
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
