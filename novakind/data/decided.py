"""Decisions: what a person made of an earlier run, as the next round learns from it: the one loop of the data's way.

Categories keep their numbers for good: one that was merged into another stays as an entry that leads there, and those
that a person made, or that new labels name, come after all others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from jaxtyping import Int

from novakind.data.collection import Collection, Decided
from novakind.data.manifest import CONFIRMED, IGNORED, LABELED, SUGGESTED
from novakind.data.split import Split, subset
from novakind.disk import write_atomic
from novakind.errors import UnreadableError, UserError
from novakind.given import read_whole
from novakind.settings import Range, is_a
from novakind.structure import misfit_table

Indices = Int[np.ndarray, " _"]


@dataclass(frozen=True)
class Decisions:
    """The categories and the items of an earlier run as they stood; items go by their paths."""

    after: str
    """The folder of that run."""
    number: int
    """Which round this is: 2 comes after the first."""
    root: str
    """The folder that its paths are relative to; "" for rows of arrays and tables."""
    names: tuple[str, ...]
    known: int
    """How many of them were known classes from the start."""
    into: tuple[int, ...]
    """For each category the living one that it belongs to now: itself, or another; -1 for one that is no more."""
    named: tuple[bool, ...]
    different: tuple[tuple[int, int], ...]
    items: Mapping[str, tuple[int, str, str]]
    """By path: the category, the status (labeled, confirmed, suggested or ignored) and the part (train, val, test)."""
    taught: tuple[str, ...]
    """Paths of items that are not confirmed, but typical of a category that a person named, or in an accepted part."""
    barred: tuple[tuple[str, int], ...]
    """Items, and categories that they are not of."""

    def write(self, file: Path) -> None:
        write_atomic(file, json.dumps(asdict(self)).encode())

    @staticmethod
    def read(file: Path) -> Decisions:
        try:
            found = json.loads(read_whole(file))
            if wrong := damage(found):
                raise ValueError(wrong)
            tuples = {key: tuple(found[key]) for key in ("names", "into", "named", "taught")}
            pairs = {key: tuple(tuple(pair) for pair in found[key]) for key in ("different", "barred")}
            items = {path: tuple(facts) for path, facts in found["items"].items()}
            return Decisions(**(found | tuples | pairs | {"items": items}))
        except (UnreadableError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise UserError(f"{file} is damaged ({error!s:.80}): give --fresh to begin the round anew") from None

    def open_ones(self) -> list[int]:
        """The living categories that nobody has named."""
        return [one for one in self.living() if one >= self.known and not self.named[one]]

    def living(self) -> list[int]:
        return [number for number, into in enumerate(self.into) if into == number]

    def with_more(self, count: int) -> Decisions:
        """So many further categories to look for, that nobody has seen yet."""
        more = free_names(self.names, count)
        ids = range(len(self.names), len(self.names) + count)
        return replace(
            self, names=(*self.names, *more), into=(*self.into, *ids), named=(*self.named, *([False] * count))
        )


Place = Annotated[int, Range(-1, 10**9)]
WRITTEN = {"after": str, "number": Annotated[int, Range(2, 10**9)], "root": str, "names": list[str], "known": int}
WRITTEN |= {"into": list[Place], "named": list[bool], "different": list[list[int]], "barred": list[list[str | int]]}
WRITTEN |= {"items": dict[str, list[str | int]], "taught": list[str]}
STATES = {LABELED, CONFIRMED, SUGGESTED, IGNORED}
PARTS = {"train", "val", "test"}


def damage(found: Any) -> str:
    """Why this is nothing that `write` wrote; "" where it may be."""
    if wrong := misfit_table(found, WRITTEN, {}):
        return wrong
    count, into = len(found["names"]), found["into"]
    if len(set(found["names"])) < count or not 0 <= found["known"] <= count:
        return "names are not one for each category"
    if len(into) != count or len(found["named"]) != count:
        return "into and named are not as many as names"
    if any(one >= count or (one >= 0 and into[one] != one) for one in into):
        return "into leads to no living category"

    def is_category(one: Any) -> bool:
        return is_a(one, int) and 0 <= one < count

    if any(len(pair) != 2 or not all(map(is_category, pair)) for pair in found["different"]):
        return "different holds what is no pair of categories"
    if any(len(pair) != 2 or not isinstance(pair[0], str) or not is_category(pair[1]) for pair in found["barred"]):
        return "barred holds what is no item and category"
    for path, facts in found["items"].items():
        if len(facts) != 3 or not is_category(facts[0]) or facts[1] not in STATES or facts[2] not in PARTS:
            return f"item {path!r:.40} has no category, status and part"
    return ""


def free_names(taken: tuple[str, ...], count: int) -> list[str]:
    """new-1, new-2, ... without those that are taken."""
    names = (f"new-{number}" for number in range(1, len(taken) + count + 1))
    return [name for name in names if name not in taken][:count]


def revise(collection: Collection, split: Split, decisions: Decisions, root: Path) -> tuple[Collection, Split]:
    """The collection of the next round: what was confirmed is labeled, what was ignored is gone.

    `root` is what paths are relative to now. Items stay in the part that they were in, so that no test item is ever
    trained on; validation items that a person decided about are trained on from now on.
    """
    keys = keys_of(collection, decisions, root)
    facts = [decisions.items.get(key) for key in keys]
    if not any(facts):
        raise UserError(
            f"none of the {len(collection)} items of {collection.name} is in {decisions.after}, e.g. "
            f"{collection.paths[0]}: give the data of that run, to which more may have come"
        )
    names = (*decisions.names, *(name for name in collection.classes if name not in decisions.names))
    into = np.array([*decisions.into, *range(len(decisions.into), len(names))])
    number = {name: int(into[place]) for place, name in enumerate(names)}
    labels = np.array([number[collection.classes[label]] if label >= 0 else -1 for label in collection.labels])
    parts, learnt = split.names(len(collection)), set(decisions.taught)
    before, confirmed, taught = np.full(len(keys), -1), np.zeros(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
    for item, (key, fact) in enumerate(zip(keys, facts, strict=True)):
        if fact is None:
            continue
        before[item], parts[item] = into[fact[0]], fact[2]
        confirmed[item], taught[item] = fact[1] == CONFIRMED, key in learnt and labels[item] < 0
        if confirmed[item] or taught[item]:
            labels[item] = before[item]
            parts[item] = "train" if fact[2] == "val" else fact[2]
    kept = np.flatnonzero([fact is None or fact[1] != IGNORED for fact in facts])
    place = {keys[item]: number for number, item in enumerate(kept.tolist())}
    barred: dict[int, list[int]] = {}
    for key, category in decisions.barred:
        if key in place and into[category] >= 0:
            barred.setdefault(place[key], []).append(int(into[category]))
    guide = Decided(
        names,
        tuple(into.tolist()),
        (*decisions.named, *[True] * (len(names) - len(decisions.named))),
        barred,
        confirmed[kept],
        taught[kept],
        before[kept],
    )
    truth, truth_classes = reordered(collection, names[: decisions.known])
    if not (collection.truth[collection.labels < 0] >= 0).any():  # then labels were all that there was of truth
        truth = np.where(confirmed, -1, truth)
    revised = replace(
        collection, labels=labels, classes=names[: decisions.known], truth=truth, truth_classes=truth_classes
    )
    left = np.array(parts)[kept]
    divided = Split(*(np.flatnonzero(left == part) for part in ("train", "val", "test")), by=split.by)
    return replace(subset(revised, kept), decided=guide), divided


def keys_of(collection: Collection, decisions: Decisions, root: Path) -> list[str]:
    """What the earlier run called each item: the same, or another path to the same file."""
    if not decisions.root or any(path in decisions.items for path in collection.paths):
        return list(collection.paths)
    full = {os.path.normpath(os.path.join(decisions.root, path)): path for path in decisions.items}
    places = [os.path.normpath(os.path.join(root.resolve(), path)) for path in collection.paths]
    return [full.get(place, path) for place, path in zip(places, collection.paths, strict=True)]


def reordered(collection: Collection, classes: tuple[str, ...]) -> tuple[Indices, tuple[str, ...]]:
    """The truth with these classes first."""
    names = (*classes, *(name for name in collection.truth_classes if name not in classes))
    number = np.array([names.index(name) for name in collection.truth_classes] or [-1])
    return np.where(collection.truth >= 0, number[collection.truth], -1), names
