"""The network in ONNX says what `predict` says, for any number of items; what cannot be exported is refused."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from small import shapes_folder

from novakind.app.cli import main
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.modality.text import Text
from novakind.model import Card, Model, predict
from novakind.results.onnx import exported, from_tensor

CASES = {
    "mlp": Features((-1.0, -0.5, 0.0, 0.5, 1.0), (2.0,) * 5, lift=1.5),
    "flat": Features((0.0,) * 5, (1.0,) * 5),
    "convnet": Image(12, flips=True),
    "resnet18-cifar": Image(16),
    "seriesnet": Series(("x", "y", "z"), 32, mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 3.0)),
}


def untrained(encoder: str) -> Model:
    torch.manual_seed(0)
    head = "linear" if encoder == "flat" else "prototype"
    model = Model(Card(encoder, head, 8, 0.1, 2, ("a", "b", "new-1"), CASES[encoder].settings()))
    for module in model.modules():
        if hasattr(module, "running_mean"):  # as after training
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
    return model.eval()


@pytest.mark.parametrize("encoder", CASES)
def test_it_says_what_predict_says(encoder):
    model = untrained(encoder)
    rng = np.random.default_rng(0)
    session = onnxruntime.InferenceSession(exported(model))
    for items in (1, 2, 7):
        rows = (100 * rng.random((items, *model.modality.shape))).astype(model.modality.dtype)
        embedding, logp = predict(model, rows)
        probability, found = session.run(["probability", "embedding"], {"rows": rows})
        assert np.abs(probability - np.exp(logp)).max() < 1e-5
        assert np.abs(found - embedding).max() < 1e-5 * max(1.0, np.abs(embedding).max())


def test_texts_are_refused():
    with pytest.raises(UserError, match=r"texts are prepared by a program, .*: sort them with novakind predict"):
        from_tensor(Text)


def test_the_program_beside_it_sorts_pictures(tmp_path, monkeypatch, capsys):
    """Whatever classes and files are called, and where nothing can be written but the three files."""
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"acr\xffss")
    shapes_folder(tmp_path / "shapes")
    Path("shapes/across").rename(Path("shapes") / odd)
    quick = ["--novel", "2", "--preset", "glyphs", "--batch", "20", "--epochs", "1", "--quiet", "--out", "run"]
    assert main(["discover", "shapes", *quick]) == 0
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert main(["export", "run", "--out", 'so"r\n{t}er.onnx']) == 0
    assert main(["predict", "run", f"shapes/{odd}/0.png", "--out", "found.csv"]) == 0
    category, probability = os.fsdecode(Path("found.csv").read_bytes()).splitlines()[1].split(",")[1:]
    words = [sys.executable, 'so"r\n{t}er.py', f"shapes/{odd}/0.png"]
    done = subprocess.run(words, capture_output=True, text=True)
    shown = category.encode(errors="backslashreplace").decode()
    assert done.stdout.split() == ["0", shown, f"{float(probability):.3f}"], done.stderr
    assert len(Path(words[1]).read_text().splitlines()) <= 15
    categories = json.loads(Path('so"r\n{t}er.json').read_text())["categories"]
    assert categories[:2] == ["acr\\udcffss", "down"]
    capsys.readouterr()
    assert main(["export", "run", "--to", "onnx", "--out", "sorter"]) == 2
    assert "--out sorter does not end in .onnx: give --out sorter.onnx" in capsys.readouterr().err
