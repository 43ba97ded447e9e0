"""Collapses of the predictions are seen and said; whoever can change the weights is advised to."""

import numpy as np
import pytest

from novakind.methods import METHODS
from novakind.objective.prior import Prior
from novakind.training.collapse import diagnose, merged_early, unsettled

PRIOR = Prior(2, (0.5, 0.25, 0.25))


def predictions(chosen: np.ndarray, confidence: float = 0.9, classes: int = 5) -> np.ndarray:
    probs = np.full((len(chosen), classes), (1 - confidence) / (classes - 1))
    probs[np.arange(len(chosen)), chosen] = confidence
    return np.log(probs).astype(np.float32)


RNG = np.random.default_rng(0)
ALWAYS_THE_PRIOR = np.log(np.tile([1e-4, 1e-4, 0.4999, 0.25, 0.2499], (400, 1))).astype(np.float32)


@pytest.mark.parametrize(
    ("logp", "expected"),
    [
        (ALWAYS_THE_PRIOR, "every unlabeled item gets nearly the same answer"),
        (ALWAYS_THE_PRIOR + RNG.normal(0, 0.02, (400, 5)).astype(np.float32), "nearly the same answer"),
        (predictions(np.full(400, 3)), "100% of the unlabeled items fall into one new category"),
        (predictions(np.where(np.arange(400) < 380, 3, 2)), "95% of the unlabeled items fall into one new category"),
        (
            predictions(np.where(np.arange(400) < 240, 3, 0)),
            "60% of the unlabeled items fall into one new category and",
        ),
        (predictions(np.arange(400) % 2), "100% of the unlabeled items are taken for known classes"),
        (predictions(np.where(np.arange(400) < 380, 1, 2)), "95% of the unlabeled items are taken for known classes"),
        (predictions(RNG.choice([2, 3, 4], 400, p=[0.5, 0.25, 0.25])), None),
        (predictions(RNG.choice([2, 3, 4], 400, p=[0.5, 0.25, 0.25]), 0.4), None),  # undecided, but not all the same
        (predictions(RNG.choice(5, 400)), None),  # wrong perhaps, but no collapse
        (predictions(np.full(1, 3)), None),  # one item is too few
        (predictions(np.zeros(0, int)), None),
    ],
)
def test_collapses_are_seen_and_said(logp, expected):
    sentence, bare = diagnose(logp, PRIOR, weighable=True), diagnose(logp, PRIOR, weighable=False)
    if expected is None:
        assert sentence is None
        assert bare is None
    else:
        assert sentence.startswith("collapse: ")
        assert expected in sentence
        assert "--objective." in sentence
        assert "\n" not in sentence
        assert sentence.startswith(f"{bare}; ")
        assert "--objective." not in bare


def test_only_what_uses_the_weights_is_advised_to_change_them():
    assert {name for name, method in METHODS.items() if method.weighable} == {"ours"}


def test_a_division_that_does_not_carry_over_is_doubted():
    """The confidences of ten runs on digits: a good one, two poor ones (73 and 84 % right), and series, all unsure."""
    rng = np.random.default_rng(0)

    def sure(share: float, count: int, otherwise: float = 0.6) -> np.ndarray:
        return np.where(rng.permutation(count) < share * count, 0.999, otherwise).astype(np.float32)

    assert unsettled(sure(0.999, 640), sure(0.986, 72)) is None
    for share in (0.861, 0.9):
        sentence = unsettled(sure(0.992, 640), sure(share, 72, 0.4))
        assert sentence.startswith("a poor optimum: ")
        assert "--seed" in sentence
    assert unsettled(sure(0.8, 1000), sure(0.7, 300)) is None
    assert unsettled(sure(0.999, 640), sure(0.5, 5)) is None  # too few to say
    assert unsettled(sure(1.0, 640), sure(1.0, 72)) is None


def test_outputs_that_merged_before_they_meant_anything_are_doubted():
    assert "hardly survives a change of view" in (merged_early({"told_apart": 0.05}) or "")
    assert merged_early({"told_apart": 0.4}) is None
    assert merged_early({"loss/total": 1.0}) is None
