"""The metric that known classes teach: what varies within them counts less, for novel classes too."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from novakind.methods.metric import learn_metric, round_share, tells_apart, within_known
from novakind.objective.centres import unit
from novakind.objective.metrics import clustering_acc


def streaks(classes: int = 8, each: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Classes differ along the first eight axes; within all of them items vary far more along the others."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(classes), each)
    rows = rng.normal(size=(len(truth), 16)) * np.repeat([0.3, 3.0], 8)
    rows[:, :8] += rng.normal(size=(classes, 8))[truth]
    return rows.astype(np.float32), truth


def test_novel_classes_are_found_by_what_known_ones_differ_in():
    rows, truth = streaks()
    labels, novel = np.where(truth < 4, truth, -1), truth >= 4
    metric = learn_metric(rows, labels, 16, 0, 4)
    found = [KMeans(4, n_init=5, random_state=0).fit_predict(seen[novel]) for seen in (unit(rows), unit(metric(rows)))]
    before, after = (clustering_acc(truth[novel] - 4, clusters.astype(np.int64)) for clusters in found)
    assert before < 0.7
    assert after > 0.9


def test_axes_that_tell_classes_apart_come_first():
    rows, truth = streaks()
    metric = within_known(rows, truth, 8)
    assert metric is not None
    weight = np.square(metric.axes).sum(0)
    assert weight[:8].sum() > 20 * weight[8:].sum()
    assert np.linalg.norm(metric.axes) == pytest.approx(np.sqrt(8))


def clouds(classes: int = 6, each: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Round ones: nothing can be learnt from known ones about the others."""
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(classes), each)
    return (0.9 * rng.normal(size=(classes, 12))[truth] + rng.normal(size=(len(truth), 12))).astype(np.float32), truth


@pytest.mark.parametrize(("draw", "novel", "wanted"), [(streaks, 4, True), (clouds, 3, False)])
def test_it_is_taken_only_where_held_out_items_are_told_apart_better(draw, novel, wanted):
    rows, truth = draw()
    rows, labels = unit(rows), np.where(truth < truth.max() + 1 - novel, truth, -1)
    dim = rows.shape[1]
    assert tells_apart(rows, labels, dim, novel, np.random.default_rng(0)) == wanted
    np.testing.assert_array_equal(np.array_equal(learn_metric(rows, labels, dim, 0, novel)(rows), rows), not wanted)


def test_the_fewer_items_teach_it_the_rounder_it_is():
    assert round_share(512, 100) > 0.9
    assert 0.75 < round_share(512, 250) < 0.85
    assert round_share(512, 1024) == round_share(512, 5000) == round_share(32, 250) == 0.5


@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_few_known_classes_or_items_are_enough_for_an_answer(known):
    rows, truth = streaks(each=4)
    metric = learn_metric(unit(rows), np.where(truth < known, truth, -1), 8, 0, 8 - known)
    assert metric.axes.shape == (8, 16)
    assert np.isfinite(metric(rows)).all()


def test_items_that_are_all_alike_are_left_as_they_are():
    rows = np.ones((40, 5), np.float32)
    metric = learn_metric(rows, np.arange(40) % 4 - 1, 5, 0, 2)
    np.testing.assert_array_equal(metric(rows), rows)
