"""The space in which classes are counted: principal axes, scaled so that every class has unit covariance.

Items spread around the mean of their class with a covariance that all classes are taken to share (the two-covariance
model of speaker verification); it is measured on labeled items.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

AXES = 48  # principal axes that are kept: what lies beyond them is mostly noise within classes

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " items"]


def principal(rows: Rows, axes: int = AXES) -> Float[np.ndarray, "items axes"]:
    """The coordinates along which the rows vary most."""
    from sklearn.utils.extmath import randomized_svd

    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    if min(rows.shape) <= 2 * axes:
        return centred @ np.linalg.svd(centred, full_matrices=False)[2][:axes].T
    return centred @ randomized_svd(centred, axes, random_state=0)[2].T


def whiten(rows: Rows, labels: Labels) -> Rows:
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
    return (rows - rows.mean(0)) @ (axes / np.sqrt(np.maximum(scale, 1e-12)))


def finest(rows: Rows, count: int) -> Labels:
    """Small clusters to begin with, by Ward's method."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if count >= len(rows) or len(rows) < 3:
        return np.arange(len(rows))
    return np.unique(fcluster(linkage(rows, "ward"), count, "maxclust"), return_inverse=True)[1].astype(np.int64)
