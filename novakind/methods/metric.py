"""Which differences between vectors matter? The known classes show it, and novel ones are much like them.

Items spread around the mean of their class with a covariance W that all classes are taken to share; it is measured on
the labeled items, half of it replaced by a round one, more where these are few: else they would seem closer to each
other than others of their classes are to them, which then pass for novel ones. Scaled by W, what varies within classes
is noise of size 1. An axis along which all items, unlabeled ones too, vary no more than that tells no class from
another, and counts less (as in the two-covariance model of speaker recognition; Ioffe, 2006).

Whether it helps is tried: labeled items that did not teach it must be told from all other classes, those among the
unlabeled items too, better than without it.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.centres import unit

WIDEST = 512  # axes that are looked at
ROUND, FEW = 0.5, 2  # least share of the round covariance; so many labeled items for each number reach it
SOME = 3000  # items of a trial
GAIN = 0.005  # of the held-out items: so many more must be told apart
SHUFFLES, PARTS = 2, 3  # each part of the items is held out once in a shuffle

Rows = Float[np.ndarray, "items numbers"]
Labels = Int[np.ndarray, " items"]


class Metric(NamedTuple):
    """A linear map: rows are shifted, then seen along these axes."""

    mean: Float[np.ndarray, " numbers"]
    axes: Float[np.ndarray, "axes numbers"]
    learnt: bool = True

    def __call__(self, rows: Rows) -> Float[np.ndarray, "items axes"]:
        return (rows - self.mean) @ self.axes.T


def learn_metric(rows: Rows, labels: Labels, dim: int, seed: int, novel: int) -> Metric:
    """At most `dim` axes, as the known classes suggest, or the leading ones where they suggest nothing.

    `novel` is how many classes the unlabeled items have beside known ones.
    """
    plain = Metric(np.zeros(rows.shape[1], np.float32), leading_axes(rows, dim), False)
    seen = leading_axes(rows, min(WIDEST, rows.shape[1]))
    inner = rows @ seen.T
    found = within_known(inner, labels, dim)
    rng = np.random.default_rng([seed, 8])
    if found is None or not tells_apart(inner, labels, dim, novel, rng):
        return plain
    return Metric((found.mean @ seen).astype(np.float32), (found.axes @ seen).astype(np.float32))


def within_known(rows: Rows, labels: Labels, dim: int) -> Metric | None:
    """Axes scaled by the spread within the known classes, those that tell classes apart first; None: too few items."""
    classes = [rows[labels == number] for number in np.unique(labels[labels >= 0])]
    residues = np.concatenate([members - members.mean(0) for members in classes if len(members) > 1] or [rows[:0]])
    spare = len(residues) - len(classes)
    scale = np.square(residues).sum() / max(spare, 1) / rows.shape[1]
    if spare < 10 or len(classes) < 2 or scale < 1e-9:
        return None
    share = round_share(rows.shape[1], spare)
    within = (1 - share) * residues.T.astype(np.float64) @ residues / spare + share * scale * np.eye(rows.shape[1])
    sizes, turn = np.linalg.eigh(within)
    whiten = turn / np.sqrt(sizes)
    mean = rows.mean(0, dtype=np.float64)
    total, axes = np.linalg.eigh(np.cov(((rows - mean) @ whiten).T, bias=True).reshape(len(sizes), -1))
    noise = np.square(residues @ whiten @ axes).sum(0) / spare
    weight = np.sqrt(np.clip(1 - noise / np.maximum(total, 1e-12), 1e-3, 1))
    first = np.argsort(noise - total, kind="stable")[:dim]
    found = (whiten @ axes * weight).T[first]
    return Metric(mean, found * np.sqrt(len(found)) / np.linalg.norm(found))


def round_share(numbers: int, items: int) -> float:
    """Of the covariance of so many numbers that so many items tell: the part that a round one replaces."""
    return max(ROUND, FEW * numbers / (FEW * numbers + items))


def tells_apart(rows: Rows, labels: Labels, dim: int, novel: int, rng: np.random.Generator) -> bool:
    """Whether held-out labeled items are nearest to the mean of their class more often with a metric that others teach.

    Beside the means of the known classes stand the centres of clusters of the unlabeled items; nearest is by angle, as
    prototypes are compared.
    """
    gains = []
    for _ in range(SHUFFLES):
        some = rng.permutation(len(rows))[:SOME]
        for part in range(PARTS):
            there = some[part::PARTS]
            here = np.setdiff1d(some, there)
            metric = within_known(rows[here], labels[here], dim)
            if metric is not None and (labels[there] >= 0).any() and (labels[here] < 0).sum() >= novel:
                seen = [(rows[here], rows[there]), (metric(rows[here]), metric(rows[there]))]
                without, with_it = (recognised(*pair, labels[here], labels[there], novel) for pair in seen)
                gains.append(with_it - without)
    return bool(gains) and float(np.mean(gains)) >= GAIN


def recognised(
    rows: Rows,
    others: Float[np.ndarray, "others numbers"],
    labels: Labels,
    truth: Int[np.ndarray, " others"],
    novel: int,
) -> float:
    """How many labeled ones of the other rows are nearest to the mean of their class among these rows."""
    from sklearn.cluster import KMeans

    known = np.unique(labels[labels >= 0])
    rows, others, truth = unit(rows), unit(others[truth >= 0]), truth[truth >= 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of more clusters than distinct items
        found = KMeans(novel, n_init=1, random_state=0).fit(rows[labels < 0]).cluster_centers_
    centres = unit(np.concatenate([np.stack([rows[labels == number].mean(0) for number in known]), found]))
    nearest = (others @ centres.T).argmax(1)
    return float((np.append(known, np.full(novel, -1))[nearest] == truth).mean())


def leading_axes(rows: Rows, dim: int) -> Float[np.ndarray, "axes numbers"]:
    """The `dim` directions that hold most of the rows' squared length; where there are no more than that, all as they
    are."""
    wide = rows.shape[1]
    if dim >= wide:
        return np.eye(wide, dtype=np.float32)
    gram = rows.T.astype(np.float64) @ rows
    return np.linalg.eigh(gram)[1][:, : -dim - 1 : -1].T.astype(np.float32)
