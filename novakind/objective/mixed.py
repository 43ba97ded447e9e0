"""Are known classes among the unlabeled items, and which items are of them? Spies tell it.

Spies are labeled items that are taken for unlabeled ones (Liu et al., 2002). All items are clustered, known classes at
their labeled items, and each unlabeled item leans to a known class or to a new one, by more or by less. Unlabeled items
of known classes lean as spies do. So however far spies lean, no smaller part of the known items does, and the share of
the known is at most the ratio of both; where novel classes lie apart from known ones it is that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from novakind.objective.centres import labeled_means, settled, unit
from novakind.objective.space import whiten
from novakind.objective.ward import ward

SENT, TIMES = 1 / 3, 3  # so many labeled items of a class are spies, so many times
FEWEST = 10  # spies that tell something
SEEN = 0.2  # of the spies at least must lean so far: with fewer, chance decides
LEAST = 0.08  # a smaller share is none
TOO_FEW = 1.05  # a ratio that is the least of many is too small by about that
SHARE = 0.3  # where nothing tells it, but there are some

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


class Spies(NamedTuple):
    """How far items lean to known classes, from -2 to 2."""

    spies: Float[np.ndarray, " spies"]
    others: Float[np.ndarray, "times unlabeled"]
    right: float
    """How much better than by chance spies are recognised as their class, where only known ones compete: 0 to 1."""

    @property
    def share(self) -> float:
        """Of the unlabeled items, of known classes."""
        if len(self.spies) < FEWEST:
            return 0.0
        levels = np.quantile(self.spies, np.linspace(0.02, 1 - SEEN, 40))
        return min(1.0, *(float((self.others >= one).mean() / (self.spies >= one).mean()) for one in levels))


def send(rows: Rows, labels: Labels, novel: int, rng: np.random.Generator) -> Spies:
    """Rows on their principal axes, and about how many novel classes there may be; rather too many than too few."""
    known, lean, others, right = int(labels.max()) + 1, [], [], []
    for _ in range(TIMES):
        spy = np.zeros(len(labels), dtype=bool)
        for one in range(known):
            members = rng.permutation(np.flatnonzero(labels == one))
            spy[members[: int(SENT * len(members))]] = True
        seen = np.where(spy, -1, labels)
        space = unit(whiten(rows, seen))
        means, free = labeled_means(space, seen), space[seen < 0]
        sizes = np.bincount(seen[seen >= 0], minlength=known).astype(np.float64)
        found = ward(free, min(novel, len(free) // 2), 0, means, sizes)
        near = space @ unit(settled(space, seen, [found])).T
        leaning = near[:, :known].max(1) - near[:, known:].max(1, initial=-1.0)
        lean.append(leaning[spy])
        others.append(leaning[labels < 0])
        right.append(near[spy, :known].argmax(1) == labels[spy])
    told, chance = np.concatenate(right), 1 / known
    better = float((told.mean() - chance) / (1 - chance)) if known > 1 and len(told) else 1.0
    return Spies(np.concatenate(lean), np.stack(others), better)


def known_ones(spies: Spies, mixed: bool | None = None, share: float = 0.0) -> Bool[np.ndarray, " unlabeled"]:
    """Which of the unlabeled items are of known classes: those that lean most, as many as `share` says where it is
    given, else as the spies tell; none where `mixed` denies it or the spies see none."""
    told = spies.share if len(spies.spies) >= FEWEST or mixed is not True else SHARE
    if mixed is False or (mixed is None and told < LEAST):
        told = 0.0
    lean = spies.others.mean(0)
    inside = np.zeros(len(lean), dtype=bool)
    inside[np.argsort(-lean, kind="stable")[: round((share or min(TOO_FEW * told, 1.0)) * len(lean))]] = True
    return inside
