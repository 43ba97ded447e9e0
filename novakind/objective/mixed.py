"""Are known classes among the unlabeled items, and which items are of them?

Two looks, in a space where every class has unit covariance. The *core* of the known classes, as labeled items see it
that were held out: unlabeled items of known classes would lie in it as densely as those, so it says how many there are
at most of the known, and it is empty where there are none; it is always too low. And small clusters that *merge* into
labeled classes, at a grain finer than that of classes: right where classes lie apart, far too many where novel
classes are much like known ones, as among photographs. So the second is believed as far as the first allows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from novakind.objective.merging import Space, finest, gathered, merge

FINER = 7  # times finer is the grain at which items are recognised as known
CORE, EMPTY = 0.1, 0.06  # share of the known items in the core of their classes; none are mixed in below this
TIMES, MORE = 1.5, 0.05  # the share is at most so many times the core's, and so much more

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


class Spies(NamedTuple):
    """Labeled items that were held out, as the class means of the others see them."""

    squares: Float[np.ndarray, " items"]
    """Squared distance to the nearest mean."""
    right: float
    """How much better than by chance they are recognised: 0 to 1."""


def known_ones(
    space: Space, labels: Labels, spies: Spies, mixed: bool | None = None, share: float = 0.0
) -> Bool[np.ndarray, " unlabeled"]:
    """Which of the unlabeled items are of known classes: as many as `share` says, where it is given; else none where
    `mixed` denies it or the core is empty of them."""
    none = np.zeros(int((labels < 0).sum()), dtype=bool)
    filled = core(space.rows, labels, spies)
    if not share and (mixed is False or (mixed is None and filled < EMPTY)):
        return none
    inside = ~none if share else recognised(space, labels)
    most = int((share or TIMES * filled + MORE) * len(inside))
    if inside.sum() > most:  # those that lie nearest to a known class
        near = np.where(inside, squared(space.rows[labels < 0], means_of(space.rows, labels)).min(1), np.inf)
        inside = none
        inside[np.argsort(near, kind="stable")[:most]] = True
    return inside


def recognised(space: Space, labels: Labels) -> Bool[np.ndarray, " unlabeled"]:
    """Small clusters merge into known classes, at a grain that fits the size that those then have."""
    known, free = int(labels.max()) + 1, space.rows[labels < 0]
    small = finest(free, min(len(free) // 6, 400))
    labeled = labels >= 0
    members = np.concatenate([labels[labeled], known + small])
    clusters = gathered(np.concatenate([space.rows[labeled], free]), members, known)
    inside, share = np.zeros(len(free), dtype=bool), 0.0
    for _ in range(4):
        grain = max((labeled.sum() + share * len(free)) / known / FINER, 0.5)
        inside = merge(clusters, space.spread, [grain])[0][known:][small] < known
        if abs(inside.mean() - share) < 0.005:
            break
        share = float(inside.mean())
    return inside


def held_out(rows: Rows, labels: Labels, rng: np.random.Generator) -> Spies:
    """A fifth of the labeled items at a time."""
    labeled, known = np.flatnonzero(labels >= 0), int(labels.max()) + 1
    folds, found, right = rng.integers(5, size=len(labeled)), np.full(len(labeled), np.inf), np.zeros(len(labeled))
    for fold in range(5):
        means = [rows[labeled[(labels[labeled] == one) & (folds != fold)]] for one in range(known)]
        centres = np.stack([members.mean(0) if len(members) else np.full(rows.shape[1], 1e9) for members in means])
        here = folds == fold
        squares = squared(rows[labeled[here]], centres)
        found[here], right[here] = squares.min(1), squares.argmin(1) == labels[labeled[here]]
    chance = 1 / known
    return Spies(found, float((right.mean() - chance) / (1 - chance)) if known > 1 else 1.0)


def core(rows: Rows, labels: Labels, spies: Spies) -> float:
    """At most how many of the unlabeled items are of known classes: in the core of those classes they would lie as
    densely as the spies."""
    others = squared(rows[labels < 0], means_of(rows, labels)).min(1)
    radii = np.quantile(spies.squares, np.linspace(CORE, 0.95, 30))
    return min(float((others <= radius).mean() / (spies.squares <= radius).mean()) for radius in radii)


def means_of(rows: Rows, labels: Labels) -> Float[np.ndarray, "classes dim"]:
    return np.stack([rows[labels == one].mean(0) for one in range(int(labels.max()) + 1)])


def squared(rows: Rows, means: Float[np.ndarray, "classes dim"]) -> Float[np.ndarray, "items classes"]:
    return (rows**2).sum(1)[:, None] - 2 * rows @ means.T + (means**2).sum(1)
