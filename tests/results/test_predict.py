"""predict and export refuse places where something would be lost, and items that are none."""

import re

import numpy as np
import pytest
from small import shapes_folder

from novakind.app.cli import main
from novakind.runs.discovery import Discovery

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of files, one of arrays, and an empty folder."""
    folder = tmp_path_factory.mktemp("places")
    shapes_folder(folder / "shapes")
    (folder / "empty").mkdir()
    np.savez(folder / "a.npz", X=np.random.default_rng(0).normal(size=(80, 4)), y=np.arange(80) % 2 - 1)
    for data, run in (("shapes", "run"), ("a.npz", "rows")):
        assert main(["discover", str(folder / data), "--out", str(folder / run), *WORDS]) == 0
    return folder


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("predict run shapes --out=", "--out '' is no path: give a path"),
        ("export run --out=", "--out '' is no path: give a path"),
        ("predict run shapes --out .", r"\. cannot be written \(Is a directory\)"),
        ("export run --to csv --out /", r"/ cannot be written \(Is a directory\)"),
        ("predict run empty", "empty holds no file to sort: give pictures"),
        ("predict run shapes --out run/predictions.csv", "run/predictions.csv belongs to the run, which would be lost"),
        ("export run --out run/predictions.csv", "run/predictions.csv belongs to the run, which would be lost"),
        ("export run --out run", "run belongs to the run, which would be lost: give another place"),
        ("export run --out run/store", "run/store belongs to the run"),
        ("export rows --out a.npz", "a.npz is what the run was made from, which would be lost"),
    ],
)
def test_what_would_be_lost_or_is_not_there_is_refused(folder, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert main(words.split()) == 2
    assert re.search(sentence, capsys.readouterr().err)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_rows_come_in_the_order_in_which_items_were_given(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    np.savez("pictures.npz", X=np.zeros((2, 12, 12), np.uint8))
    capsys.readouterr()
    assert main(["predict", "run", "shapes/across/0.png", "pictures.npz", "shapes/down/1.png"]) == 0
    names = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == ["path", "shapes/across/0.png", "0", "1", "shapes/down/1.png"]


@pytest.mark.parametrize("verb", ["export run --out out.csv", "report run"])
@pytest.mark.parametrize(
    ("old", "new"), [('kind = "image"\n', ""), ('kind = "image"', 'kind = "smell"'), ("[data]\n", "[data]\nx = 1\n")]
)
def test_a_run_of_another_version_is_named(folder, monkeypatch, capsys, verb, old, new):
    monkeypatch.chdir(folder)
    config = folder / "run" / "config.toml"
    text = config.read_text()
    try:
        config.write_text(text.replace(old, new))
        assert main(verb.split()) == 2
        assert "was written by another version of novakind, or damaged" in capsys.readouterr().err
    finally:
        config.write_text(text)


@pytest.mark.parametrize("name", ["results.json", "predictions.csv", "embeddings.npz"])
@pytest.mark.parametrize("content", [b"", b"garbage\n\xff", b"path,label\n" + b"a,b\n" * 160])
def test_damaged_results_are_refused_and_written_again(folder, monkeypatch, capsys, name, content):
    monkeypatch.chdir(folder)
    whole = (folder / "run" / name).read_bytes()
    (folder / "run" / name).write_bytes(content)
    assert main(["export", "run", "--out", "out.csv"]) == 2
    assert re.search("run.*(is damaged|has 0|has 1 ).*run its novakind discover again", capsys.readouterr().err)
    assert main(["discover", "shapes", "--out", "run", *WORDS]) == 0
    assert Discovery.load(folder / "run").paths
    if name == "predictions.csv":
        assert (folder / "run" / name).read_bytes() == whole


@pytest.mark.parametrize("content", [b"garbage\n", b"\xff\n"])
def test_a_damaged_history_is_refused(folder, monkeypatch, capsys, content):
    monkeypatch.chdir(folder)
    whole = (folder / "run" / "metrics.jsonl").read_bytes()
    try:
        (folder / "run" / "metrics.jsonl").write_bytes(content)
        assert main(["discover", "shapes", "--out", "run", *WORDS]) == 2
        assert re.search(r"metrics\.jsonl is damaged .*: give --fresh", capsys.readouterr().err)
    finally:
        (folder / "run" / "metrics.jsonl").write_bytes(whole)
