"""Data sets by name, completely labeled: which of their classes are novel is decided by --known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

from novakind.data import Collection, from_arrays


def digits() -> Collection:
    """scikit-learn's handwritten digits."""
    return from_arrays(*digit_pictures(), "digits")


def digit_pictures() -> tuple[np.ndarray, np.ndarray]:
    """1,797 pictures of 8 x 8 pixels, their 17 tones spread over 0 to 255; and the digits."""
    X, y = load_digits(return_X_y=True)
    return np.round(X * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8), y


DATASETS: dict[str, Callable[[], Collection]] = {"digits": digits}
