"""A published encoder on the whole way: its run folder holds all that later commands need, its weights too."""

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import table
from PIL import Image as Pillow
from runs import data_of
from safetensors.torch import load_file
from small import photos_folder

from novakind import Discoverer
from novakind.app.cli import main
from novakind.encoders.front import Front, network_of, origin_of
from novakind.modality.image import Image
from novakind.model import load_model

pytestmark = pytest.mark.usefixtures("one_thread")
LITE0 = ["--encoder", "efficientnet-lite0", "--size", "64", "--novel", "2", "--batch", "20", "--quiet"]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with photographs, new ones, and a run on the first."""
    root = tmp_path_factory.mktemp("published")
    photos_folder(root / "photos")
    photos_folder(root / "new", 12, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["discover", "photos", *LITE0, "--epochs", "5"]) == 0
    return root


@pytest.fixture
def run(made, monkeypatch) -> Path:
    monkeypatch.chdir(made)
    return Path("runs/photos")


def kinds(rows: list[dict[str, str]]) -> set[tuple[str, str]]:
    """Pairs of what is in the picture and the category."""
    return {(Path(row["path"]).name[0], row["category"]) for row in rows}


def test_each_kind_is_a_category_of_its_own(run):
    found = kinds(table(run / "predictions.csv"))
    assert len(found) == 4
    assert {("0", "ball"), ("1", "box")} <= found
    config = (run / "config.toml").read_text()
    assert '[data.published]\nname = "efficientnet-lite0"\nfrozen = true\n' in config
    assert 'kind = "image"' in config


def test_the_page_shows_the_photographs(run):
    shown = json.dumps(data_of((run / "report.html").read_text(encoding="utf-8")))
    uris = re.findall(r"data:image/[a-z]+;base64,([^\"]+)", shown)
    assert len(uris) == 60
    tones = np.asarray(Pillow.open(io.BytesIO(base64.b64decode(uris[0]))).convert("RGB"), dtype=int)
    assert min(tones.shape[:2]) >= 32
    assert np.ptp(tones, axis=2).max() > 60  # in colour


def test_the_page_is_drawn_again_without_looking_again(run, monkeypatch):
    monkeypatch.setattr(Front, "forward", lambda *given: pytest.fail("looked"))
    page = (run / "report.html").read_bytes()
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").read_bytes() == page


def test_new_files_are_sorted(run):
    assert main(["predict", str(run), "new", "--out", "new.csv"]) == 0
    assert kinds(table(Path("new.csv"))) == kinds(table(run / "predictions.csv"))
    assert main(["predict", str(run), "photos", "--out", "again.csv"]) == 0
    before = {row["path"]: float(row["probability"]) for row in table(run / "predictions.csv")}
    for row in table(Path("again.csv")):
        assert abs(float(row["probability"]) - before[row["path"].removeprefix("photos/")]) < 1e-4


def test_files_go_into_folders_and_tables(run):
    assert main(["export", str(run), "--out", "sorted"]) == 0
    assert {folder.name for folder in Path("sorted").iterdir() if folder.is_dir()} == {"new-1", "new-2"}
    assert len(list(Path("sorted").rglob("*.png"))) == 30
    assert main(["export", str(run), "--out", "table.csv"]) == 0
    assert len(table(Path("table.csv"))) == 60


def test_a_discoverer_takes_it_up(run):
    found = Discoverer.load(run)
    files = sorted(Path("new").rglob("*.png"))
    pictures = np.stack([np.asarray(Pillow.open(file).resize((64, 64))) for file in files])
    assert found.predict_proba(pictures).shape == (12, 4)
    assert found.n_features_in_ == 3 * 64 * 64
    guessed = {(file.name[0], str(name)) for file, name in zip(files, found.predict(pictures), strict=True)}
    assert guessed == kinds(table(run / "predictions.csv"))


def test_the_model_file_carries_the_encoder(run):
    model = load_model(run / "model.safetensors")
    assert model.card.origin is not None
    assert (model.card.origin["name"], model.card.origin["licence"]) == ("efficientnet-lite0", "Apache-2.0")
    assert isinstance(model.reads, Image)
    assert model.reads.seen == 64
    held = load_file(run / "model.safetensors")
    for name, tensor in network_of(origin_of("efficientnet-lite0")).state_dict().items():
        assert torch.equal(held[f"front.{name}"], tensor)


def test_predict_needs_no_package_of_weights(run, tmp_path):
    """In a process that can import neither the weights nor transformers, with an empty cache."""
    script = (
        "import sys\n"
        "class Gone:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith(('efficientnet', 'transformers', 'gt_all')):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Gone())\n"
        "from novakind.app.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    out = tmp_path / "alone.csv"
    shutil.copytree(run, tmp_path / "alone")
    words = ["predict", str(tmp_path / "alone"), "new", "--out", str(out)]
    alone = os.environ | {"NOVAKIND_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", script, *words], env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kinds(table(out)) == kinds(table(run / "predictions.csv"))


def test_other_settings_of_the_encoder_are_another_run(run, capsys):
    for words in (["--tune", "partly"], ["--encoder", "convnet"]):
        assert main(["discover", "photos", *LITE0, "--epochs", "5", *words]) == 2
        assert "holds a run that was begun with" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--dim", "40"], ["--head", "linear"], ["--known-share", "0.3"]])
def test_partly_trained_the_last_layers_change_and_nothing_else(run, tmp_path, options, monkeypatch):
    monkeypatch.setattr("novakind.training.loop.choose_epochs", lambda steps, clustered: 3)  # of the frozen start
    out = tmp_path / "tuned"
    words = ["--tune", "partly", "--epochs", "1", "--optim.warmup", "0", "--out", str(out), *options]
    assert main(["discover", "photos", *LITE0, *words]) == 0
    network, held = network_of(origin_of("efficientnet-lite0")), load_file(out / "model.safetensors")
    published = {f"encoder.{name}": tensor for name, tensor in network.state_dict().items()}
    changed = {name for name, tensor in published.items() if not torch.equal(held[name], tensor)}
    last = ("encoder.blocks.13.", "encoder.blocks.14.", "encoder.blocks.15.", "encoder.head.")  # of 18 parts
    assert changed == {name for name in published if name.startswith(last)}  # the statistics of batches too
    assert main(["predict", str(out), "new", "--out", str(tmp_path / "new.csv")]) == 0
    assert len(table(tmp_path / "new.csv")) == 12


def test_the_estimator_sees_pictures_through_it(run, tmp_path):
    files = sorted(Path("photos").rglob("*.png"))
    pictures = np.stack([np.asarray(Pillow.open(file)) for file in files])
    truth = np.array([int(file.name[0]) for file in files])
    y = np.where(truth < 2, truth, -1)
    found = Discoverer(2, epochs=3, random_state=0, settings={"batch": 20, "size": 64}).fit(pictures, y)
    assert found.model_.front is not None  # auto: colour photographs
    assert len(set(zip(truth.tolist(), found.labels_.tolist(), strict=True))) == 4
    found.save(tmp_path / "model.safetensors")
    again = Discoverer.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict_proba(pictures), found.predict_proba(pictures))
    grey = Discoverer(2, epochs=1, random_state=0, settings={"batch": 20}).fit(pictures[..., 0], y)
    assert grey.model_.front is None
