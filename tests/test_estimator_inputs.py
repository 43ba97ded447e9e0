"""What Discoverer takes for X and y, and what it refuses in a sentence."""

import io
import pickle

import joblib
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone

from novakind import Discoverer
from novakind.errors import UserError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)


def quick(**arguments) -> Discoverer:
    """Learns nothing, in no time."""
    return Discoverer(**{"n_novel": 2, "epochs": 1, "random_state": 0, "settings": {"batch": 20}} | arguments)


@pytest.fixture(scope="module")
def fitted() -> Discoverer:
    return quick().fit(X, Y)


def through_joblib(found: Discoverer) -> Discoverer:
    joblib.dump(found, file := io.BytesIO())
    file.seek(0)
    return joblib.load(file)


def with_value(value: object, dtype: type = object) -> np.ndarray:
    changed = X.astype(dtype)
    changed[3, 1] = value
    return changed


REFUSED = [
    (X + 0j, "Complex data not supported: X is of type complex128"),
    (X.astype("datetime64[s]"), r"X of type datetime64\[s\] is not numeric"),
    (X.astype(str), "X of type <U32 is not numeric"),
    (with_value("1.5"), "X of type object holds '1.5' of type str, but features must be numbers"),
    (with_value(None), "X of type object holds None of type NoneType"),
    (with_value({"foo": "bar"}), "X of type object holds {'foo': 'bar'} of type dict"),
    (sparse.csr_array(X), r"X is sparse, but novakind takes dense arrays only: give X.toarray\(\)"),
    (sparse.csc_matrix(X), "X is sparse"),
    (X[:, 0], r"X of shape \(60,\) has no columns: Reshape your data"),
    (X[:0], "X holds no item"),
    (X[:, :0], r"X has 0 feature\(s\) \(shape=\(60, 0\)\) while a minimum of 1 is required"),
    (
        with_value(np.nan, float),
        r"X holds 1 values that are not finite numbers, the first in row 3, column 1: .* NaN",
    ),
    (with_value(-np.inf, float), "X holds 1 values that are not finite"),
    (np.ma.MaskedArray(X, mask=X > 2), "X holds . values that are not finite"),
    ([[1.0, 2.0], [3.0]], "X cannot be made an array .*: give rows of equal length"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[message[:20] for _, message in REFUSED])
def test_refused(fitted, given, message):
    rows = given.shape[0] if hasattr(given, "shape") else len(given)
    with pytest.raises(UserError, match=f"^{message}") as error:
        quick().fit(given, Y[:rows])
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=f"^{message}"):
        fitted.predict(given)


def test_one_item_is_too_few():
    with pytest.raises(UserError, match="X holds one item"):
        quick().fit(X[:1], Y[:1])


def test_taken(fitted):
    expected = fitted.predict_proba(X)
    for given in (X.tolist(), np.asfortranarray(X), X.astype(object), np.ma.MaskedArray(X)):
        assert np.array_equal(fitted.predict_proba(given), expected)
    assert np.array_equal(quick().fit(X.tolist(), Y.tolist()).predict_proba(X), expected)
    assert quick().fit(X > 0, Y).predict(X > 0).shape == (60,)
    assert quick().fit(X[:, :1], Y).n_features_in_ == 1


@pytest.mark.parametrize(
    ("known", "dtype", "classes"),
    [
        ([4, 9], np.int64, [4, 9, 10, 11]),
        ([4, 9], np.int32, [4, 9, 10, 11]),
        ([-7, -3], np.int16, [-7, -3, 0, 1]),
        ([1, 127], np.int8, [1, 127, 128, 129]),
        ([1.5, 2.0], np.float64, [1.5, 2.0, 3.0, 4.0]),
        ([-2.5, -1.5], np.float64, [-2.5, -1.5, 0.0, 1.0]),
        ([0.1, 7.0], np.float32, np.float32([0.1, 7, 8, 9]).tolist()),
        ([1.0, 2048.0], np.float16, [1.0, 2048.0, 2049.0, 2050.0]),
        ([1234567.0, 1234568.0], np.float64, [1234567.0, 1234568.0, 1234569.0, 1234570.0]),
        ([1.0, 2.0**53], np.float64, [1.0, 2.0**53, "new-1", "new-2"]),
        (["a", "bee"], np.str_, ["a", "bee", "new-1", "new-2"]),
        (["1", "2"], np.str_, ["1", "2", "new-1", "new-2"]),
        ([7, "new-1"], object, [7, "new-1", "new-2", "new-3"]),
        ([False, True], object, [0, 1, 2, 3]),
    ],
    ids=str,
)
def test_classes_are_as_given_and_survive_the_file(tmp_path, known, dtype, classes):
    missing = "" if dtype is np.str_ else -1
    y = np.array([known[label] if label >= 0 else missing for label in Y.tolist()], dtype=dtype)
    found = quick().fit(X, y)
    assert found.classes_.tolist() == classes
    if dtype not in (object, np.str_, np.int8, np.float16) and "new-1" not in classes:
        assert found.classes_.dtype == dtype
    assert np.isin(y[Y >= 0], found.classes_).all()
    found.save(tmp_path / "model.safetensors")
    loaded = Discoverer.load(tmp_path / "model.safetensors")
    assert loaded.classes_.dtype == found.classes_.dtype
    assert loaded.classes_.tolist() == found.classes_.tolist()
    assert np.array_equal(loaded.predict(X), found.labels_)


def test_truth_values_are_classes_beside_masked_labels():
    y = np.ma.MaskedArray(Y == 1, mask=Y < 0)
    assert quick().fit(X, y).classes_.tolist() == [0, 1, 2, 3]


def test_names_of_columns_survive_the_file(tmp_path, fitted):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    found = quick().fit(frame, pandas.Series(Y, dtype="Int64").replace(-1, pandas.NA))
    assert np.array_equal(found.predict_proba(frame), fitted.predict_proba(X))
    found.save(tmp_path / "model.safetensors")
    loaded = Discoverer.load(tmp_path / "model.safetensors")
    assert loaded.feature_names_in_.tolist() == found.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(UserError, match="Feature names must be in the same order"):
        loaded.predict(frame[["b", "a", "c", "d"]])
    embedded = loaded.set_output(transform="pandas").transform(frame)
    assert embedded.columns[:2].tolist() == ["discoverer0", "discoverer1"]
    assert not hasattr(found.fit(X, Y), "feature_names_in_")


def test_pictures_have_no_columns(tmp_path):
    pictures = RNG.integers(0, 255, (60, 8, 8), dtype=np.uint8)
    found = quick().fit(pictures, Y)
    assert found.n_features_in_ == 3 * 8 * 8
    with pytest.raises(UserError, match="X has 4 features, but Discoverer is expecting 192 features"):
        found.predict(X)
    with pytest.raises(UserError, match=r"X holds vectors of shape \(192,\), but the model was trained on pic"):
        found.predict(np.zeros((2, 192)))


@pytest.mark.parametrize(
    "copy", [lambda found: pickle.loads(pickle.dumps(found)), through_joblib], ids=["pickle", "joblib"]
)
def test_a_fitted_one_can_be_pickled(fitted, copy):
    copied = copy(fitted)
    assert np.array_equal(copied.predict_proba(X), fitted.predict_proba(X))
    assert copied.classes_.tolist() == fitted.classes_.tolist()


def test_a_clone_has_an_encoder_of_its_own():
    encoder = torch.nn.Linear(4, 6)
    first = quick(encoder=encoder)
    second = clone(first)
    assert second.encoder is not encoder
    assert torch.equal(second.encoder.weight, encoder.weight)
    assert np.array_equal(first.fit(X, Y).predict_proba(X), second.fit(X, Y).predict_proba(X))
    pickle.loads(pickle.dumps(clone(second.fit(X, Y)))).fit(X, Y)


def test_numbers_of_numpy_are_settings_like_others(tmp_path):
    chosen = {"batch": np.int64(20), "dim": np.int64(16), "tau": np.float32(0.1), "views.mix": np.float64(0.1)}
    found = quick(settings=chosen).fit(X, Y)
    found.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(Discoverer.load(tmp_path / "model.safetensors").predict(X), found.labels_)
