"""Arrays of numbers as users give them."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real

import numpy as np

from novakind.errors import UserError

PIECE = 2**24  # numbers: 64 MB


def numeric(X: np.ndarray) -> np.ndarray:
    """X with a numeric type; objects are taken where all of them are numbers, as in a table of mixed columns."""
    if X.dtype.kind == "c":
        raise UserError(
            f"Complex data not supported: X is of type {X.dtype}, but features must be real; give X.real or abs(X)"
        )
    if X.dtype.kind == "O":
        other = next((value for value in X.flat if not isinstance(value, Real | np.bool_)), X)
        if other is not X:
            raise UserError(
                f"X of type object holds {other!r} of type {type(other).__name__}, but features must be numbers: "
                "convert or remove it"
            )
        return X.astype(np.float64)
    if X.dtype.kind not in "biuf":
        raise UserError(f"X of type {X.dtype} is not numeric, but features must be numbers: convert it to float")
    return X


def finite(X: np.ndarray) -> np.ndarray:
    """X as float32, itself where it is of that type, or of fractions that lie on disk; a value that is not a finite
    number is refused with its place."""
    with np.errstate(over="ignore"):  # beyond float32: infinite, and refused below
        items = (
            X
            if isinstance(X, np.memmap) and X.dtype.kind == "f" and X.itemsize <= 8
            else np.asarray(X, dtype=np.float32)
        )
    count, place = 0, []
    for start, part in pieces(items):
        with np.errstate(over="ignore"):
            bad = ~np.isfinite(part.astype(np.float32, copy=False))
        if bad.any():
            place = place or (np.argwhere(bad)[0] + [start, *[0] * (items.ndim - 1)]).tolist()
            count += int(bad.sum())
    if count:
        raise UserError(
            f"X holds {count} values that are not finite numbers, the first in row {place[0]}, column {place[1]}: "
            "remove or fill in every NaN and infinity"
        )
    return items


def pieces(X: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """X some rows at a time, each with the number of its first: what is computed of all of it then fits into memory,
    though X itself may stay on disk."""
    rows = max(1, PIECE // max(1, X[:1].size))
    return ((start, X[start : start + rows]) for start in range(0, len(X), rows))
