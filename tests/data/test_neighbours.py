"""Nearest neighbours by cosine: exact ones as if all pairs were compared, approximate ones nearly so."""

import numpy as np
import pytest

from novakind.data import neighbours
from novakind.data.neighbours import approximate, nearest

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


def grouped(groups: int, each: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(groups, 16))
    return (centres.repeat(each, 0) + rng.normal(size=(groups * each, 16)) * 0.5).astype(np.float32)


@pytest.mark.parametrize("cell", [100, 1000])
def test_approximate_ones_are_nearly_those(cell):
    rows = grouped(20, 50)
    found, exact = approximate(rows, 10, cell), nearest(rows, 10)
    assert found.shape == exact.shape
    assert all(number not in row and len(set(row)) == 10 for number, row in enumerate(found))
    shared = [len(set(some) & set(others)) for some, others in zip(found, exact, strict=True)]
    assert np.mean(shared) > (9 if cell < len(rows) else 9.99)
    np.testing.assert_array_equal(approximate(rows, 10, cell), found)  # the same each time


def test_very_many_are_looked_for_in_cells():
    np.testing.assert_array_equal(nearest(ROWS, 10, exact=10), approximate(ROWS, 10))


def test_approximate_ones_among_equals():
    rows = np.repeat(ROWS[:5], 20, axis=0)
    for cell in (2, 20, 1000):  # more cells than different rows: some are empty
        found = approximate(rows, 30, cell)
        assert found.shape == (100, 30)
        assert all(number not in row for number, row in enumerate(found))
