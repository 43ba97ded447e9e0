"""The network in ONNX says what `predict` says, for any number of items; what cannot be exported is refused."""

import json
import subprocess
import sys

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
    monkeypatch.chdir(tmp_path)
    shapes_folder(tmp_path / "shapes")
    quick = ["--novel", "2", "--preset", "glyphs", "--batch", "20", "--epochs", "1", "--quiet", "--out", "run"]
    assert main(["discover", "shapes", *quick]) == 0
    assert main(["export", "run", "--out", "sorter.onnx"]) == 0
    assert main(["predict", "run", "shapes/across/0.png", "--out", "found.csv"]) == 0
    category, probability = (tmp_path / "found.csv").read_text().splitlines()[1].split(",")[1:]
    done = subprocess.run([sys.executable, "sorter.py", "shapes/across/0.png"], capture_output=True, text=True)
    assert done.stdout.split() == ["0", category, f"{float(probability):.3f}"], done.stderr
    assert len((tmp_path / "sorter.py").read_text().splitlines()) <= 15
    assert json.loads((tmp_path / "sorter.json").read_text())["categories"][:2] == ["across", "down"]
    capsys.readouterr()
    assert main(["export", "run", "--to", "onnx", "--out", "sorter"]) == 2
    assert "--out sorter does not end in .onnx: give --out sorter.onnx" in capsys.readouterr().err
