"""Category: one group of items with a name, and the items that show best what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from novakind.runs.reviewed import Items
from novakind.runs.standing import unit

EXAMPLES = 12  # typical items kept per category, and as many doubtful ones


@dataclass(frozen=True)
class Category:
    """One output of the model and the items given to it; `id` is its place among the K outputs and never changes.

    `typical` and `doubtful` share no item, and unlabeled items come first in both. `majority` is the most frequent true
    class of its unlabeled items and `purity` that class's share: "" and NaN where the truth is not known.
    """

    id: int
    name: str
    is_new: bool
    size: int  # unlabeled items assigned to it
    labeled: int  # items that came with its label
    confidence: float  # mean probability of its unlabeled items (of all its items where it has none); NaN if empty
    typical: tuple[int, ...]
    doubtful: tuple[int, ...]
    majority: str
    purity: float
    confirmed: int = 0  # of its unlabeled items, those that a person decided about
    named: bool = False  # by a person
    alive: bool = True  # False for one that was merged into another, or whose making was undone
    into: int | None = None


def examples(
    free: Int[np.ndarray, " free"],
    bound: Int[np.ndarray, " bound"],
    margin: Float[np.ndarray, " items"],
    probability: Float[np.ndarray, " items"],
    embedding: Float[np.ndarray, "items dims"],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Typical and doubtful items of a category, those without a label first."""
    typical, doubtful = [], []
    for group in (free, bound):
        worst = group[np.argsort(margin[group], kind="stable")][: min(EXAMPLES, len(group) // 2)]
        doubtful += worst.tolist()
        rest = np.setdiff1d(group, worst)
        typical += most_typical(rest, unit(embedding[rest]), probability[rest])
    return tuple(typical[:EXAMPLES]), tuple(doubtful[:EXAMPLES])


def majority_of(truth: Sequence[str]) -> tuple[str, float]:
    """The most frequent true class and its share; "" and NaN where the truth is not known."""
    truths = Counter(one for one in truth if one).most_common()
    return (truths[0][0], truths[0][1] / sum(count for _, count in truths)) if truths else ("", float("nan"))


def most_typical(
    members: Items, direction: Float[np.ndarray, "some dims"], probability: Float[np.ndarray, " some"]
) -> list[int]:
    """Members with high confidence and close to their mean direction; near-copies of one already chosen come last."""
    centre = unit(direction.sum(0, keepdims=True))[0]
    closeness = direction @ centre
    places = np.argsort(-probability * (1 + closeness), kind="stable")[: 10 * EXAMPLES].tolist()
    copy = 1 - 0.01 * (1 - closeness.sum() / max(len(members), 1))  # a hundredth of the mean distance to the centre
    chosen: list[int] = []
    for place in places:
        if not chosen or (direction[chosen] @ direction[place]).max() < copy:
            chosen.append(place)
    ranked = [*chosen, *(place for place in places if place not in chosen)][:EXAMPLES]
    return members[ranked].tolist()
