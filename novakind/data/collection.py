"""Collection: the items, their labels (-1 = unlabeled), the names of the known classes; and how arrays become one."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from novakind.encoders.origin import Origin
from novakind.errors import UserError
from novakind.modality import Modality, from_array
from novakind.rows import Items

Labels = Int[np.ndarray, " items"]


@dataclass(frozen=True)
class Decided:
    """What a person made of an earlier run on these items: in such a round, labels may be of any category."""

    names: tuple[str, ...]
    """Of all K categories: the known classes, then the others. Their numbers are those of the earlier run."""
    into: tuple[int, ...]
    """The living category that each belongs to: itself, or the one that it was merged into; -1 for none."""
    named: tuple[bool, ...]
    barred: Mapping[int, Sequence[int]]
    """By item: the categories that it is not of."""
    confirmed: Bool[np.ndarray, " items"]
    """Whether its label is what a person said in a review."""
    taught: Bool[np.ndarray, " items"]
    """Whether its label is to be learnt from but may change."""
    before: Labels
    """The category that it was in; -1 for an item that is new."""

    def is_barred(self, items: Int[np.ndarray, " some"]) -> Bool[np.ndarray, "some categories"] | None:
        """Which categories these items are not of; None where nothing is known of any."""
        rows = [(row, number) for row, item in enumerate(items.tolist()) for number in self.barred.get(item, ())]
        if not rows:
            return None
        marks = np.zeros((len(items), len(self.names)), dtype=bool)
        marks[tuple(np.array(rows).T)] = True
        return marks


@dataclass(frozen=True)
class Collection:
    """Items of one modality, some of them labeled.

    `labels[i]` indexes `classes`, or, in a round that goes on from another, `decided.names`; or is -1. `truth[i]`
    indexes `truth_classes`, which begins with `classes`, or is -1 where unknown: it is never trained on, only scored
    against. `official_test` marks the test part of a data set that was published with one. `groups` number what items
    have in common beside their class, such as the person who was recorded: a test on other people is harder than one
    on other moments of the same people.
    """

    name: str
    items: Items
    labels: Labels
    classes: tuple[str, ...]
    modality: Modality
    paths: tuple[str, ...]
    truth: Labels
    truth_classes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    official_test: Bool[np.ndarray, " items"] | None = None
    groups: Mapping[str, Labels] = field(default_factory=dict)
    before: Collection | None = None
    """What the items were before a frozen encoder turned them into vectors."""
    origin: Origin | None = None
    """The published encoder that looks at the items, or looked at those before."""
    decided: Decided | None = None
    unkept: str = ""
    """Why vectors could not be kept for another time; "" where they are, or there are none."""

    def __len__(self) -> int:
        return len(self.labels)

    def digest(self) -> str:
        """Changes with names, labels and items (of which at most 4,096 or 64 MB are read): a run resumes only with its
        own data."""
        if self.before is not None:  # vectors may differ in their last digit from machine to machine
            return self.before.digest()
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


def from_arrays(
    X: np.ndarray, y: Any, name: str = "arrays", reading: Any = None, names: Sequence[str] | None = None
) -> Collection:
    """Vectors (N x D), uint8 pictures (N x H x H [x 3]), series (N x T x C), texts; y: classes, see `known_classes`.

    Items without names are called by the numbers of their rows.
    """
    y = as_labels(y)
    if X.ndim == 0 or y.ndim != 1:
        raise UserError(
            f"X of shape {X.shape} and y of shape {y.shape} do not fit: give one row of X and one entry of y per item"
        )
    if len(X) != len(y):
        raise UserError(f"X has {len(X)} items and y has {len(y)}, but each item needs one entry of y (-1 = unlabeled)")
    items, modality = from_array(X, reading)
    if len(X) == 1:
        raise UserError("X holds one item (n_samples=1), but training needs labeled and unlabeled ones: give more rows")
    labels, classes = encode_labels(y)
    paths = tuple(names or (str(number) for number in range(len(X))))
    return Collection(name, items, labels, classes, modality, paths, labels, classes)


def encode_labels(y: Any) -> tuple[Labels, tuple[str, ...]]:
    """Numbers into the names of the classes, which are sorted and never alike; -1 where `known_classes` finds none."""
    labels, classes = known_classes(y)
    names = tuple(
        str(value).removesuffix(".0") if isinstance(value, float | np.floating) else str(value) for value in classes
    )
    if len(set(names)) < len(names):
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise UserError(
            f"y holds two classes that are both written {twice}, one as a number and one as a string: use one of them"
        )
    return labels, names


def known_classes(y: Any) -> tuple[Labels, np.ndarray]:
    """Numbers into the sorted classes as `y` has them; -1 for what is unlabeled.

    Unlabeled are -1, None, NaN, NA, "" and masked entries, whatever the type of `y`; so is the string "-1", which is
    what numpy makes of a -1 among strings. Truth values are classes.
    """
    y = as_labels(y)
    if y.dtype.kind in "OT":  # T: strings of variable length
        return _classes_of_objects(y.tolist())
    if y.dtype.kind not in "biufU":
        raise UserError(f"y of type {y.dtype} holds no classes: give strings, whole numbers, fractions or truth values")
    missing = np.isin(y, ["", "-1"]) if y.dtype.kind == "U" else (y == -1) | (y != y)
    labels = np.full(len(y), -1, dtype=np.int64)
    classes, labels[~missing] = np.unique(y[~missing], return_inverse=True)
    if y.dtype.kind == "f" and np.isinf(classes).any():
        raise UserError("y contains infinity, which is no class: give numbers, or -1 for unlabeled items")
    return labels, classes


def with_new(known: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """The known classes, then new ones: whole numbers that go on after the largest known one, or these names."""
    if known.dtype.kind in "biuf":
        first = max(math.floor(known.max()) + 1, 0)  # never -1, which means unlabeled
        new = range(first, first + len(names))
        wide = np.int64 if known.dtype.kind == "b" else known.dtype
        every = np.array([*known.tolist(), *new], dtype=np.result_type(wide, np.min_scalar_type(new[-1])))
        if len(np.unique(every)) == len(every):  # beyond 2^53 the next fraction is not the next number
            return every
    text = all(isinstance(value, str) for value in known)
    return np.array([*known.tolist(), *names], dtype=None if text else object)


def class_values(names: tuple[str, ...], known: int) -> np.ndarray:
    """Of a model from files: names of classes, as numbers where all known ones are whole numbers."""
    if all(re.fullmatch("0|-?[1-9][0-9]*", name) for name in names[:known]):
        return with_new(np.array([int(name) for name in names[:known]]), names[known:])
    return np.array(names)


def as_labels(y: Any) -> np.ndarray:
    """An array in which every entry keeps its type, and masked ones are None."""
    if isinstance(y, np.ma.MaskedArray):
        unmasked = y.data.astype(object)
        unmasked[np.ma.getmaskarray(y)] = None
        return unmasked
    return np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)


def _classes_of_objects(values: list[Any]) -> tuple[Labels, np.ndarray]:
    """The same for values of several types: numbers come before strings."""
    present = [None if _is_missing(value) else _plain(value) for value in values]
    classes = sorted({value for value in present if value is not None}, key=lambda v: (isinstance(v, str), v))
    number = {value: index for index, value in enumerate(classes)}
    labels = np.array([-1 if value is None else number[value] for value in present], dtype=np.int64)
    mixed = len({isinstance(value, str) for value in classes}) > 1
    return labels, np.array(classes, dtype=object if mixed else None)


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, str):
        return value in ("", "-1")
    try:
        return bool(value != value or value == -1)  # NaN and NaT differ from themselves
    except TypeError:  # NA of pandas says neither yes nor no
        return True
    except ValueError:  # an array does not either
        return False


def _plain(value: Any) -> str | float:
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | int | float) or value in (np.inf, -np.inf):
        raise UserError(f"y holds {value!r}, which is no class: give strings, whole numbers, fractions or truth values")
    return value
