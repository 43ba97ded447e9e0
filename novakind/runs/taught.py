"""Taught: what a next round learns from, beside labels and decisions; it may change all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Float, UInt8

from novakind.data.collection import Collection
from novakind.runs.discovery import Discovery
from novakind.runs.linear import DECIDED, compact, judged, thinned
from novakind.runs.reviewed import CONFIRMED, LABELED, SUGGESTED, Items, PerItem, Reviewed

TYPICAL = 0.8  # of a category's undecided items are learnt as its own
SOME = 4  # answers that were right are imagined of each category, so that one mistake does not condemn it
LEAST = 0.25
STRENGTH = 1.0  # of the classifier by which decisions spread: the inverse of its regularisation


def accepted(state: Reviewed) -> list[int]:
    """Undecided items of parts of a split: no output of the model tells the parts apart, only that a person accepted
    them."""
    voices, category = state.voices, state.category
    living = [number for number, alive in enumerate(state.alive) if alive and voices[number] >= 0]
    shared = Counter(int(voices[number]) for number in living)
    parts = [number for number in living if shared[int(voices[number])] > 1]
    return np.flatnonzero(np.isin(category, parts) & (state.status == SUGGESTED)).tolist()


def typical(found: Discovery) -> list[int]:
    """Undecided training items of each category, those of which the model is surest. What a person confirms are mostly
    doubtful ones, and a category learnt from those alone wanders off."""
    seen, train, margin = found.snapshot, np.array(found.splits) == "train", found.sureness
    chosen = []
    for number in range(len(found.names)):
        members = np.flatnonzero(train & (seen.category == number) & (seen.status == SUGGESTED))
        surest = members[np.argsort(-margin[members], kind="stable")]
        chosen += surest[: int(TYPICAL * len(members))].tolist()
    return chosen


def spread(collection: Collection, train: Items, first: Mapping[str, int]) -> Collection:
    """What is taught, as decisions and labels speak for it, rather than as the model of before had it.

    A linear classifier of what is seen learns from decisions, labels and the model's own answers, of which it believes
    less the more often a person found them wrong. Another learns from labels and answers alone. Where the two differ,
    decisions speak, and the first says what a taught item is: so one decision tells about many items that are like it.
    Anywhere else the answer stays, since a linear classifier alone may know less than the model did. `first` is that
    model's category of each path.
    """
    decided = collection.decided
    assert decided is not None
    items = train[collection.labels[train] >= 0]
    status = np.where(decided.confirmed[items], CONFIRMED, np.where(decided.taught[items], SUGGESTED, LABELED))
    into = np.array(decided.into)
    answer = np.array([into[first[path]] if path in first else -1 for path in collection.paths])
    there = (answer >= 0) & (decided.before >= 0)
    said = np.where(decided.confirmed[there], CONFIRMED, SUGGESTED).astype(np.uint8)
    believed = trust(answer[there], decided.before[there], said, len(into))
    labels = collection.labels[items]
    weight = np.where(status == CONFIRMED, float(DECIDED), np.where(status == SUGGESTED, believed[labels], 1.0))
    modality = collection.modality
    rows = modality.normalise(modality.collate(collection.items[items])).numpy()
    rows, weight = compact(rows), thinned(weight, status)
    chances = judged(rows, labels, weight, len(into), STRENGTH)
    before = np.where(status == CONFIRMED, answer[items], labels)
    otherwise = judged(rows, before, ((weight > 0) & (before >= 0)).astype(float), len(into), STRENGTH)
    for number, item in enumerate(items.tolist()):
        chances[number, list(decided.barred.get(item, ()))] = 0
    changed = chances.argmax(1) != otherwise.argmax(1)
    new, open_ones = collection.labels.copy(), (status == SUGGESTED) & changed & (chances.max(1) > 0)
    new[items[open_ones]] = chances[open_ones].argmax(1)
    return replace(collection, labels=new)


def trust(
    first: PerItem, category: PerItem, status: UInt8[np.ndarray, " items"], count: int
) -> Float[np.ndarray, " categories"]:
    """How far the model's own answer `first` is to be believed, by category: 1 where nobody found it wrong.

    Less the more often a person did, but never so little that nothing is left of a category all of whose few mistakes
    were put right.
    """
    decided = np.flatnonzero(status == CONFIRMED)
    asked = np.bincount(first[decided], minlength=count)
    right = np.bincount(first[decided][first[decided] == category[decided]], minlength=count)
    return np.clip(2 * (right + SOME) / (asked + SOME) - 1, LEAST, 1)
