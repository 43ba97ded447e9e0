"""Collections from folders, manifests and arrays."""

import io
import math
import os
import re
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from small import paint

from novakind.data.collection import Collection, from_arrays
from novakind.data.files import load
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.modality.image import Image, ImageReading


def tones(collection: Collection) -> dict[str, int]:
    return {path: int(item[0, 0, 0]) for path, item in zip(collection.paths, collection.items, strict=True)}


def labels(collection: Collection) -> dict[str, str | None]:
    return {
        path: collection.classes[label] if label >= 0 else None
        for path, label in zip(collection.paths, collection.labels.tolist(), strict=True)
    }


# Folders


def test_a_folder_tree(tmp_path):
    root = tmp_path / "animals"
    inside = ["dog/a.png", "cat/a.png", "cat/indoors/sofa/b.PNG", "unlabeled/x.png", "unlabeled/more/y.png"]
    for number, name in enumerate(inside):
        paint(root / name, 10 * number)
    for name in ("loose.png", "cat/.hidden.png", ".git/z.png", "unlabeled/.cache/w.png"):
        paint(root / name, 255)
    (root / "empty class").mkdir()
    (root / "dog" / "notes.txt").write_text("no picture")
    seen: list[tuple[int, int]] = []
    collection = load(root, tmp_path / "store", watch=lambda done, total: seen.append((done, total)))
    assert tones(collection) == {name: 10 * number for number, name in enumerate(inside)}
    assert labels(collection) == {
        "dog/a.png": "dog",
        "cat/a.png": "cat",
        "cat/indoors/sofa/b.PNG": "cat",
        "unlabeled/x.png": None,
        "unlabeled/more/y.png": None,
    }
    assert collection.classes == collection.truth_classes == ("cat", "dog")
    assert collection.skipped == (("dog/notes.txt", "not an image"), ("loose.png", "not in the folder of a class"))
    assert (collection.name, collection.modality.shape) == ("animals", (3, 8, 8))
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)
    assert collection.digest() == load(root, tmp_path / "elsewhere").digest()


ODD = ["two words", "naïve", "狐", "🦊", "it's", 'say "hi"', "a,b;c", "line\nbreak", "tab\t", "-rf", "$(x)", "x."]


@pytest.mark.parametrize("odd", [*ODD, pytest.param(os.fsdecode(b"caf\xe9"), id="not UTF-8")])
def test_odd_names_of_classes_and_files(tmp_path, odd):
    names = [f"{odd}/{odd}.png", f"{odd}/{odd}", f"unlabeled/{odd}/{odd}.png"]
    try:
        for number, name in enumerate(names):
            paint(tmp_path / "data" / name, 100 + number)
    except (OSError, UnicodeEncodeError):
        pytest.skip("the file system takes no such name")
    first, again = (load(tmp_path / "data", tmp_path / "store") for _ in range(2))
    assert tones(first) == {name: 100 + number for number, name in enumerate(names)}
    assert first.classes == (odd,)
    assert labels(first)[names[2]] is None
    assert first.digest() == again.digest()
    assert first.skipped == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: root.mkdir(), "holds no file in a sub-folder: put known items into one folder for each class"),
        (lambda root: paint(root / "loose.png", 1), "holds no file in a sub-folder"),
        (lambda root: None, "does not exist: give a folder, a .csv or .parquet manifest, or an .npz file"),
        (lambda root: root.write_text("x"), "is neither a folder, a .csv or .parquet manifest nor an .npz file"),
    ],
)
def test_no_data_in_one_sentence(tmp_path, make, message):
    make(tmp_path / "data")
    with pytest.raises(UserError, match=message):
        load(tmp_path / "data", tmp_path / "store")


def test_nothing_readable(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "x.jpg").write_bytes(b"")
    with pytest.raises(UserError, match=r"none of the 2 files in .* \(the first, a/x.jpg: empty file\): give pictures"):
        load(tmp_path / "data", tmp_path / "store")


@pytest.mark.parametrize(("sides", "size", "expected"), [([20], 0, 20), ([4], 0, 8), ([300], 0, 64), ([20], 33, 33)])
def test_the_size_is_chosen_from_the_pictures(tmp_path, sides, size, expected):
    for side in sides:
        paint(tmp_path / "data" / "a" / f"{side}.png", 7, side)
    (tmp_path / "data" / "a" / "broken.png").write_bytes(b"x")
    assert load(tmp_path / "data", tmp_path / "store", ImageReading(size)).modality.shape == (3, expected, expected)


# Manifests


def manifest(root: Path, content: bytes) -> Collection:
    for number, name in enumerate(("a.png", "b.png", "ü ,x.png")):
        paint(root / "pictures" / name, 10 * (number + 1))
    (root / "list.csv").write_bytes(content)
    return load(root / "list.csv", root / "store")


@pytest.mark.parametrize(
    "content",
    [
        'path,label\npictures/a.png,cat\npictures/b.png,\n"pictures/ü ,x.png",dog\n',
        '\ufeffpath,label\r\npictures/a.png, cat \r\n\r\npictures/b.png,\r\n"pictures/ü ,x.png",dog\r\n',
        'label,note,path\ncat,1,pictures/a.png\n,2,pictures/b.png\ndog,3,"pictures/ü ,x.png"',
    ],
    ids=["plain", "BOM, CRLF, blank line and spaces", "other order and columns"],
)
def test_a_manifest(tmp_path, content):
    collection = manifest(tmp_path, content.encode())
    assert labels(collection) == {"pictures/a.png": "cat", "pictures/b.png": None, "pictures/ü ,x.png": "dog"}
    assert list(tones(collection).values()) == [10, 20, 30]
    assert collection.name == "list"


def test_a_manifest_may_name_missing_files_and_leave_labels_out(tmp_path):
    long, folder = "x" * 5000, "pictures"
    rows = f"path,label\npictures/b.png\nnone.png,cat\npictures/a.png,cat\n,cat\n{long},cat\n{folder},dog\n"
    collection = manifest(tmp_path, rows.encode())
    assert labels(collection) == {"pictures/b.png": None, "pictures/a.png": "cat"}
    missing, other = "no such file", "a folder, not a file"
    assert collection.skipped == (("none.png", missing), ("", other), (long, missing), (folder, other))
    assert collection.classes == ("cat",)  # a class whose every file is missing is none


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no row"),
        (b"path,label\n", "holds no row: give the columns path and label, and one row per item"),
        (b"file,label\na.png,cat\n", 'has no column "path" among those it has .file, label.: it needs path and label'),
        (b"path;label\na.png;cat\n", 'has no column "path"'),
        (b"path,class\na.png,cat\n", 'has no column "label"'),
        ("path,label\nä.png,cat\n".encode("latin-1"), "cannot be read as UTF-8 CSV .*: save it as CSV with UTF-8"),
        ("path,label\na.png,cat\n".encode("utf-16"), "cannot be read as UTF-8 CSV"),
        (b'path,label\n"' + b"x" * 200_000, "cannot be read as UTF-8 CSV"),
    ],
)
def test_a_broken_manifest_in_one_sentence(tmp_path, content, message):
    with pytest.raises(UserError, match=message):
        manifest(tmp_path, content)


@pytest.mark.parametrize(
    ("given", "classes"),
    [
        (["cat", None, "dog"], ("cat", "dog")),
        ([1.0, math.nan, 3.0], ("1", "3")),  # as pandas writes whole numbers with a gap
        (pyarrow.array(["cat", "", "dog"]).dictionary_encode(), ("cat", "dog")),
    ],
    ids=["text", "numbers", "categories"],
)
def test_a_parquet_manifest(tmp_path, given, classes):
    for name, tone in (("a.png", 10), ("b.png", 20), ("c.png", 30)):
        paint(tmp_path / name, tone)
    file = tmp_path / "list.parquet"
    parquet.write_table(pyarrow.table({"note": [1, 2, 3], "label": given, "path": ["a.png", "b.png", "c.png"]}), file)
    collection = load(file, tmp_path / "store")
    assert labels(collection) == {"a.png": classes[0], "b.png": None, "c.png": classes[1]}
    assert list(tones(collection).values()) == [10, 20, 30]


def test_a_broken_parquet_manifest_in_one_sentence(tmp_path, monkeypatch):
    file = tmp_path / "list.parquet"
    for columns, message in (
        ({"file": ["a.png"], "note": [1]}, r'no column "path" among those it has \(file, note\)'),
        ({"path": ["a.png"], "note": [1]}, r'no column "label" among those it has \(path, note\)'),
        ({"path": [], "label": []}, "holds no row"),
    ):
        parquet.write_table(pyarrow.table(columns), file)
        with pytest.raises(UserError, match=message):
            load(file, tmp_path / "store")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(UserError, match="is no Parquet file, or damaged"):
        load(file, tmp_path / "store")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=re.escape("pip install 'novakind[parquet]', or save it as CSV")):
        load(file, tmp_path / "store")


# Arrays


def test_feature_vectors_from_npz(tmp_path):
    X = np.random.default_rng(0).normal(size=(6, 3))
    np.savez(tmp_path / "vectors.npz", X=X, y=[2, -1, 7, 2, -1, 7])
    collection = load(tmp_path / "vectors.npz", tmp_path / "store")
    np.testing.assert_array_equal(collection.items, X.astype(np.float32))
    assert collection.labels.tolist() == [0, -1, 1, 0, -1, 1]
    assert (collection.classes, collection.name, len(collection)) == (("2", "7"), "vectors", 6)
    assert isinstance(collection.modality, Features)


@pytest.mark.parametrize("shape", [(5, 9, 9), (5, 9, 9, 1), (5, 9, 9, 3)])
def test_pictures_from_npz(tmp_path, shape):
    X = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    np.savez(tmp_path / "pictures.npz", X=X, y=["a", "", "b", "a", ""])
    collection = load(tmp_path / "pictures.npz", tmp_path / "store")
    assert isinstance(collection.modality, Image)
    assert collection.items.shape == (5, 3, 9, 9)
    planes = X.reshape(5, 9, 9, -1)
    for channel in range(3):
        np.testing.assert_array_equal(collection.items[:, channel], planes[..., channel % planes.shape[-1]])
    np.testing.assert_allclose(collection.modality.mean, collection.items.mean((0, 2, 3)) / 255, atol=1e-4)


def damaged(file: Path) -> None:
    np.savez(file, X=np.zeros((500, 4)), y=np.zeros(500))
    file.write_bytes(file.read_bytes()[:-900])


def boastful(file: Path) -> None:
    """Its header says that it is 8 TB."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (6, 2**37)})
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("X.npy", "y.npy"):
            archive.writestr(name, buffer.getvalue() + bytes(1000))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (boastful, "is no .npz file of plain arrays, or damaged"),
        (lambda file: np.savez(file, y=[1]), "has no array X: write it with numpy.savez"),
        (lambda file: np.savez(file, X=np.eye(3)), "has no array y: write it .*, y = -1 for unlabeled"),
        (lambda file: np.savez(file, X=np.eye(2), y=np.array(["a", None], object)), "is no .npz file of plain arrays"),
        (lambda file: np.savez(file, X=np.eye(3), y=[1, 2]), "X has 3 items and y has 2"),
        (lambda file: np.savez(file, X=np.zeros((0, 3)), y=[]), "X holds no item"),
        (lambda file: np.savez(file, X=1.0, y=[1]), r"X of shape \(\) and y of shape \(1,\) do not fit"),
        (lambda file: np.savez(file, X=np.eye(3), y=np.eye(3)), r"y of shape \(3, 3\) do not fit"),
        (lambda file: np.savez(file, X=np.zeros((3, 0)), y=[0, 1, -1]), r"X has 0 feature\(s\) \(shape=\(3, 0\)\)"),
        (lambda file: np.savez(file, X=np.zeros((3, 8, 6), np.uint8), y=[0, 1, -1]), "neither square uint8 pictures"),
        (lambda file: np.savez(file, X=np.zeros((3, 8, 8)), y=[0, 1, -1]), "type float64 is neither"),
        (lambda file: np.savez(file, X=np.array([["a", "b"], ["c", "d"]]), y=[0, -1]), "is not numeric"),
        (damaged, "is no .npz file of plain arrays, or damaged"),
        (lambda file: file.write_bytes(b""), "is no .npz file of plain arrays, or damaged"),
        (lambda file: file.write_text("X,y\n1,2\n"), "is no .npz file of plain arrays, or damaged"),
        (lambda file: file.write_bytes(os.urandom(99)), "is no .npz file of plain arrays, or damaged"),
    ],
)
def test_a_broken_npz_in_one_sentence(tmp_path, write, message):
    write(tmp_path / "data.npz")
    with pytest.raises(UserError, match=message):
        load(tmp_path / "data.npz", tmp_path / "store")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_values_that_are_not_finite_are_named_by_place(value):
    X = np.zeros((5, 4))
    X[3, 1] = X[4, 0] = value
    with pytest.raises(UserError, match=r"X holds 2 values that are not finite .* row 3, column 1: remove or fill"):
        from_arrays(X, np.array([0, 1, -1, -1, -1]))


def test_the_digest_changes_with_all_that_training_depends_on():
    rng = np.random.default_rng(0)
    plain = from_arrays(rng.normal(size=(50, 3)), rng.integers(-1, 3, 50))
    items, moved = plain.items.copy(), plain.labels.copy()
    items[49, 2] += 1
    moved[7] = 0 if moved[7] else 1
    others = [
        replace(plain, items=items),
        replace(plain, labels=moved),
        replace(plain, paths=("first", *plain.paths[1:])),
        replace(plain, classes=("x", *plain.classes[1:])),
        replace(plain, modality=Features((0.0,) * 3, (1.0,) * 3)),
    ]
    assert len({collection.digest() for collection in (plain, *others)}) == 6
    unchanged = replace(plain, truth=np.zeros(50, int), name="renamed")  # neither is trained on
    assert unchanged.digest() == plain.digest()
