"""Clusters from the bottom up: as scipy's, with known classes that stay apart."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from novakind.objective.metrics import clustering_acc
from novakind.objective.ward import join, small_clusters, ward


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_it_ends_where_scipy_ends(count):
    rows = np.random.default_rng(count).normal(size=(80, 4))
    members = fcluster(linkage(rows, "ward"), count, "maxclust")
    wanted = np.stack([rows[members == number].mean(0) for number in np.unique(members)])
    found = join(rows, np.ones(80), count)
    np.testing.assert_allclose(found[np.lexsort(found.T)], wanted[np.lexsort(wanted.T)])


def test_sizes_weigh():
    places, sizes = np.array([[0.0], [1.0], [5.0], [6.5]]), np.array([5.0, 1.0, 2.0, 2.0])
    np.testing.assert_allclose(join(places, sizes, 2), [[1 / 6], [5.75]])


def test_known_classes_never_join_each_other():
    known = np.array([[0.0, 0.0], [0.1, 0.0]])
    free = np.concatenate([np.full((10, 2), 0.05), np.full((10, 2), 9.0)])
    found = ward(free, 1, 0, known, np.array([3.0, 3.0]))
    assert len(found) == 3
    assert np.abs(found[:2]).max() < 0.2  # they have taken in what lies at them
    np.testing.assert_allclose(found[2], [9, 9])


def test_small_clusters_stand_for_many_items(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.integers(6, size=3000)
    rows = (8 * np.eye(6)[truth] + rng.normal(size=(3000, 6))).astype(np.float32)
    monkeypatch.setattr("novakind.objective.ward.SMALL", 100)
    centres, sizes = small_clusters(rows, 100, 0)
    assert len(centres) <= 100
    assert sizes.sum() == 3000
    found = ward(rows, 6, 0)
    nearest = ((rows[:, None] - found) ** 2).sum(2).argmin(1)
    assert clustering_acc(truth, nearest) > 0.99
    monkeypatch.setattr("novakind.objective.ward.SOME", 500)
    assert small_clusters(rows, 100, 0)[1].sum() == 500
