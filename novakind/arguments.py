"""What Python users give to the estimator, checked and brought into the form that settings and collections have."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from novakind.errors import UserError
from novakind.modality.strings import as_texts, has_strings

ARGUMENTS = {"novel": "n_novel", "prior": "prior", "encoder": "encoder", "epochs": "epochs", "seed": "random_state"}


def check_labels(labels: np.ndarray) -> None:
    if not (labels >= 0).any():
        raise UserError(
            "y labels no item, but novakind learns what a class is from known ones: give some items their class"
        )
    if not (labels < 0).any():
        raise UserError(
            "y labels every item, so there is nothing to discover: give -1 to the items that are to be sorted"
        )


def check_settings(settings: Any) -> dict[str, Any]:
    """Settings by name, none of which an argument decides."""
    if settings is None:
        return {}
    if not isinstance(settings, Mapping):
        raise UserError(f'settings={settings!r} is no dict: give settings by their names, e.g. {{"optim.lr": 0.05}}')
    for name in settings:
        if not isinstance(name, str):
            raise UserError(f'settings={settings!r} has the name {name!r}, which is no text: write e.g. "optim.lr"')
        if name in ARGUMENTS:
            raise UserError(
                f"settings={{{name!r}: {settings[name]!r}}} has an argument of its own, and both cannot hold: "
                f"give {ARGUMENTS[name]}={settings[name]!r} instead"
            )
    return dict(settings)


def as_seed(random_state: Any) -> int:
    """A seed from what scikit-learn takes for one."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    raise UserError(f"random_state={random_state!r} is no seed: give a whole number, a numpy generator, or None")


def as_shares(prior: Any) -> str:
    """A prior as the settings hold it."""
    if isinstance(prior, str):
        return prior
    try:
        return ",".join(repr(float(share)) for share in prior)
    except (TypeError, ValueError):
        raise UserError(
            f'prior={prior!r} is no prior: give "auto", "uniform", or shares such as (0.5, 0.25, 0.25)'
        ) from None


def as_array(X: Any) -> np.ndarray:
    """X as it is, or as the array that it stands for; a masked value becomes NaN, a column of texts a list of them."""
    if issparse(X):
        raise UserError("X is sparse, but novakind takes dense arrays only: give X.toarray()")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64), np.nan) if np.ma.is_masked(X) else X.data
    try:
        array = np.asarray(X, dtype=object if has_strings(X) else None)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"X cannot be made an array ({error}): give rows of equal length") from None
    texts = as_texts(array)
    return array if texts is None else texts
