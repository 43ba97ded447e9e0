"""The number of novel classes and the share of known ones, on mixtures whose answer is known."""

import numpy as np
import pytest

from novakind.objective.counting import expected, silhouettes
from novakind.objective.joins import cut, join, spreads
from novakind.objective.mixed import known_ones, send
from novakind.objective.number import estimate
from novakind.objective.space import principal
from novakind.objective.tree import merge_tree


def mixture(classes, known, each=40, mixed=0.0, dim=20, apart=6.0, seed=0):
    """Unit vectors of well separated classes; a share `mixed` of each known class has lost its labels."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(classes, dim)) / np.sqrt(dim) * 1.5
    truth = np.repeat(np.arange(classes), each)
    rows = centres[truth] + rng.normal(size=(len(truth), dim))
    lost = rng.random(len(truth)) < mixed
    labels = np.where((truth < known) & ~lost, truth, -1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels, truth


@pytest.mark.parametrize(("classes", "known", "mixed"), [(8, 4, 0.0), (10, 6, 0.5)])
def test_separate_classes_are_counted_rightly(classes, known, mixed):
    rows, labels, truth = mixture(classes, known, mixed=mixed)
    found = estimate(rows, labels, (1, 100))
    true_share = float((truth[labels < 0] < known).mean())
    assert found.novel == classes - known
    assert found.low <= found.novel <= found.high
    assert found.known_share == pytest.approx(true_share, abs=0.05)
    assert sum(found.shares) == pytest.approx(1, abs=0.001)
    assert len(found.shares) == found.novel


def test_the_same_seed_gives_the_same_estimate_whatever_the_numbers_of_classes():
    rows, labels, _ = mixture(7, 3)
    renamed = np.array([2, 5, 9, -1])[labels]
    assert estimate(rows, labels, (1, 30), seed=3) == estimate(rows, renamed, (1, 30), seed=3)


def test_limits_are_kept():
    rows, labels, _ = mixture(8, 4)
    assert estimate(rows, labels, (6, 9)).novel == 6


def test_what_is_given_is_not_estimated():
    rows, labels, _ = mixture(8, 4, mixed=0.5)
    assert estimate(rows, labels, (1, 40), share=0.4).known_share == 0.4


@pytest.mark.parametrize("known", [0, 1])
def test_without_classes_to_compare_with_it_says_that_it_guesses(known):
    rows, labels, _ = mixture(4 + known, known)
    found = estimate(rows, labels, (1, 20))
    assert found.low <= 4 <= found.high
    assert "nothing shows how fine classes are" in found.doubt


def test_few_items_and_no_structure_are_doubted():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 12))
    labels = np.where(np.arange(200) < 100, np.arange(200) % 4, -1)
    assert estimate(rows, labels, (1, 10)).doubt
    assert "too few" in estimate(rows[90:110], labels[90:110], (1, 1)).doubt
    assert estimate(np.ones((40, 3)), np.repeat([0, 1, -1, -1], 10), (1, 2)).novel == 1


@pytest.mark.parametrize("number", [1, 3, 5, 18, 400])
def test_joins_are_cut_at_any_number_and_the_tree_of_the_rest_agrees(number):
    rows, _, _ = mixture(5, 0, each=30)
    joins = join(rows, 30.0)
    groups = cut(joins, number)
    assert len(np.unique(groups)) == min(number, len(joins.odds) + 1)
    tree = merge_tree(joins, number)
    assert tree.leaves.tolist() == groups.tolist()
    assert tree.sizes == tuple(np.bincount(groups))
    assert len(tree.merges) == len(tree.sizes) - 1
    assert not tree.merges or tree.merges[-1].items == 150
    within = {}  # a coarser cut only joins what a finer one has
    for fine, coarse in zip(groups, cut(joins, max(1, number - 1)), strict=True):
        assert within.setdefault(fine, coarse) == coarse


def test_the_last_joins_are_those_of_classes_and_have_the_least_odds():
    rows, _, truth = mixture(5, 0, each=30)
    joins = join(rows, 30.0)
    found = cut(joins, 5)
    assert len({(group, true) for group, true in zip(found, truth, strict=True)}) == 5
    assert joins.odds[-4:].max() < 0 < joins.odds[:-4].min()


def test_spreads_are_mean_squares_of_distances_to_the_means_of_groups():
    rows, _, _ = mixture(4, 0, each=20)
    joins = join(rows, 20.0)
    found = spreads(rows, joins)
    assert len(found) == len(joins.odds) + 1
    for number in (1, 2, 4, len(found)):
        groups = cut(joins, number)
        means = np.stack([rows[groups == one].mean(0) for one in range(number)])
        assert found[number - 1] == pytest.approx(np.square(rows - means[groups]).sum(1).mean())


def test_silhouettes_are_those_of_scikit_learn():
    from sklearn.metrics import silhouette_score

    rows, _, truth = mixture(4, 0, each=20)
    coarse, lonely = truth // 2, np.where(np.arange(80) == 7, 9, truth)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = [silhouette_score(unit, groups) for groups in (truth, coarse, lonely)]
    assert silhouettes(rows, [truth, coarse, lonely, 0 * truth]) == pytest.approx([*expected, 0.0])


def near_known(mixed):
    """Two novel clouds overlap a known class; of the items of known classes some have lost their labels."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 0], [0, 9], [4, 0], [0, 13]])
    truth = np.repeat(np.arange(5), 80)
    rows = np.hstack([centres[truth] + rng.normal(size=(400, 2)), rng.normal(size=(400, 4))])
    return rows, np.where((truth < 3) & (rng.random(400) >= mixed), truth, -1), truth


@pytest.mark.parametrize("mixed", [0.0, 0.5])
def test_spies_tell_how_many_are_known_also_where_novel_classes_are_like_known_ones(mixed):
    rows, labels, truth = near_known(mixed)
    free = labels < 0
    spies = send(principal(rows), labels, 8, np.random.default_rng(0))
    true_share = (truth[free] < 3).mean()
    assert spies.share == pytest.approx(true_share, abs=0.12)
    inside = known_ones(spies)
    assert inside.mean() == pytest.approx(true_share, abs=0.15)
    assert (truth[free][inside] < 3).mean() > 0.75 if mixed else not inside.any()
    assert not known_ones(spies, mixed=False).any()
    assert known_ones(spies, share=0.25).mean() == pytest.approx(0.25, abs=0.01)


def test_too_few_labeled_items_send_no_spies():
    rows, labels, truth = near_known(0.0)
    labels = np.where((truth < 3) & (np.arange(400) % 80 < 2), truth, -1)
    spies = send(principal(rows), labels, 4, np.random.default_rng(0))
    assert spies.share == 0.0
    assert not known_ones(spies).any()
    assert 0.2 < known_ones(spies, mixed=True).mean() < 0.4


def test_the_number_is_the_mean_of_those_that_may_be_right():
    assert expected({3: 0.6, 4: 0.1, 9: 0.3}) == 5
    assert expected({2: 0.2}) == 2
