"""discover, predict and export with vectors from .npy files and tables, under the names that the table gives them."""

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from commands import refused
from pyarrow import feather, parquet

from novakind.app.cli import main

pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Runs of the same vectors from a table, `table`, and from an .npy file, `plain`."""
    folder = tmp_path_factory.mktemp("vectors")
    X, y = np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32), np.arange(80) % 2 - 1
    names = [f"item {number}" for number in range(80)]
    labels = [None if label < 0 else str(label) for label in y.tolist()]
    parquet.write_table(pa.table({"id": names, "embedding": list(X), "label": labels}), folder / "t.parquet")
    np.save(folder / "x.npy", X)
    np.save(folder / "x.labels.npy", y)
    for data, run in (("t.parquet", "table"), ("x.npy", "plain")):
        assert main(["discover", str(folder / data), "--out", str(folder / run), *WORDS]) == 0
    return folder


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_formats_of_the_same_vectors_end_alike(folder):
    table, plain = (rows((folder / run / "predictions.csv").read_text()) for run in ("table", "plain"))
    assert [line["path"] for line in table] == [f"item {number}" for number in range(80)]
    assert [line["path"] for line in plain] == [str(number) for number in range(80)]
    assert [line | {"path": ""} for line in table] == [line | {"path": ""} for line in plain]


def test_items_keep_their_names_in_an_export(folder, tmp_path, capsys):
    assert main(["export", str(folder / "table"), "--out", str(tmp_path / "out.csv")]) == 0
    assert [line["path"] for line in rows((tmp_path / "out.csv").read_text())][:2] == ["item 0", "item 1"]
    assert main(["export", str(folder / "table"), "--out", str(tmp_path / "sorted")]) == 2
    assert "rows of an array or table, and only files go into folders" in capsys.readouterr().err


def test_new_vectors_need_no_labels(folder, tmp_path, capsys):
    X = np.load(folder / "x.npy")[:3]
    np.save(tmp_path / "new.npy", X)
    feather.write_feather(pa.table({"path": ["a", "b", "c"], "vector": list(X)}), str(tmp_path / "new.feather"))
    capsys.readouterr()
    assert main(["predict", str(folder / "table"), str(tmp_path / "new.npy"), str(tmp_path / "new.feather")]) == 0
    found = rows(capsys.readouterr().out)
    assert [line["path"] for line in found] == ["0", "1", "2", "a", "b", "c"]
    assert [line["category"] for line in found[:3]] == [line["category"] for line in found[3:]]


def test_labels_that_are_missing_are_asked_for(folder, tmp_path, capsys):
    np.save(tmp_path / "new.npy", np.eye(9))
    assert main(["discover", str(tmp_path / "new.npy"), "--novel", "2"]) == 2
    assert "there is no new.labels.npy beside it" in capsys.readouterr().err


@pytest.mark.parametrize("twice", ["id", "embedding", "label"])
def test_two_columns_of_one_name_are_refused(folder, capsys, twice):
    table = parquet.read_table(folder / "t.parquet")
    table = table.append_column(twice, table[twice])
    parquet.write_table(table, folder / "twice.parquet")
    feather.write_feather(table, folder / "twice.arrow")
    for name in ("twice.parquet", "twice.arrow"):
        assert f"has two columns {twice}" in refused(capsys, "discover", str(folder / name), *WORDS)
