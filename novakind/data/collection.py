"""Collection: the items, their labels (-1 = unlabeled), the names of the known classes; and how arrays become one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from novakind.errors import UserError
from novakind.modality import Modality
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.series import Series

Labels = Int[np.ndarray, " items"]
SHORTEST = 8  # samples of a series


@dataclass(frozen=True)
class Collection:
    """Items of one modality, some of them labeled.

    `labels[i]` indexes `classes`, or is -1. `truth[i]` indexes `truth_classes`, which begins with `classes`, or is -1
    where unknown: it is never trained on, only scored against. `official_test` marks the test part of a data set that
    was published with one. `groups` number what items have in common beside their class, such as the person who was
    recorded: a test on other people is harder than one on other moments of the same people.
    """

    name: str
    items: np.ndarray
    labels: Labels
    classes: tuple[str, ...]
    modality: Modality
    paths: tuple[str, ...]
    truth: Labels
    truth_classes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    official_test: Bool[np.ndarray, " items"] | None = None
    groups: Mapping[str, Labels] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def digest(self) -> str:
        """Changes with names, labels and items (of which at most 4,096 or 64 MB are read): a run resumes only with its
        own data."""
        summary = hashlib.sha256(repr((self.modality.settings(), self.classes, self.paths)).encode())
        summary.update(np.ascontiguousarray(self.labels, dtype=np.int64).tobytes())
        if self.official_test is not None:
            summary.update(np.packbits(self.official_test).tobytes())
        read = min(4096, max(1, 2**26 // max(1, self.items[:1].nbytes)))
        some = self.items[:: max(1, len(self.items) // read)]
        summary.update(np.ascontiguousarray(some).data)
        return summary.hexdigest()[:16]


def from_arrays(X: np.ndarray, y: np.ndarray, name: str = "arrays") -> Collection:
    """Vectors (N x D), uint8 pictures (N x H x H [x 3]), series (N x T x C); y: classes; -1, None or "" unlabeled."""
    if X.ndim == 0 or y.ndim != 1:
        raise UserError(
            f"X of shape {X.shape} and y of shape {y.shape} do not fit: give one row of X and one entry of y an item"
        )
    if len(X) != len(y):
        raise UserError(f"X has {len(X)} items and y has {len(y)}, but each item needs one entry of y (-1 = unlabeled)")
    if len(X) == 0:
        raise UserError("X holds no item, but training needs some: give an array with at least one row")
    labels, classes = encode_labels(y)
    items, modality = as_items(X)
    names = tuple(str(number) for number in range(len(X)))
    return Collection(name, items, labels, classes, modality, names, labels, classes)


def as_items(X: np.ndarray) -> tuple[np.ndarray, Modality]:
    """Rows for the store's place in a Collection, and the modality that fits them."""
    if X.ndim == 2 and X.size:
        items = check_features(X)
        return items, Features.of(items)
    if X.ndim in (3, 4) and X.dtype == np.uint8 and (X.ndim == 3 or X.shape[3] in (1, 3)) and X.shape[1] == X.shape[2]:
        planes = X[:, None] if X.ndim == 3 else X.transpose(0, 3, 1, 2)
        items = np.ascontiguousarray(np.broadcast_to(planes, (len(X), 3, *X.shape[1:3])))
        return items, Image(X.shape[1]).fitted(items)
    if X.ndim == 3 and X.dtype != np.uint8 and X.shape[1] >= SHORTEST and 0 < X.shape[2] != X.shape[1]:
        items = np.ascontiguousarray(check_features(X).transpose(0, 2, 1))
        return items, Series(tuple(str(number + 1) for number in range(X.shape[2])), X.shape[1]).fitted(items)
    raise UserError(
        f"X of shape {X.shape} and type {X.dtype} is neither vectors (N x D), nor square uint8 pictures "
        f"(N x H x H or N x H x H x 3), nor series (N x T x C, T at least {SHORTEST} and other than C): "
        "reshape or convert it"
    )


def check_features(X: np.ndarray) -> np.ndarray:
    """X as float32; a value that is not a finite number is refused with its place."""
    try:
        with np.errstate(over="ignore"):  # beyond float32: infinite, and refused below
            items = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise UserError(
            f"X of type {X.dtype} is not numeric, but features must be numbers: convert it to float"
        ) from None
    bad = ~np.isfinite(items)
    if bad.any():
        row, column, *_ = np.argwhere(bad)[0].tolist()
        raise UserError(
            f"X holds {int(bad.sum())} values that are not finite numbers, the first in row {row}, column {column}: "
            "remove or fill them in"
        )
    return items


def encode_labels(y: np.ndarray) -> tuple[Labels, tuple[str, ...]]:
    """Integers into the sorted names of the classes; -1, None, NaN and "" are unlabeled."""
    values = [None if _is_missing(value) else value for value in np.asarray(y).tolist()]
    present = sorted({value for value in values if value is not None}, key=lambda v: (isinstance(v, str), v))
    number = {value: index for index, value in enumerate(present)}
    labels = np.array([-1 if value is None else number[value] for value in values], dtype=np.int64)
    return labels, tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in present)


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value == -1 or value != value  # NaN differs from itself
