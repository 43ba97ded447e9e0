"""The sampler: what makes up a step, over many sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novakind.errors import UserError
from novakind.sampler import Sampler

checked = settings(deadline=None, derandomize=True, max_examples=60)


def make(labeled: int, unlabeled: int, batch: int, novel: int, proportionate: bool = False, seed: int = 0) -> Sampler:
    numbers = np.random.default_rng(0).permutation(labeled + unlabeled)
    return Sampler(numbers[:labeled], numbers[labeled:], batch, novel, proportionate, seed)


@checked
@given(st.data(), st.booleans(), st.integers(1, 5), st.integers(1, 400))
def test_every_epoch_is_sound(data, proportionate, novel, labeled):
    batch = data.draw(st.integers(10 * novel, 120))
    unlabeled = data.draw(st.integers(10 * novel, 500))
    sampler = make(labeled, unlabeled, batch, novel, proportionate)
    steps = list(sampler.epoch(3))
    assert len(steps) == sampler.steps >= 1
    assert {len(part) for part, _ in steps} == {sampler.labeled_batch}
    assert {len(part) for _, part in steps} == {sampler.unlabeled_batch}
    assert sampler.unlabeled_batch >= 10 * novel
    assert sampler.labeled_batch >= 2
    if unlabeled >= 2 * batch:
        assert sampler.labeled_batch + sampler.unlabeled_batch == 2 * batch

    seen = np.concatenate([part for _, part in steps])
    assert len(set(seen.tolist())) == len(seen)  # no unlabeled item twice
    assert set(seen.tolist()) <= set(sampler.unlabeled.tolist())
    assert unlabeled - len(seen) < sampler.unlabeled_batch  # and only a rest left out
    drawn = np.concatenate([part for part, _ in steps])
    counts = np.unique(drawn, return_counts=True)[1]
    assert set(drawn.tolist()) <= set(sampler.labeled.tolist())
    assert counts.max() - (counts.min() if len(counts) == labeled else 0) <= 1  # rounds over all of them


def test_an_epoch_depends_on_seed_and_number_alone():
    def drawn(sampler: Sampler, number: int) -> list[list[int]]:
        return [[*labeled.tolist(), *unlabeled.tolist()] for labeled, unlabeled in sampler.epoch(number)]

    sampler = make(50, 200, 40, 2)
    third = drawn(sampler, 3)
    drawn(sampler, 0)  # whatever was drawn before
    assert drawn(sampler, 3) == third == drawn(make(50, 200, 40, 2), 3)
    assert drawn(sampler, 4) != third != drawn(make(50, 200, 40, 2, seed=1), 3)


def test_what_one_epoch_leaves_out_another_takes():
    sampler = make(20, 130, 50, 2)  # 30 of 130 are left out
    seen = {item for number in range(12) for _, part in sampler.epoch(number) for item in part.tolist()}
    assert seen == set(sampler.unlabeled.tolist())


@pytest.mark.parametrize(
    ("labeled", "unlabeled", "novel", "expected"),
    [
        (300, 300, 2, (100, 100)),
        (900, 300, 2, (150, 50)),
        (300, 900, 2, (50, 150)),
        (10_000, 300, 5, (150, 50)),  # never below ten for each novel class
        (3, 100_000, 2, (2, 198)),  # and never without labeled items
    ],
)
def test_proportionate_shares_out_the_same_sum(labeled, unlabeled, novel, expected):
    sampler = make(labeled, unlabeled, 100, novel, proportionate=True)
    assert (sampler.labeled_batch, sampler.unlabeled_batch) == expected


def test_few_labeled_items_are_repeated_within_a_step():
    labeled, unlabeled = next(iter(make(3, 100, 40, 2).epoch(0)))
    assert len(labeled) == len(unlabeled) == 40
    assert sorted(np.unique(labeled, return_counts=True)[1].tolist()) == [13, 13, 14]


@pytest.mark.parametrize(
    ("batch", "unlabeled", "message"),
    [
        (49, 500, "--batch 49 is below 10 x 5 new categories.*give --batch 50 or more"),
        (50, 49, "49 unlabeled items to train on are fewer than 10 x 5 new categories: add items"),
    ],
)
def test_the_ten_u_rule(batch, unlabeled, message):
    with pytest.raises(UserError, match=message):
        make(100, unlabeled, batch, 5)
    make(100, 50, 50, 5)
