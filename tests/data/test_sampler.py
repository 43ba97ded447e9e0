"""The sampler: what makes up a step, over many sizes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novakind.data.sampler import Sampler, check_batch, others
from novakind.errors import UserError

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
    assert {len(part) for part, _, _ in steps} == {sampler.labeled_batch}
    assert {len(part) for _, part, _ in steps} == {sampler.unlabeled_batch}
    assert sampler.unlabeled_batch >= 10 * novel
    assert sampler.labeled_batch >= 2
    if unlabeled >= 2 * batch:
        assert sampler.labeled_batch + sampler.unlabeled_batch == 2 * batch

    seen = np.concatenate([part for _, part, _ in steps])
    assert len(set(seen.tolist())) == len(seen)  # no unlabeled item twice
    assert set(seen.tolist()) <= set(sampler.unlabeled.tolist())
    assert unlabeled - len(seen) < sampler.unlabeled_batch  # and only a rest left out
    drawn = np.concatenate([part for part, _, _ in steps])
    counts = np.unique(drawn, return_counts=True)[1]
    assert set(drawn.tolist()) <= set(sampler.labeled.tolist())
    assert counts.max() - (counts.min() if len(counts) == labeled else 0) <= 1  # rounds over all of them


def test_an_epoch_depends_on_seed_and_number_alone():
    def drawn(sampler: Sampler, number: int) -> list[list[int]]:
        return [[*labeled.tolist(), *unlabeled.tolist()] for labeled, unlabeled, _ in sampler.epoch(number)]

    sampler = make(50, 200, 40, 2)
    third = drawn(sampler, 3)
    drawn(sampler, 0)  # whatever was drawn before
    assert drawn(sampler, 3) == third == drawn(make(50, 200, 40, 2), 3)
    assert drawn(sampler, 4) != third != drawn(make(50, 200, 40, 2, seed=1), 3)


def test_every_round_over_the_labeled_items_is_shuffled_anew():
    in_order = np.arange(30)
    sampler = Sampler(in_order, np.arange(30, 230), batch=50, novel=2)  # 4 steps x 50 items: 6 rounds and a rest
    rounds = []
    for number in range(3):
        drawn = np.concatenate([step.labeled for step in sampler.epoch(number)])
        rounds += [drawn[start : start + 30].tolist() for start in range(0, 180, 30)]
        rest = drawn[180:].tolist()
        assert len(rest) == 20 == len(set(rest))  # so no item is seen more than once more often than another
        assert rest != in_order[:20].tolist()
    assert all(sorted(each) == in_order.tolist() for each in rounds)
    assert in_order.tolist() not in rounds
    assert len({tuple(each) for each in rounds}) == len(rounds) == 18


def test_what_one_epoch_leaves_out_another_takes():
    sampler = make(20, 130, 50, 2)  # 30 of 130 are left out
    seen = {item for number in range(12) for _, part, _ in sampler.epoch(number) for item in part.tolist()}
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
    labeled, unlabeled, _ = next(iter(make(3, 100, 40, 2).epoch(0)))
    assert len(labeled) == len(unlabeled) == 40
    assert sorted(np.unique(labeled, return_counts=True)[1].tolist()) == [13, 13, 14]


def test_the_ten_u_rule():
    """A step has ten items for each novel class, in parts where so many are not wanted at once."""
    with pytest.raises(UserError, match="49 unlabeled items to train on are fewer than 10 x 5 new categories: add"):
        make(100, 49, 50, 5)
    assert (make(100, 50, 50, 5).unlabeled_batch, make(100, 50, 50, 5).parts) == (50, 1)
    assert (make(100, 500, 49, 5).unlabeled_batch, make(100, 500, 49, 5).parts) == (50, 2)
    assert (make(100, 500, 10, 5).unlabeled_batch, make(100, 500, 10, 5).parts) == (50, 5)
    check_batch(50, 5, "kcl")
    with pytest.raises(UserError, match=r"--batch 49 is below 10 x 5 .* --method kcl cannot .*give --batch 50 or more"):
        check_batch(49, 5, "kcl")


@checked
@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 99))
def test_a_partner_is_another_of_the_same_group(groups, seed):
    numbers = np.array(groups)
    found = others(numbers, np.random.default_rng(seed))
    assert (numbers[found] == numbers).all()
    alone = np.array([groups.count(group) == 1 for group in groups])
    assert ((found == np.arange(len(groups))) == alone).all()


def test_every_partner_is_equally_likely():
    rng = np.random.default_rng(0)
    drawn = np.stack([others(np.array([7, 3, 7, 7, 7]), rng) for _ in range(4000)])
    assert (drawn[:, 1] == 1).all()
    for place, partners in ((0, (2, 3, 4)), (3, (0, 2, 4))):
        shares = np.bincount(drawn[:, place], minlength=5) / len(drawn)
        assert np.abs(shares[list(partners)] - 1 / 3).max() < 0.03


def test_second_views_are_of_partners_and_everything_else_stays():
    numbers = np.random.default_rng(0).permutation(200)
    moments = np.arange(150) // 3  # of the unlabeled items, by their place
    moment = dict(zip(numbers[50:].tolist(), moments.tolist(), strict=True))
    alone = list(Sampler(numbers[:50], numbers[50:], 40, 2).epoch(5))
    paired = list(Sampler(numbers[:50], numbers[50:], 40, 2, partners=moments).epoch(5))
    assert len(alone) == len(paired) == 3
    for by_itself, with_partner in zip(alone, paired, strict=True):
        assert by_itself.second.tolist() == by_itself.unlabeled.tolist() == with_partner.unlabeled.tolist()
        assert by_itself.labeled.tolist() == with_partner.labeled.tolist()
        for item, partner in zip(with_partner.unlabeled.tolist(), with_partner.second.tolist(), strict=True):
            assert moment[item] == moment[partner]
            assert item != partner


def test_a_batch_beyond_all_items_is_refused():
    """Labeled items would be repeated for it until no memory is left; some repetition is usual with few items."""
    labeled, unlabeled = np.arange(20), np.arange(20, 60)
    assert Sampler(labeled, unlabeled, 4096, 2).labeled_batch == 4096
    with pytest.raises(UserError, match="--batch 999999 is more than the 60 items to train on: give --batch 4096"):
        Sampler(labeled, unlabeled, 999_999, 2)
