"""Metrics: cases worked by hand, brute force over matchings, and what a wrong number of categories does."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novakind.objective import metrics

checked = settings(deadline=None, derandomize=True, max_examples=60)


def brute_force(truth: np.ndarray, predicted: np.ndarray) -> float:
    """The best share of agreement over every one-to-one matching of categories to classes, tried one by one."""
    classes, categories = int(truth.max()) + 1, int(predicted.max()) + 1
    size = max(classes, categories)
    best = 0
    for names in itertools.permutations(range(size)):  # category j is called names[j]
        best = max(best, sum(names[j] == k for k, j in zip(truth.tolist(), predicted.tolist(), strict=True)))
    return best / len(truth)


def spread(labels: list[int], classes: int, confidence: float = 0.9) -> np.ndarray:
    """Log-probabilities that decide for `labels`, and spread the rest evenly."""
    probs = np.full((len(labels), classes), (1 - confidence) / (classes - 1))
    probs[np.arange(len(labels)), labels] = confidence
    return np.log(probs)


def pairs(classes: int, categories: int) -> st.SearchStrategy:
    return st.lists(st.tuples(st.integers(0, classes - 1), st.integers(0, categories - 1)), min_size=1, max_size=30)


def split_pairs(items: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    truth, predicted = np.array(items, dtype=np.int64).T
    return truth, predicted


def test_contingency_counts_by_hand():
    table = metrics.contingency(np.array([0, 0, 1, 2, 2, 2]), np.array([1, 1, 0, 3, 3, 1]))
    np.testing.assert_array_equal(table, [[0, 2, 0, 0], [1, 0, 0, 0], [0, 1, 0, 2]])
    empty = np.array([], dtype=np.int64)
    assert metrics.contingency(empty, empty).shape == (0, 0)


def test_clustering_acc_by_hand():
    truth = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    assert metrics.clustering_acc(truth, truth) == 1
    assert metrics.clustering_acc(truth, np.array([2, 2, 2, 0, 0, 0, 1, 1, 1, 1])) == 1  # names do not matter
    assert metrics.clustering_acc(truth, np.array([2, 2, 0, 0, 0, 1, 1, 1, 1, 1])) == pytest.approx(0.8)
    assert metrics.clustering_acc(truth, np.zeros(10, dtype=np.int64)) == pytest.approx(0.4)  # the largest class
    assert math.isnan(metrics.clustering_acc(np.array([], dtype=np.int64), np.array([], dtype=np.int64)))


def test_the_matching_is_the_best_and_not_the_greedy_one():
    # Greedy takes the 4 first and ends with 4 + 0; the best matching is 3 + 3.
    truth = np.array([0] * 4 + [0] * 3 + [1] * 3)
    predicted = np.array([0] * 4 + [1] * 3 + [0] * 3)
    assert metrics.clustering_acc(truth, predicted) == pytest.approx(0.6)
    assert metrics.match(truth, predicted) == {1: 0, 0: 1}


def test_match_leaves_out_categories_that_agree_with_nothing():
    assert metrics.match(np.array([0, 0, 2, 2]), np.array([3, 3, 1, 1])) == {3: 0, 1: 2}


@checked
@given(pairs(4, 4) | pairs(2, 5) | pairs(5, 2))
def test_hungarian_equals_brute_force(items: list[tuple[int, int]]):
    truth, predicted = split_pairs(items)
    assert metrics.clustering_acc(truth, predicted) == pytest.approx(brute_force(truth, predicted))


@checked
@given(pairs(4, 5), st.permutations(range(5)), st.randoms(use_true_random=False))
def test_names_of_categories_and_order_of_items_do_not_matter(items: list[tuple[int, int]], names: list[int], random):
    truth, predicted = split_pairs(items)
    value = metrics.clustering_acc(truth, predicted)
    assert metrics.clustering_acc(truth, np.array(names)[predicted]) == pytest.approx(value)
    random.shuffle(items)
    assert metrics.clustering_acc(*split_pairs(items)) == pytest.approx(value)


@checked
@given(pairs(4, 5))
def test_match_is_one_to_one_and_explains_the_accuracy(items: list[tuple[int, int]]):
    truth, predicted = split_pairs(items)
    matching = metrics.match(truth, predicted)
    assert len(set(matching.values())) == len(matching)
    agreeing = np.mean([matching.get(category, -1) == label for label, category in items])
    assert agreeing == pytest.approx(metrics.clustering_acc(truth, predicted))


def test_novel_acc_counts_items_on_known_classes_as_wrong():
    truth = np.array([2, 2, 2, 3, 3, 3])
    assert metrics.novel_acc(truth, np.array([3, 3, 3, 2, 2, 2]), 2) == 1
    # Two items land on known classes; had those been free to match, category 0 would have been a hit.
    assert metrics.novel_acc(truth, np.array([0, 0, 3, 2, 2, 2]), 2) == pytest.approx(4 / 6)
    assert metrics.novel_acc(truth, np.array([0, 0, 0, 1, 1, 1]), 2) == 0
    assert math.isnan(metrics.novel_acc(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 2))


def test_too_few_and_too_many_categories():
    truth = np.repeat([1, 2, 3, 4], 5)
    merged = np.repeat([1, 1, 2, 2], 5)  # U assumed 2 of 4: half is the most that a one-to-one matching can give
    assert metrics.novel_acc(truth, merged, 1) == pytest.approx(0.5)
    cut = np.where(np.arange(20) % 5 < 3, truth, truth + 4)  # U assumed 8: each class cut into 3 and 2
    assert metrics.novel_acc(truth, cut, 1) == pytest.approx(0.6)
    empty = np.where(truth == 4, 9, truth)  # U assumed 9, the rest stays empty
    assert metrics.novel_acc(truth, empty, 1) == 1


def test_scores_by_hand_agnostic_and_aware():
    truth = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    logp = spread([0, 1, 1, 2, 3, 3, 2, 0], classes=4)
    logp[3, 1] += 0.1  # known item on novel class 2: among the known classes, 1 is next
    logp[7, 2] += 0.1  # novel item on known class 0: among the novel ones, 2 is next
    result = metrics.scores(truth, logp, known=2, split="test")
    assert result["known_acc/test/agnostic"] == pytest.approx(2 / 4)
    assert result["known_acc/test/aware"] == pytest.approx(3 / 4)
    assert result["novel_acc/test/agnostic"] == pytest.approx(3 / 4)
    assert result["novel_acc/test/aware"] == 1
    assert result["novel_nmi/test/aware"] == pytest.approx(1)
    assert result["novel_ari/test/aware"] == pytest.approx(1)
    # Agnostic partition {a, b}, {c}, {d} of {a, b}, {c, d}: NMI = ln 2 / mean(ln 2, 1.5 ln 2), ARI by pairs 4/7.
    assert result["novel_nmi/test/agnostic"] == pytest.approx(0.8)
    assert result["novel_ari/test/agnostic"] == pytest.approx(4 / 7)
    assert result["novel_acc/test/joint"] == pytest.approx(3 / 4)
    assert len(result) == 9


def test_joint_scores_let_known_outputs_stand_for_novel_classes():
    """As in the authors' code of AutoNovel and UNO: one matching of all K outputs with the classes of novel items."""
    truth = np.array([0, 1, 2, 2, 2, 3, 3, 3])
    result = metrics.scores(truth, spread([0, 1, 0, 0, 0, 1, 1, 2], 4), 2, "test")
    assert result["novel_acc/test/agnostic"] == pytest.approx(1 / 6)
    assert result["novel_acc/test/joint"] == pytest.approx(5 / 6)


def test_a_head_of_novel_classes_alone_gives_the_task_aware_answers():
    truth, logp = np.array([0, 2, 2, 3, 3]), spread([0, 0, 0, 1, 1], 4)
    told = metrics.scores(truth, logp, 2, "test", spread([0, 1, 1, 0, 0], 2))
    assert told["novel_acc/test/aware"] == 1
    plain = metrics.scores(truth, logp, 2, "test")
    assert {name for name in told if told[name] != plain[name]} <= {name for name in told if name.endswith("/aware")}


def test_scores_leave_out_items_of_unknown_truth():
    truth = np.array([0, 1, 2, 3])
    logp = spread([0, 1, 2, 3], 4)
    with_unknown = metrics.scores(np.append(truth, [-1, -1]), np.concatenate([logp, spread([3, 0], 4)]), 2, "train")
    assert with_unknown == metrics.scores(truth, logp, 2, "train")
    assert metrics.scores(np.array([-1, -1]), spread([0, 1], 4), 2, "train") == {}


def test_scores_name_only_what_is_there():
    novel_only = metrics.scores(np.array([2, 3]), spread([2, 3], 4), 2, "train")
    assert set(novel_only) == {f"novel_{m}/train/{p}" for m in ("acc", "nmi", "ari") for p in ("agnostic", "aware")} | {
        "novel_acc/train/joint"
    }
    known_only = metrics.scores(np.array([0, 1]), spread([0, 1], 4), 2, "test")
    assert set(known_only) == {"known_acc/test/agnostic", "known_acc/test/aware"}
    no_known_classes = metrics.scores(np.array([0, 0, 1]), spread([1, 1, 0], 2), 0, "test")
    assert no_known_classes["novel_acc/test/agnostic"] == no_known_classes["novel_acc/test/aware"] == 1


@pytest.mark.parametrize("assumed", [1, 2, 3, 5])
def test_scores_with_another_number_of_novel_neurons_than_classes(assumed: int):
    truth = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])  # two known, three novel
    predicted = [0, 0, 1, 1, *(2 + category % assumed for category in (0, 0, 1, 1, 2, 2))]
    result = metrics.scores(truth, spread(predicted, 2 + assumed), 2, "train")
    assert result["novel_acc/train/agnostic"] == pytest.approx(min(assumed, 3) / 3)
    assert result["known_acc/train/agnostic"] == 1


@checked
@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 9999))
def test_scores_are_shares_and_aware_is_no_worse_on_known(labels: list[int], seed: int):
    truth = np.array(labels)
    logp = np.random.default_rng(seed).standard_normal((len(labels), 6))
    result = metrics.scores(truth, logp, 2, "test")
    for name, value in result.items():
        assert (-1 if "ari" in name else -1e-12) <= value <= 1 + 1e-12
        assert isinstance(value, float)
    if "known_acc/test/aware" in result:
        assert result["known_acc/test/aware"] >= result["known_acc/test/agnostic"]
    if "novel_acc/test/aware" in result:
        assert result["novel_acc/test/aware"] >= 1 / len(labels)
        assert result["novel_acc/test/joint"] >= result["novel_acc/test/agnostic"] - 1e-12


def test_matched_confusion_puts_matches_on_the_diagonal():
    truth = np.array([0, 0, 1, 2, 2, 2, 3, 3, 4])
    predicted = np.array([0, 1, 1, 4, 4, 0, 2, 2, 3])
    table, order = metrics.matched_confusion(truth, predicted, known=2, categories=5)
    assert order == [0, 1, 4, 2, 3]
    np.testing.assert_array_equal(np.diag(table), [1, 1, 2, 2, 1])
    assert table.sum() == len(truth)
    assert table[2, 0] == 1  # a novel item on a known class stays in its column


def test_matched_confusion_with_spare_categories():
    truth, predicted = np.array([0, 1, 1, 2]), np.array([0, 4, 4, 2])
    table, order = metrics.matched_confusion(truth, predicted, known=1, categories=6)
    assert order == [0, 4, 2, 1, 3, 5]
    np.testing.assert_array_equal(np.diag(table[:, :3]), [1, 2, 1])
    np.testing.assert_array_equal(table[:, 3:], 0)


def test_matched_confusion_with_too_few_categories_or_no_novel_items():
    table, order = metrics.matched_confusion(np.array([1, 2, 2, 3]), np.array([1, 2, 2, 1]), known=1, categories=3)
    assert table.shape == (4, 3)
    assert sorted(order) == [0, 1, 2]
    table, order = metrics.matched_confusion(np.array([0, 1]), np.array([0, 3]), known=2, categories=4)
    assert order == [0, 1, 2, 3]
    np.testing.assert_array_equal(table, [[1, 0, 0, 0], [0, 0, 0, 1]])
    empty = np.array([], dtype=np.int64)
    table, order = metrics.matched_confusion(empty, empty, known=2, categories=3)
    assert table.shape == (2, 3)
    assert table.sum() == 0


@checked
@given(pairs(5, 6), st.integers(0, 3))
def test_diagonal_of_matched_confusion_is_the_accuracy(items: list[tuple[int, int]], known: int):
    truth, predicted = split_pairs(items)
    table, order = metrics.matched_confusion(truth, predicted, known, 6)
    assert sorted(order) == list(range(6))
    assert order[:known] == list(range(known))
    np.testing.assert_array_equal(table.sum(1), np.bincount(truth, minlength=len(table)))
    np.testing.assert_array_equal(table.sum(0), np.bincount(predicted, minlength=6)[order])
    novel = truth >= known
    if novel.any():
        # The truth has at most 5 classes and there are 6 categories: every class has a column of its own.
        hits = np.diag(table)[known:].sum()
        assert hits / novel.sum() == pytest.approx(metrics.novel_acc(truth[novel], predicted[novel], known))


def test_one_matching_serves_known_and_novel_classes_and_counts_classes_alike_in_the_mean():
    truth, predicted = np.array([0, 0, 1, 1, 1, 1, 2, 2]), np.array([0, 3, 1, 1, 1, 2, 2, 2])
    found = metrics.one_matching(truth, predicted, known=1)
    assert found == pytest.approx({"all": 6 / 8, "old": 1 / 2, "new": 5 / 6, "mean": (1 / 2 + 3 / 4 + 1) / 3})
    assert np.isnan(metrics.one_matching(truth[2:], predicted[2:], known=1)["old"])


def test_shares_are_compared_as_multisets():
    assert metrics.share_distance((0.25, 0.75), (0.75, 0.25)) == 0
    assert metrics.share_distance((1.0,), (0.5, 0.5)) == pytest.approx(0.5)
