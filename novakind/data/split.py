"""The benchmark protocol: hide classes, impose a prior, hold a part out. A practitioner needs only the last."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Int

from novakind.data.collection import Collection
from novakind.errors import UserError
from novakind.objective.prior import Prior
from novakind.rows import sample

Indices = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class Split:
    """Which items train, which are watched during training, which are looked at once at the end."""

    train: Indices
    val: Indices
    test: Indices
    by: str = "random"
    """How the parts were chosen: "official", "random" (item by item), or by which groups, e.g. "subject"."""

    def names(self, count: int) -> list[str]:
        """ "train", "val" or "test" for each item."""
        result = np.full(count, "train", dtype="<U5")
        result[self.val], result[self.test] = "val", "test"
        return result.tolist()


def part(collection: Collection, val: float, test: float, seed: int = 0, by: str = "") -> Split:
    """A test and a validation part, of items that lie apart from the training items as `by` says.

    "random": item by item, each part with the same share of every known class and of the unlabeled items. The name of
    one of the collection's groups: whole groups, e.g. people whom the model has never seen. "": an official test part
    where there is one and `test` is 0, else the collection's first kind of groups, else random. Beside an official test
    part, too, the validation part is one of whole groups where there are any. The truth has no say in any of it: an
    item's part decides whether the model is trained on it.
    """
    if not (0 <= val < 1 and 0 <= test < 1 and val + test < 1):
        raise UserError(f"--val {val} and --test {test} leave nothing to train on: their sum must stay below 1")
    if by not in ("", "random", *collection.groups):
        raise UserError(f"--split {by} is not to be had here: choose from {', '.join(('random', *collection.groups))}")
    rng = np.random.default_rng([seed, 1])
    official = official_test(collection) & (test == 0) & (by == "")
    asked, by = by, by or ("official" if official.any() else next(iter(collection.groups), "random"))
    if by in collection.groups:
        try:
            return part_by_group(collection, collection.groups[by], val, test, by, rng)
        except UserError:
            if asked:
                raise
            by = "random"  # too few groups, such as a folder with one recording of each class
    labels = collection.labels
    if by == "official" and collection.groups:
        watched = some_groups(next(iter(collection.groups.values())), labels, ~official, val, rng)
        return Split(*(np.flatnonzero(chosen) for chosen in (~official & ~watched, watched, official)), by=by)
    train: list[np.ndarray] = []
    held: dict[str, list[np.ndarray]] = {"val": [], "test": [np.flatnonzero(official)]}
    for label in np.unique(labels[~official]):
        members = rng.permutation(np.flatnonzero((labels == label) & ~official))
        tests = min(round(test * len(members)), len(members) - 1)  # each class keeps an item to train on
        vals = min(round(val * (len(members) - tests)), len(members) - tests - 1)
        held["test"].append(members[:tests])
        held["val"].append(members[tests : tests + vals])
        train.append(members[tests + vals :])
    return Split(*(np.sort(np.concatenate(groups)) for groups in (train, held["val"], held["test"])), by=by)


def part_by_group(
    collection: Collection, groups: Indices, val: float, test: float, by: str, rng: np.random.Generator
) -> Split:
    """Whole groups to each part, by their number; every part that is asked for gets at least one."""
    names = rng.permutation(np.unique(groups))
    tests = max(1, round(test * len(names))) if test else 0
    vals = max(1, round(val * (len(names) - tests))) if val else 0
    train = np.isin(groups, names[tests + vals :])
    lost = sorted(set(range(len(collection.classes))) - set(collection.labels[train].tolist()))
    if not (collection.labels[train] < 0).any() and (collection.labels < 0).any():
        raise UserError(
            f"--split {by} leaves no unlabeled item to train on, with {len(names)} groups in all: "
            "give smaller --val and --test, or --split random"
        )
    if lost:
        raise UserError(
            f'--split {by} leaves no item of class "{collection.classes[lost[0]]}" to train on, with {len(names)} '
            "groups in all: give smaller --val and --test, or --split random"
        )
    parts = (train, np.isin(groups, names[tests : tests + vals]), np.isin(groups, names[:tests]))
    return Split(*(np.flatnonzero(chosen) for chosen in parts), by=by)


def some_groups(
    groups: Indices, labels: Indices, free: Bool[np.ndarray, " items"], share: float, rng: np.random.Generator
) -> Bool[np.ndarray, " items"]:
    """Whole groups of the free items, as near to this share of every label as they come; each label keeps some.

    A group is taken if the labels that it holds come nearer to their share; that of unlabeled items is one more.
    """
    values, places = np.unique(labels, return_inverse=True)
    left = np.bincount(places[free], minlength=len(values)).astype(float)
    wanted = share * left
    taken = np.zeros(len(groups), dtype=bool)
    for group in rng.permutation(np.unique(groups[free])):
        members = free & (groups == group)
        counts = np.bincount(places[members], minlength=len(values))
        nearer = np.abs(wanted - counts).sum() < np.abs(wanted).sum()
        if nearer and (left - counts)[counts > 0].min() > 0:
            taken |= members
            wanted, left = wanted - counts, left - counts
    return taken


def standardise(collection: Collection, split: Split) -> Collection:
    """Normalise by the statistics of the training part alone: nothing of the test part leaks."""
    some = sample(collection.items, split.train)
    return replace(collection, modality=collection.modality.fitted(collection.items[some], collection.labels[some]))


def official_test(collection: Collection) -> Bool[np.ndarray, " items"]:
    """Which items are in the official test part: none, where there is no such part."""
    return np.zeros(len(collection), dtype=bool) if collection.official_test is None else collection.official_test


def subset(collection: Collection, chosen: Indices) -> Collection:
    """The same collection with the chosen items alone."""
    return replace(
        collection,
        items=collection.items[chosen],
        labels=collection.labels[chosen],
        truth=collection.truth[chosen],
        paths=tuple(collection.paths[i] for i in chosen),
        official_test=None if collection.official_test is None else collection.official_test[chosen],
        groups={name: numbers[chosen] for name, numbers in collection.groups.items()},
    )


def hide(collection: Collection, known: str, seed: int = 0) -> Collection:
    """Make classes novel: keep the labels of some and remove those of all other items.

    `known` is a number ("5": the first five classes), names ("bird,cat,deer"; one that
    has a comma stands in quotes), or "random:5" (five drawn by `seed`).
    """
    names = collection.truth_classes
    if known.isdecimal() or known.startswith("random:"):
        count = known.removeprefix("random:")
        if not count.isdecimal() or not 0 < int(count) < len(names):
            raise UserError(
                f"--known {known} must name from 1 to {len(names) - 1} of the {len(names)} classes, "
                "so that some stay labeled and some become novel: give a smaller or larger number"
            )
        order = (
            np.random.default_rng([seed, 2]).permutation(len(names))
            if known.startswith("random:")
            else range(len(names))
        )
        kept = sorted(int(number) for number in list(order)[: int(count)])
    else:
        parts = re.findall(r'\s*"([^"]*)"\s*|([^,]+)', known)
        wanted = list(dict.fromkeys(quoted or plain.strip() for quoted, plain in parts)) or [""]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise UserError(f'--known names "{missing[0]}", which is no class here: choose from {", ".join(names)}')
        kept = [names.index(name) for name in wanted]
        if len(kept) == len(names):
            raise UserError("--known names every class, but some must become novel: leave out at least one")
    order = [*kept, *(number for number in range(len(names)) if number not in kept)]
    renumber = np.array([order.index(number) for number in range(len(names))])
    truth = np.where(collection.truth >= 0, renumber[collection.truth], -1)
    return replace(
        collection,
        labels=np.where((truth >= 0) & (truth < len(kept)), truth, -1),
        classes=tuple(names[number] for number in kept),
        truth=truth,
        truth_classes=tuple(names[number] for number in order),
    )


def impose(collection: Collection, shares: str, seed: int = 0) -> Collection:
    """Leave out unlabeled items until the novel classes have the given shares, in the order of `truth_classes`.

    An official test part stays whole: the shares are those of the items to train on.
    """
    known = len(collection.classes)
    if len(collection.truth_classes) == known:
        raise UserError(
            f"--impose {shares} chooses among items of novel classes, and none is known here: "
            "make some novel with --known, or give --truth"
        )
    prior = Prior.parse(shares, known, len(collection.truth_classes) - known)
    novel = (collection.labels < 0) & ~official_test(collection)
    members = [np.flatnonzero(novel & (collection.truth == known + j)) for j in range(len(prior.novel))]
    total = min(len(group) / share for group, share in zip(members, prior.novel, strict=True))
    rng = np.random.default_rng([seed, 3])
    chosen = [
        rng.choice(group, round(total * share), replace=False)
        for group, share in zip(members, prior.novel, strict=True)
    ]
    return subset(collection, np.sort(np.concatenate([np.flatnonzero(~novel), *chosen])))


def unlabel(collection: Collection, labeled: float, seed: int = 0) -> Collection:
    """Keep the labels of this share of each known class's items, at least of one, and remove those of the others.

    What the others are stays on record as their truth. An official test part keeps its labels.
    """
    rng = np.random.default_rng([seed, 4])
    labels, free = collection.labels.copy(), ~official_test(collection)
    for number in range(len(collection.classes)):
        members = rng.permutation(np.flatnonzero((labels == number) & free))
        labels[members[max(1, round(labeled * len(members))) :]] = -1
    return replace(collection, labels=labels)
