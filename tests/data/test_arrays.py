"""Vectors in files: .npy stays on disk, tables are taken as a whole; what does not fit is refused in a sentence."""

import mmap
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from novakind.data import vectors
from novakind.data.arrays import holds_arrays
from novakind.data.files import load
from novakind.data.paths import kind_of, list_items
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.numbers import finite

X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
Y = ["a", "b", "", "a", "unlabeled", None]


def write(table: pa.Table, path: Path, stream: bool = False) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=4)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path))
    else:
        with (ipc.new_stream if stream else ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


def bottom(array: np.ndarray) -> object:
    """What holds the numbers of a view."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def refused(given: Path, sentence: str, labeled: bool = True) -> None:
    with pytest.raises(UserError, match=sentence) as told:
        list_items(given, labeled)
    assert str(told.value).startswith(str(given))
    assert "\n" not in str(told.value)


def test_npy_stays_on_disk(tmp_path):
    np.save(tmp_path / "e.npy", X)
    np.save(tmp_path / "e.labels.npy", np.array([0, 1, -1, 0, -1, -1]))
    found = load(tmp_path / "e.npy", tmp_path / "store")
    assert isinstance(bottom(found.items), mmap.mmap)
    assert np.array_equal(found.items, X)
    assert found.classes == ("0", "1")
    assert found.labels.tolist() == [0, 1, -1, 0, -1, -1]
    assert found.paths == tuple("012345")
    assert kind_of(tmp_path / "e.npy") is Features
    np.savez(tmp_path / "e.npz", X=X, y=np.array([0, 1, -1, 0, -1, -1]))
    assert load(tmp_path / "e.npz", tmp_path / "store").digest() == found.digest()


def test_npy_of_pictures_holds_pictures(tmp_path):
    np.save(tmp_path / "p.npy", np.zeros((4, 8, 8), np.uint8))
    assert kind_of(tmp_path / "p.npy") is Image
    assert list_items(tmp_path / "p.npy", labeled=False).arrays is not None


def test_npy_without_labels_says_where_they_belong(tmp_path):
    np.save(tmp_path / "e.npy", X)
    refused(tmp_path / "e.npy", r"holds no labels, and there is no e\.labels\.npy beside it")
    assert list_items(tmp_path / "e.npy", labeled=False).names == list("012345")


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps([1, 2]), b"\x93NUMPY\x01\x00"])
def test_npy_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "e.npy").write_bytes(content)
    refused(tmp_path / "e.npy", r"is no \.npy file of plain numbers, or damaged", labeled=False)


def test_npy_of_objects_is_not_unpickled(tmp_path):
    np.save(tmp_path / "e.npy", np.array([{}, 1], dtype=object))
    refused(tmp_path / "e.npy", r"is no \.npy file of plain numbers", labeled=False)


def test_npy_that_was_cut_is_refused(tmp_path):
    np.save(tmp_path / "e.npy", X)
    (tmp_path / "e.npy").write_bytes((tmp_path / "e.npy").read_bytes()[:-4])
    refused(tmp_path / "e.npy", "or damaged", labeled=False)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())])
@pytest.mark.parametrize("column", ["vector", "embedding", "embeddings", "X"])
def test_tables_of_vectors_are_read(tmp_path, name, kind, column):
    columns = {"id": [*"uvwxyz"], column: pa.array(X.tolist(), kind), "label": Y, "other": [{"deep": 1}] * 6}
    given = write(pa.table(columns), tmp_path / name)
    found = load(given, tmp_path / "store")
    assert np.array_equal(found.items, X)
    assert found.items.dtype == np.float32
    assert found.classes == ("a", "b")
    assert found.labels.tolist() == [0, 1, -1, 0, -1, -1]
    assert found.paths == tuple("uvwxyz")
    assert kind_of(given) is Features


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_in_one_piece_stays_on_disk(tmp_path, stream):
    table = pa.table({"vector": pa.array(X.tolist(), pa.list_(pa.float32(), 3)), "label": Y})
    found = load(write(table, tmp_path / "t.arrow", stream), tmp_path / "store")
    assert not found.items.flags.owndata
    assert not found.items.flags.writeable
    assert np.array_equal(found.items, X)
    pieces = pa.concat_tables([table.slice(1, 2), table.slice(4)])
    assert np.array_equal(load(write(pieces, tmp_path / "s.arrow"), tmp_path / "store").items, X[[1, 2, 4, 5]])


def test_labels_of_tables_may_be_numbers_and_names_are_optional(tmp_path):
    given = write(pa.table({"vector": X.tolist(), "label": [10, 2, None, 10, -1, 2]}), tmp_path / "t.parquet")
    found = load(given, tmp_path / "store")
    assert found.classes == ("2", "10")
    assert found.labels.tolist() == [1, 0, -1, 1, -1, 0]
    assert found.paths == tuple("012345")


def test_parquet_with_paths_alone_is_a_manifest(tmp_path):
    manifest = write(pa.table({"path": ["a.png"], "label": ["cat"], "X": [1.0]}), tmp_path / "m.parquet")
    assert not holds_arrays(manifest)
    assert list_items(manifest).arrays is None
    both = write(pa.table({"path": ["a.png", "b.png"], "X": X[:2].tolist()}), tmp_path / "v.parquet")
    assert list_items(both, labeled=False).names == ["a.png", "b.png"]


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"vector": [[1.0, 2.0], [1.0]]}, "has 1 numbers in row 1 and 2 in row 0: give vectors of one length"),
        ({"vector": [[1.0, 2.0], None]}, "has no vector in row 1"),
        ({"vector": [[1.0, 2.0], [None, 1.0]]}, "has a gap in the vector of row 1"),
        ({"vector": [["a"], ["b"]]}, "has vectors of type string, but features must be numbers"),
        ({"id": ["u", None]}, "has no name in row 1"),
        ({"id": ["u", "u"]}, 'names "u" more than once'),
        ({"label": None}, 'has no column "label" among those it has'),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_their_number(tmp_path, name, change, sentence):
    columns = {"vector": X[:2].tolist(), "label": ["a", ""], "id": ["u", "v"]} | change
    given = {column: values for column, values in columns.items() if values is not None}
    refused(write(pa.table(given), tmp_path / name), sentence)


def test_gap_in_a_later_piece_has_its_own_row(tmp_path):
    rows = [*X.tolist(), [1.0, None, 2.0]]
    refused(write(pa.table({"vector": rows, "label": [*Y, ""]}), tmp_path / "t.parquet"), "gap in the vector of row 6")


def test_tables_without_vectors_or_rows_are_refused(tmp_path):
    refused(write(pa.table({"a": [1], "X": [1.0]}), tmp_path / "t.arrow"), r"no column of vectors .*\(a, X\): call it")
    empty = pa.table({"vector": pa.array([], pa.list_(pa.float32())), "label": pa.array([], pa.string())})
    refused(write(empty, tmp_path / "e.feather"), "holds no row")


@pytest.mark.parametrize("content", [b"", b"ARROW1", b"hello world, this is no table", b"\xff" * 64])
def test_arrow_files_that_are_none_are_refused(tmp_path, content):
    (tmp_path / "t.arrow").write_bytes(content)
    refused(tmp_path / "t.arrow", "is no Parquet or Arrow file, or damaged")


def test_tables_need_pyarrow(tmp_path, monkeypatch):
    given = write(pa.table({"vector": X.tolist(), "label": Y}), tmp_path / "t.arrow")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(given, r"needs pyarrow: pip install 'novakind\[parquet\]'")
    assert not vectors.has_vectors(tmp_path / "t.parquet")


def test_numbers_in_pieces_are_those_of_the_whole(monkeypatch):
    rows = np.random.default_rng(1).normal(3, 2, size=(1000, 5)).astype(np.float32)
    whole = Features.of(rows)
    assert whole.std == tuple(rows.std(0, dtype=np.float64).tolist())
    assert whole.mean == tuple(rows.mean(0, dtype=np.float64).tolist())
    monkeypatch.setattr("novakind.modality.numbers.PIECE", 64)
    assert np.allclose(Features.of(rows).std, whole.std, rtol=1e-12)
    assert finite(rows) is rows
    rows[700, 2], rows[800, 1] = np.nan, np.inf
    with pytest.raises(UserError, match=r"X holds 2 values .* the first in row 700, column 2"):
        finite(rows)


@pytest.mark.parametrize("name", ["t.arrow", "t.feather"])
@pytest.mark.parametrize("place", ["list", "names"])
def test_arrow_files_whose_places_point_out_of_them_are_refused(tmp_path, name, place):
    """Arrow does not look: it would read what lies there, or die."""
    table = pa.table({"vector": X.tolist(), "label": ["a", "b", "", "a", "", ""], "id": [f"name{k}" for k in range(6)]})
    if name == "t.feather":
        feather.write_feather(table, str(tmp_path / name), compression="uncompressed")
    else:
        write(table, tmp_path / name)
    offsets = np.arange(0, 21, 3, dtype=np.int32) if place == "list" else np.arange(0, 35, 5, dtype=np.int32)
    content = (tmp_path / name).read_bytes()
    at = content.index(offsets.tobytes()[:28]) + 12
    (tmp_path / name).write_bytes(content[:at] + b"\0\0\0\x7f" + content[at + 4 :])
    refused(tmp_path / name, "is no Parquet or Arrow file, or damaged")


def test_a_table_with_a_name_that_is_no_utf8_is_refused(tmp_path):
    given = write(pa.table({"vector": X.tolist(), "label": ["abcdef"] * 6}), tmp_path / "t.parquet")
    given.write_bytes(given.read_bytes().replace(b"label", b"lab\xffl"))
    assert not vectors.has_vectors(given)
    refused(given, "is no Parquet file, or damaged")


@pytest.mark.parametrize("column", ["vector", "path"])
def test_some_bytes_that_hold_more_than_memory_are_refused(tmp_path, monkeypatch, column):
    rows = {"vector": [[0.0] * 3] * 100_000, "path": ["a.png"] * 100_000}
    given = write(pa.table({column: rows[column], "label": [""] * 100_000}), tmp_path / "t.parquet")
    monkeypatch.setattr("novakind.data.parquet.memory", lambda: 1_000_000)
    refused(given, "00,000 values, more than this machine's memory: give fewer rows")


@pytest.mark.parametrize("name", ["t.parquet", "t.npz", "t.npy"])
def test_strings_are_labels_as_in_manifests(tmp_path, name):
    def put(labels: list[str]) -> Path:
        if name == "t.parquet":
            return write(pa.table({"vector": X.tolist(), "label": labels}), tmp_path / name)
        if name == "t.npz":
            np.savez(tmp_path / name, X=X, y=np.array(labels))
        else:
            np.save(tmp_path / name, X)
            np.save(tmp_path / "t.labels.npy", np.array(labels))
        return tmp_path / name

    found = load(put(["a", "a ", "b", "unlabeled", " ", ""]), tmp_path / "store")
    assert found.classes == ("a", "b")
    assert found.labels.tolist() == [0, 0, 1, -1, -1, -1]
    with pytest.raises(UserError, match='"Unlabeled" for a class, which is nearly "unlabeled"'):
        load(put(["a", "b", "Unlabeled", "", "", ""]), tmp_path / "store")


def test_numbers_that_are_wider_than_torch_has_them(tmp_path):
    np.save(tmp_path / "e.npy", X.astype(np.longdouble))
    assert finite(np.load(tmp_path / "e.npy", mmap_mode="r")).dtype == np.float32
