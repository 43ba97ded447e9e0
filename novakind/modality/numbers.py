"""Arrays of numbers as users give them."""

from __future__ import annotations

from numbers import Real

import numpy as np

from novakind.errors import UserError


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
    """X as float32; a value that is not a finite number is refused with its place."""
    with np.errstate(over="ignore"):  # beyond float32: infinite, and refused below
        items = np.asarray(X, dtype=np.float32)
    bad = ~np.isfinite(items)
    if bad.any():
        row, column, *_ = np.argwhere(bad)[0].tolist()
        raise UserError(
            f"X holds {int(bad.sum())} values that are not finite numbers, the first in row {row}, column {column}: "
            "remove or fill in every NaN and infinity"
        )
    return items
