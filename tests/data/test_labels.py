"""What counts as a class, what as unlabeled, and how classes are named."""

import math

import numpy as np
import pytest

from novakind.data.collection import encode_labels
from novakind.errors import UserError


@pytest.mark.parametrize(
    ("y", "numbers", "classes"),
    [
        (np.array([10, -1, 2, 10]), [1, -1, 0, 1], ("2", "10")),  # numbers in their own order, not the alphabet's
        (np.array([1.0, np.nan, -1.0, 2.0]), [0, -1, -1, 1], ("1", "2")),
        (np.array(["b", "", "a", "b"]), [1, -1, 0, 1], ("a", "b")),
        (np.array(["b", None, np.nan, -1, ""], dtype=object), [0, -1, -1, -1, -1], ("b",)),
        (np.array([3, "x", None, 1], dtype=object), [1, 2, -1, 0], ("1", "3", "x")),
        (np.array([True, False]), [1, 0], ("False", "True")),
        (np.array([True, False], dtype=object), [1, 0], ("False", "True")),
        (np.array([-1, -1]), [-1, -1], ()),
        (np.array([-1, -3, 4, -3], dtype=np.int8), [-1, 0, 1, 0], ("-3", "4")),
        (np.array([0, 255], dtype=np.uint8), [0, 1], ("0", "255")),
        (np.array([1234567.0, 1234568.0, -1.0]), [0, 1, -1], ("1234567", "1234568")),
        (np.array([0.1 + 0.2, 0.3, 1e22]), [1, 0, 2], ("0.3", "0.30000000000000004", "1e+22")),
        (np.array([0.1, 2.0, np.nan], dtype=np.float32), [0, 1, -1], ("0.1", "2")),
        (np.array(["cat", "dog", -1]), [0, 1, -1], ("cat", "dog")),  # numpy turns -1 into "-1"
        (["cat", -1, None, math.nan, "dog"], [0, -1, -1, -1, 1], ("cat", "dog")),
        ([np.int64(5), np.float32(-1), np.float64(2.5)], [1, -1, 0], ("2.5", "5")),
        (np.ma.MaskedArray([4, 5, 6], mask=[False, True, False]), [0, -1, 1], ("4", "6")),
        (np.ma.MaskedArray(["a", "b"], mask=[True, False]), [-1, 0], ("b",)),
        (np.array(["a", np.ma.masked, np.datetime64("NaT")], dtype=object), [0, -1, -1], ("a",)),
    ],
)
def test_labels_of_every_kind(y, numbers, classes):
    encoded, names = encode_labels(y)
    assert encoded.tolist() == numbers
    assert names == classes


def test_labels_from_pandas():
    pandas = pytest.importorskip("pandas")
    for series, numbers, classes in (
        (pandas.Series([3, None, 1], dtype="Int64"), [1, -1, 0], ("1", "3")),
        (pandas.Series(["a", None, "b"], dtype="string"), [0, -1, 1], ("a", "b")),
        (pandas.Series(["a", None, "b"], dtype="category"), [0, -1, 1], ("a", "b")),
        (pandas.Series(["a", pandas.NA, pandas.NaT], dtype=object), [0, -1, -1], ("a",)),
        (pandas.Series([True, None, False], dtype="boolean"), [1, -1, 0], ("False", "True")),
    ):
        encoded, names = encode_labels(series)
        assert (encoded.tolist(), names) == (numbers, classes)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([1, "1"], dtype=object), "y holds two classes that are both written 1, .*: use one of them"),
        (np.array([1j, 2]), "y of type complex128 holds no classes: give strings"),
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), r"y of type datetime64\[ns\] holds no classes"),
        (np.array([b"cat"]), r"y of type \|S3 holds no classes"),
        (np.array([1.0, np.inf]), "y contains infinity, which is no class"),
        ([1.0, -math.inf], "y holds -inf, which is no class"),
        (["a", b"b"], "y holds b'b', which is no class"),
        ([{"a": 1}, "b"], "y holds {'a': 1}, which is no class"),
    ],
)
def test_what_is_no_class(y, message):
    with pytest.raises(UserError, match=f"^{message}"):
        encode_labels(y)
