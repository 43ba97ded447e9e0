"""Arrays of numbers as users give them."""

from __future__ import annotations

import numpy as np

from novakind.errors import UserError


def finite(X: np.ndarray) -> np.ndarray:
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
