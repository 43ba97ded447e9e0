"""Outcome: the items of a run as they stand: which label may be learnt from, and what is only suggested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from novakind.runs.discovery import Discovery

COLUMNS = ("label", "category", "status", "suggested", "probability")


@dataclass(frozen=True)
class Outcome:
    """Columns with one entry per item, for exports of every form."""

    paths: Sequence[str]
    category: Sequence[str]
    """The name of the category that the item is in."""
    status: Sequence[str]
    """labeled: it came with this label; confirmed: a person said so; suggested: the model did; ignored: a person left
    it out."""
    suggested: Sequence[str]
    """The model's own answer, of labeled items too."""
    probability: Float[np.ndarray, " items"]
    names: Sequence[str]
    """Of all categories that an item may be in."""
    label: Sequence[str]
    """What a next round may learn from, "" for the rest: labels that were given, and what a person confirmed to be of a
    known class or of a category that has a name."""

    def rows(self) -> list[dict[str, object]]:
        """The columns that say what an item is, by item."""
        columns = [getattr(self, name) for name in COLUMNS]
        return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


def outcome(discovery: Discovery) -> Outcome:
    """What the run found, and what a person made of it."""
    return Outcome(
        discovery.paths,
        discovery.final,
        discovery.status,
        [discovery.names[number] for number in discovery.category],
        discovery.probability,
        [category.name for category in discovery.categories if category.alive],
        discovery.certain,
    )
