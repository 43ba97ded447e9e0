"""Collection: the items, their labels (-1 = unlabeled), the names of the known classes; and how arrays become one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from novakind.errors import UserError
from novakind.modality import Modality, from_array

Labels = Int[np.ndarray, " items"]


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
        summary = hashlib.sha256(
            repr((self.modality.settings(), self.classes, self.paths)).encode(errors="surrogateescape")
        )
        summary.update(np.ascontiguousarray(self.labels, dtype=np.int64).tobytes())
        if self.official_test is not None:
            summary.update(np.packbits(self.official_test).tobytes())
        read = min(4096, max(1, 2**26 // max(1, self.items[:1].nbytes)))
        some = self.items[:: max(1, len(self.items) // read)]
        summary.update(np.ascontiguousarray(some).data)
        return summary.hexdigest()[:16]


def from_arrays(X: np.ndarray, y: np.ndarray, name: str = "arrays", reading: Any = None) -> Collection:
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
    items, modality = from_array(X, reading)
    names = tuple(str(number) for number in range(len(X)))
    return Collection(name, items, labels, classes, modality, names, labels, classes)


def encode_labels(y: np.ndarray) -> tuple[Labels, tuple[str, ...]]:
    """Integers into the sorted names of the classes; -1, None, NaN and "" are unlabeled."""
    values = [None if _is_missing(value) else value for value in np.asarray(y).tolist()]
    present = sorted({value for value in values if value is not None}, key=lambda v: (isinstance(v, str), v))
    number = {value: index for index, value in enumerate(present)}
    labels = np.array([-1 if value is None else number[value] for value in values], dtype=np.int64)
    return labels, tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in present)


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value == -1 or value != value  # NaN differs from itself
