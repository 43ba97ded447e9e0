"""What Discoverer takes for X and y, and what it refuses in a sentence."""

import numpy as np
import pytest
from scipy import sparse

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
