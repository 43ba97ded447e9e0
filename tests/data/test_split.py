"""The benchmark protocol: hide classes, impose shares, hold parts out, read the truth."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novakind.data.collection import Collection, from_arrays
from novakind.data.split import hide, impose, part, subset
from novakind.errors import UserError

checked = settings(deadline=None, derandomize=True, max_examples=40)
NAMES = ("airplane", "bird", "car", "cat", "deer", "ship")


def labeled(counts: tuple[int, ...] = (30, 60, 20, 50, 40, 10), unlabeled: int = 0) -> Collection:
    """Items whose only feature is their class, in random order; the last `unlabeled` without any."""
    truth = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    names = np.array([*(NAMES[number] for number in truth), *[""] * unlabeled])
    return from_arrays(np.append(truth, [-1] * unlabeled)[:, None].astype(float), names)


def told(collection: Collection) -> list[str]:
    """What `truth` says of each item, by name."""
    return [collection.truth_classes[number] if number >= 0 else "" for number in collection.truth]


def consistent(collection: Collection, original: Collection) -> None:
    """Truth is as it was for every item that is left, and labels are the truth of known classes."""
    where = dict(zip(original.paths, told(original), strict=True))
    assert told(collection) == [where[path] for path in collection.paths]
    known = len(collection.classes)
    assert collection.truth_classes[:known] == collection.classes
    is_known = (collection.truth >= 0) & (collection.truth < known)
    np.testing.assert_array_equal(collection.labels, np.where(is_known, collection.truth, -1))
    assert collection.items[:, 0].astype(int).tolist() == [NAMES.index(n) if n else -1 for n in told(collection)]


@pytest.mark.parametrize(
    ("known", "classes", "hidden"),
    [
        ("4", NAMES[:4], NAMES[4:]),
        ("1", NAMES[:1], NAMES[1:]),
        ("bird,cat,deer", ("bird", "cat", "deer"), ("airplane", "car", "ship")),
        ("ship, car ,airplane", ("ship", "car", "airplane"), ("bird", "cat", "deer")),
        ("cat", ("cat",), ("airplane", "bird", "car", "deer", "ship")),
        ("cat,cat,bird", ("cat", "bird"), ("airplane", "car", "deer", "ship")),
    ],
)
def test_hide_by_number_or_names(known, classes, hidden):
    collection = labeled(unlabeled=7)
    result = hide(collection, known)
    assert result.classes == classes
    assert result.truth_classes == (*classes, *hidden)
    consistent(result, collection)


def test_a_name_with_a_comma_stands_in_quotes():
    collection = from_arrays(np.zeros((4, 2)), np.array(["lying, face up", "lying", "sitting", "standing"]))
    assert hide(collection, 'sitting, "lying, face up" ,standing').classes == ("sitting", "lying, face up", "standing")
    assert hide(collection, '"lying"').classes == ("lying",)


def test_hide_at_random_by_seed():
    collection = labeled()
    drawn = [hide(collection, "random:3", seed) for seed in range(12)]
    assert all(len(result.classes) == 3 for result in drawn)
    assert hide(collection, "random:3", 5).classes == drawn[5].classes
    assert {name for result in drawn for name in result.classes} == set(NAMES)
    for result in drawn:
        consistent(result, collection)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("0", "--known 0 must name from 1 to 5 of the 6 classes"),
        ("6", "--known 6 must name from 1 to 5"),
        ("random:6", "--known random:6 must name from 1 to 5"),
        ("random:x", "--known random:x must name"),
        ("²", "which is no class here"),
        (",", '--known names "", which is no class here'),
        ("cat,dog", '--known names "dog", which is no class here: choose from airplane, bird'),
        (",".join(NAMES), "--known names every class, but some must become novel"),
        (",".join([*NAMES, "cat"]), "--known names every class"),
    ],
)
def test_hide_refuses(known, message):
    with pytest.raises(UserError, match=message):
        hide(labeled(), known)


@pytest.mark.parametrize("shares", ["1/3,1/3,1/3", "1/2,1/4,1/4", "0.8,0.1,0.1", "uniform", "0.05,0.05,0.9"])
def test_impose_gives_the_shares_and_drops_unlabeled_items_alone(shares):
    collection = hide(labeled((30, 60, 20, 500, 400, 300)), "3")
    result = impose(collection, shares)
    consistent(result, collection)
    assert (result.labels >= 0).sum() == (collection.labels >= 0).sum() == 110
    counts = np.bincount(result.truth[result.labels < 0], minlength=6)[3:]
    wanted = np.full(3, 1 / 3) if shares == "uniform" else [float(Fraction(share)) for share in shares.split(",")]
    total = min(count / share for count, share in zip((500, 400, 300), wanted, strict=True))
    assert np.abs(counts - total * np.asarray(wanted)).max() <= 0.5  # as many as the shares allow, to rounding
    assert list(result.paths) == sorted(result.paths, key=int)  # in their order
    assert impose(collection, shares).paths == result.paths
    if shares != "uniform":
        assert impose(collection, shares, seed=1).paths != result.paths


def test_impose_refuses_other_numbers_of_shares():
    with pytest.raises(UserError, match="has 2 shares"):
        impose(hide(labeled(), "3"), "1/2,1/2")


@checked
@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=6),
    st.floats(0, 0.5),
    st.floats(0, 0.45),
    st.integers(0, 20),
    st.integers(0, 5),
)
def test_parts_are_stratified_disjoint_and_cover_all(counts, val, test, unlabeled, seed):
    """By labels alone: all unlabeled items are one stratum, whatever is known of them."""
    known = (len(counts) + 1) // 2
    collection = hide(labeled(tuple(counts), unlabeled), str(known))
    split = part(collection, val, test, seed)
    together = np.concatenate([split.train, split.val, split.test])
    assert sorted(together.tolist()) == list(range(len(collection)))
    strata = [unlabeled + sum(counts[known:]), *counts[:known]]
    for label, count in zip(range(-1, known), strata, strict=True):
        tests = int((collection.labels[split.test] == label).sum())
        vals = int((collection.labels[split.val] == label).sum())
        assert abs(tests - test * count) <= 0.5
        assert abs(vals - val * (count - tests)) <= 0.5
        assert count > tests + vals
    names = split.names(len(collection))
    assert [names.count(name) for name in ("train", "val")] == [len(split.train), len(split.val)]
    assert all(names[number] == "val" for number in split.val)


def test_parts_depend_on_their_seed_alone():
    collection = labeled()
    first, again, other = part(collection, 0.2, 0.2), part(collection, 0.2, 0.2), part(collection, 0.2, 0.2, seed=1)
    assert all(np.array_equal(getattr(first, name), getattr(again, name)) for name in ("train", "val", "test"))
    assert not np.array_equal(first.test, other.test)


@pytest.mark.parametrize(("val", "test"), [(0.5, 0.5), (1.0, 0.0), (0.0, 1.0), (-0.1, 0.2), (float("nan"), 0.1)])
def test_parts_that_leave_nothing_are_refused(val, test):
    with pytest.raises(UserError, match="leave nothing to train on: their sum must stay below 1"):
        part(labeled(), val, test)


def divided() -> Collection:
    """With an official test part: every fifth item."""
    collection = labeled((30, 60, 20, 50, 40, 10))
    return replace(collection, official_test=np.arange(len(collection)) % 5 == 0)


def test_the_official_test_part_is_kept_unless_a_share_is_asked_for():
    collection = divided()
    split = part(collection, 0.25, 0.0)
    assert split.test.tolist() == list(range(0, 210, 5))
    assert sorted([*split.train, *split.val]) == [number for number in range(210) if number % 5]
    for label in range(6):
        count = int(((collection.labels == label) & ~collection.official_test).sum())
        assert abs((collection.labels[split.val] == label).sum() - 0.25 * count) <= 0.5
    assert part(collection, 0.25, 0.0, seed=1).test.tolist() == split.test.tolist()
    assert part(collection, 0.25, 0.0, seed=1).val.tolist() != split.val.tolist()
    asked, plain = part(collection, 0.1, 0.3), part(labeled((30, 60, 20, 50, 40, 10)), 0.1, 0.3)
    assert asked.test.tolist() == plain.test.tolist()


def in_groups(size: int, across: bool) -> Collection:
    """An official test part of whole groups; groups of `size` items of one class, or of all classes."""
    collection = labeled((30, 60, 20, 50, 40, 10))
    groups = np.zeros(210, dtype=int)
    for number, members in enumerate([np.arange(210)] if across else [collection.truth == n for n in range(6)]):
        groups[members] = 100 * number + np.arange(np.count_nonzero(groups[members] == 0)) // size
    return replace(collection, groups={"video": groups, "other": np.arange(210)}, official_test=groups % 100 % 4 == 3)


@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_beside_an_official_test_part_whole_groups_are_watched(seed, across):
    collection = hide(in_groups(5, across), "3")
    split = part(collection, 0.25, 0.0, seed)
    assert split.by == "official"
    np.testing.assert_array_equal(split.test, np.flatnonzero(collection.official_test))
    assert sorted([*split.train, *split.val, *split.test]) == list(range(210))
    groups = collection.groups["video"]
    assert not set(groups[split.train]) & set(groups[split.val])
    assert set(collection.labels[split.train]) == {-1, 0, 1, 2}
    free = ~collection.official_test
    assert abs(len(split.val) - 0.25 * free.sum()) < 12
    if not across:
        for label in range(-1, 3):
            count = int((free & (collection.labels == label)).sum())
            assert abs((collection.labels[split.val] == label).sum() - 0.25 * count) <= 2.5
    again, other = part(collection, 0.25, 0.0, seed), part(collection, 0.25, 0.0, seed + 1)
    assert again.val.tolist() == split.val.tolist() != other.val.tolist()
    assert len(part(collection, 0.0, 0.0, seed).val) == 0


def test_a_class_of_one_group_is_trained_on():
    collection = in_groups(60, across=False)
    split = part(replace(collection, official_test=np.arange(210) == 0), 0.9, 0.0)
    assert len(split.val) == 0
    assert len(split.train) == 209


def test_a_class_that_is_only_in_the_test_part_is_not_trained_on():
    collection = labeled()
    split = part(replace(collection, official_test=collection.truth == 3), 0.2, 0.0)
    assert split.test.tolist() == np.flatnonzero(collection.truth == 3).tolist()
    assert 3 not in collection.truth[split.train]


def test_the_official_test_part_follows_hide_impose_and_subset():
    collection = divided()
    where = dict(zip(collection.paths, collection.official_test, strict=True))
    hidden = hide(collection, "deer,cat,bird")
    imposed = impose(hidden, "1/4,1/4,1/2")
    for result in (hidden, imposed, subset(imposed, np.arange(10, 90, 3))):
        consistent(result, collection)
        assert [where[path] for path in result.paths] == result.official_test.tolist()
    held = [path for path in collection.paths if where[path]]
    assert [path for path in imposed.paths if where[path]] == held  # whole
    assert [imposed.paths[number] for number in part(imposed, 0.1, 0.0).test] == held
    rest = ~imposed.official_test & (imposed.labels < 0)
    counts = np.bincount(imposed.truth[rest], minlength=6)[3:]
    before = np.bincount(hidden.truth[~hidden.official_test], minlength=6)[3:]
    total = min(before / [0.25, 0.25, 0.5])
    assert np.abs(counts - total * np.array([0.25, 0.25, 0.5])).max() <= 0.5
    assert impose(hide(labeled(), "3"), "uniform").official_test is None
    assert collection.digest() != labeled().digest()


def test_impose_needs_novel_classes():
    with pytest.raises(UserError, match=r"--impose 1/2,1/2 .* none is known here: make some novel with --known"):
        impose(labeled((3,), 2), "1/2,1/2")
