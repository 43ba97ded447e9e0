"""The number of novel classes and the share of known ones, on mixtures whose answer is known."""

import itertools

import numpy as np
import pytest

from novakind.objective.links import cuts, splits
from novakind.objective.merging import gathered, merge, principal, whiten
from novakind.objective.mixed import core, held_out, known_ones, recognised
from novakind.objective.number import estimate
from novakind.objective.tree import Merge, cut


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
    assert found.known_share == pytest.approx(true_share, abs=0.03)
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


def test_known_classes_never_merge_with_each_other_and_merges_are_nested():
    rows, labels, truth = mixture(6, 3)
    space = whiten(principal(rows), labels)
    places = merge(gathered(space.rows, truth, 3), space.spread, [0.1, 1.0, 1e3, 1e6])
    assert all(place[:3].tolist() == [0, 1, 2] for place in places)
    for finer, coarser in itertools.pairwise(places):
        assert len({(a, b) for a, b in zip(finer, coarser, strict=True)}) == len(set(finer))


def test_a_tree_is_cut_at_any_number():
    tree = (Merge(0, 1, 1.0, 5), Merge(4, 2, 2.0, 8), Merge(5, 3, 3.0, 9))
    assert cut(4, tree, 4).tolist() == [0, 1, 2, 3]
    assert len(set(cut(4, tree, 2).tolist())) == 2
    assert set(cut(4, tree, 1).tolist()) == {0}


def test_few_links_cross_between_classes_and_a_milder_demand_never_finds_fewer():
    rows, _, truth = mixture(5, 0, each=30)
    tree = splits(rows)
    found = cuts(tree, np.array([12.0, 0.0, -12.0]))
    assert [int(groups.max()) + 1 for groups in found][:2] == [1, 5]
    assert len({(group, true) for group, true in zip(found[1], truth, strict=True)}) == 5
    assert found[2].max() > 4
    assert np.isneginf(tree.evidence[:20]).all()  # a side with a single item is no class


def test_novel_classes_like_known_ones_are_not_all_taken_for_known():
    """Two clouds that overlap a known class by half: clusters of them merge into it, its core says how many may."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 0], [0, 9], [1.6, 0], [0, 10.6]])
    truth = np.repeat(np.arange(5), 80)
    rows = np.hstack([centres[truth] + rng.normal(size=(400, 2)), rng.normal(size=(400, 4))])
    labels = np.where(truth < 3, truth, -1)
    space = whiten(rows, labels)
    spies = held_out(space.rows, labels, rng)
    filled = core(space.rows, labels, spies)
    assert recognised(space, labels).all()
    assert known_ones(space, labels, spies, mixed=True).mean() <= 1.5 * filled + 0.05
    assert not known_ones(space, labels, spies, mixed=False).any()
    assert known_ones(space, labels, spies, share=0.25).mean() == 0.25
