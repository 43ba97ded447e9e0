"""gather(): a kind of data that the items are not of is refused."""

import re

import numpy as np
import pytest
from small import shapes_folder

from novakind.app.cli import main


@pytest.mark.parametrize(
    ("data", "kind", "sentence"),
    [
        ("a.npz", "image", "--kind image is not what .*a.npz holds, which is vectors: leave it out"),
        ("a.npz", "series", "--kind series is not what .*a.npz holds, which is vectors: leave it out"),
        ("digits", "series", "--kind series is not what digits holds, which is pictures: leave it out"),
        ("shapes", "series", "none of 0 files can be read as a recording: there is none; give CSV files"),
    ],
)
def test_another_kind_than_the_items_have(tmp_path, monkeypatch, capsys, data, kind, sentence):
    monkeypatch.chdir(tmp_path)
    shapes_folder(tmp_path / "shapes")
    np.savez("a.npz", X=np.random.default_rng(0).normal(size=(80, 4)), y=np.arange(80) % 4 - 1)
    assert main(["discover", data, "--kind", kind, "--novel", "2", "--known", "1", "--batch", "20"]) == 2
    assert re.search(sentence, capsys.readouterr().err)
