"""Which clusters are one class? Two Gaussians' worth of theory, and a merge tree.

Items spread around the mean of their class with a covariance W that all classes share, and the means spread with B (the
two-covariance model of speaker verification). W is measured on labeled items, W + B on all of them, so B covers classes
that nobody has named. Two clusters are one class if one mean explains them better than two do. That verdict grows with
their size, as if items were independent draws from a Gaussian, which they never are: so `grain` items count as one.
From the finest grain to the coarsest, clusters only merge: a tree; the grain at which a merge happens is its height.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

AXES = 48  # principal axes that are kept: what lies beyond them is mostly noise within classes
LEAST = 0.05  # spread of class means along an axis, in units of that within classes

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]
Places = Int[np.ndarray, " clusters"]


class Space(NamedTuple):
    """Items where every class has unit covariance, and how far class means spread along each axis."""

    rows: Rows
    spread: Float[np.ndarray, " dim"]


def principal(rows: Rows, axes: int = AXES) -> Float[np.ndarray, "items axes"]:
    """The coordinates along which the rows vary most."""
    from sklearn.utils.extmath import randomized_svd

    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    if min(rows.shape) <= 2 * axes:
        return centred @ np.linalg.svd(centred, full_matrices=False)[2][:axes].T
    return centred @ randomized_svd(centred, axes, random_state=0)[2].T


def whiten(rows: Rows, labels: Labels) -> Space:
    """Scale by the covariance within the labeled classes, shrunk to its diagonal as far as there are few of them.

    Without two items of any class nothing is known of it: the covariance of all items, at a tenth, stands in.
    """
    total = np.cov(rows.T, bias=True).reshape(rows.shape[1], -1) + 1e-12 * np.eye(rows.shape[1])
    labeled = np.flatnonzero(labels >= 0)
    classes = np.unique(labels[labeled])
    free = len(labeled) - len(classes)
    within = 0.1 * total
    if free > 2:
        from sklearn.covariance import ledoit_wolf_shrinkage

        means = np.stack([rows[labels == number].mean(0) for number in classes])
        apart = rows[labeled] - means[np.searchsorted(classes, labels[labeled])]
        found, shrink = apart.T @ apart / free, ledoit_wolf_shrinkage(apart, assume_centered=True)
        within = (1 - shrink) * found + shrink * np.diag(np.diag(found))
        within += 1e-3 * max(np.trace(within), 1e-9) / len(within) * np.eye(len(within))
    scale, axes = np.linalg.eigh(within)
    axes = axes / np.sqrt(np.maximum(scale, 1e-12))
    spread, turn = np.linalg.eigh(axes.T @ total @ axes)
    return Space((rows - rows.mean(0)) @ axes @ turn, np.maximum(spread - 1, LEAST))


def finest(rows: Rows, count: int) -> Labels:
    """Small clusters to begin with, by Ward's method."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if count >= len(rows) or len(rows) < 3:
        return np.arange(len(rows))
    return np.unique(fcluster(linkage(rows, "ward"), count, "maxclust"), return_inverse=True)[1].astype(np.int64)


class Clusters(NamedTuple):
    """Means and sizes; the first `anchors` of them are known classes, which never merge with each other."""

    means: Rows
    sizes: Float[np.ndarray, " clusters"]
    anchors: int = 0


def gathered(rows: Rows, members: Labels, anchors: int = 0) -> Clusters:
    count = int(members.max(initial=-1)) + 1
    sizes, means = np.bincount(members, minlength=count).astype(float), np.zeros((count, rows.shape[1]))
    np.add.at(means, members, rows)
    return Clusters(means / np.maximum(sizes, 1)[:, None], sizes, anchors)


def merge(clusters: Clusters, spread: Float[np.ndarray, " dim"], grains: Sequence[float]) -> list[Places]:
    """For each grain, finest first, the cluster that each one has become a part of, by the number of its first part."""
    means, sizes = clusters.means.copy(), clusters.sizes.copy()
    names, place, anchor = np.arange(len(sizes)), np.arange(len(sizes)), np.arange(len(sizes)) < clusters.anchors
    found: list[Places] = []
    for grain in grains:
        gain = gains(means, sizes / grain, spread, anchor, np.arange(len(sizes)))
        while len(sizes) > 1 and gain.max() > 0:
            best, most = gain.argmax(1), gain.max(1)
            mutual = (most > 0) & (best[best] == np.arange(len(best))) & (np.arange(len(best)) < best)
            first = np.flatnonzero(mutual) if mutual.any() else most.argmax(keepdims=True)
            second = best[first]
            first, second = np.where(anchor[second], second, first), np.where(anchor[second], first, second)
            joint = sizes[first] + sizes[second]
            means[first] = (sizes[first, None] * means[first] + sizes[second, None] * means[second]) / joint[:, None]
            sizes[first] = joint
            for keep, lose in zip(names[first], names[second], strict=True):
                place[place == lose] = keep
            left = np.setdiff1d(np.arange(len(sizes)), second)
            means, sizes, names, anchor, gain = (
                means[left],
                sizes[left],
                names[left],
                anchor[left],
                gain[np.ix_(left, left)],
            )
            changed = np.searchsorted(left, first)
            fresh = gains(means, sizes / grain, spread, anchor, changed)
            gain[changed], gain[:, changed] = fresh, fresh.T
        found.append(place.copy())
    return found


def gains(
    means: Rows,
    weights: Float[np.ndarray, " clusters"],
    spread: Float[np.ndarray, " dim"],
    anchor: Bool[np.ndarray, " clusters"],
    rows: Int[np.ndarray, " rows"],
) -> Float[np.ndarray, "rows clusters"]:
    """Log of how much likelier one common mean is than two: of each of `rows` with every cluster."""
    own, found = evidence(means, weights, spread), np.empty((len(rows), len(weights)))
    for number, row in enumerate(rows):
        joint = weights[row] + weights
        middle = (weights[row] * means[row] + weights[:, None] * means) / joint[:, None]
        apart = ((means[row] - means) ** 2).sum(1) * weights[row] * weights / joint
        found[number] = evidence(middle, joint, spread) - own[row] - own - 0.5 * apart
        found[number, anchor & anchor[row]] = -np.inf
        found[number, row] = -np.inf
    return found


def evidence(
    means: Rows, weights: Float[np.ndarray, " clusters"], spread: Float[np.ndarray, " dim"]
) -> Float[np.ndarray, " clusters"]:
    """Log-likelihood of clusters by their means, up to what no merge changes."""
    variance = spread + 1 / weights[:, None]
    return -0.5 * (np.log(weights[:, None] * variance) + means**2 / variance).sum(1)
