"""Nearest neighbours by cosine: exact ones as if all pairs were compared, approximate ones nearly so."""

import sys

import numpy as np
import pytest

from novakind.data import neighbours
from novakind.data.neighbours import nearest
from novakind.errors import UserError

ROWS = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32) * 7


def brute(rows: np.ndarray, count: int) -> np.ndarray:
    """Every pair, one after another."""
    found = []
    for number, row in enumerate(rows):
        cosine = [row @ other / np.linalg.norm(row) / np.linalg.norm(other) for other in rows]
        cosine[number] = -2
        found.append(np.argsort(cosine)[::-1][:count])
    return np.array(found)


@pytest.mark.parametrize("block", [1, 1000, 2**25])
def test_exact_ones_are_those_of_all_pairs(monkeypatch, block):
    monkeypatch.setattr(neighbours, "BLOCK", block)
    np.testing.assert_array_equal(nearest(ROWS, 10), brute(ROWS, 10))


def test_all_others_where_as_many_are_wanted():
    found = nearest(ROWS[:5], 4)
    assert [sorted([number, *row]) for number, row in enumerate(found)] == [list(range(5))] * 5


def test_nobody_is_a_neighbour_of_himself_even_among_equals():
    found = nearest(np.ones((6, 3), np.float32), 5)
    assert all(number not in row and len(set(row)) == 5 for number, row in enumerate(found))


def test_approximate_ones_are_nearly_those():
    pytest.importorskip("usearch")
    found, exact = nearest(ROWS, 10, exact=10), nearest(ROWS, 10)
    assert found.shape == exact.shape
    assert all(number not in row for number, row in enumerate(found))
    shared = [len(set(some) & set(others)) for some, others in zip(found, exact, strict=True)]
    assert np.mean(shared) > 9
    np.testing.assert_array_equal(nearest(ROWS, 10, exact=10), found)  # the same each time


def test_approximate_ones_among_equals():
    pytest.importorskip("usearch")
    rows = np.repeat(ROWS[:5], 20, axis=0)
    found = nearest(rows, 3, exact=10)
    assert found.shape == (100, 3)
    assert all(number not in row for number, row in enumerate(found))


def test_too_many_without_the_library_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(UserError) as caught:
        nearest(ROWS, 10, exact=10)
    assert str(caught.value) == (
        "300 unlabeled items are too many to compare all pairs of them: pip install 'novakind[large]', or give "
        "--views.neighbours 0"
    )
