"""Rows of arrays and of tables of texts: those that a run sorted, found again for an export, or new ones to sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from novakind.data.paths import list_items
from novakind.errors import UserError
from novakind.modality import from_array
from novakind.model import Model, load_model, predict
from novakind.runs.discovery import Discovery
from novakind.runs.folder import Run

SAMPLE = 16  # rows tell whether they are the same ones


def rows_of(given: Path, found: Discovery, run: Path) -> tuple[np.ndarray | None, dict[str, str] | None]:
    """The rows of the items, where all are still there; and what texts say, by name."""
    try:
        listing = list_items(given, labeled=False)
    except UserError:
        return None, None
    if listing.arrays is None:
        return None, None
    X, place = listing.arrays["X"], {name: row for row, name in enumerate(listing.names)}
    rows = [place.get(path, -1) for path in found.paths]
    check_same(given, X, rows, found, run)
    texts = dict(zip(listing.names, X, strict=True)) if X.dtype.kind in "OUT" else None
    return (X if rows == list(range(len(X))) else X[rows]) if min(rows) >= 0 else None, texts


def check_same(given: Path, X: np.ndarray, rows: list[int], found: Discovery, run: Path) -> None:
    """Refuse rows that have the numbers of those that were sorted and other contents: they are named by nothing else.
    New ones at the end change nothing."""
    there = [item for item, row in enumerate(rows) if row >= 0 and found.paths[item].isdecimal()]
    some = there[:: max(1, len(there) // SAMPLE)]
    if not some or not Run(run).model_file.exists():
        return
    model = load_model(Run(run).model_file)
    seen = predict(model, model.look(fitting_rows(X[[rows[item] for item in some]], model, str(given))))[0]
    far = np.linalg.norm(seen - found.embedding[some], axis=1) > 0.1 * (1e-6 + np.linalg.norm(seen, axis=1))
    if far.mean() > 0.1:
        raise UserError(
            f"{given} has other rows than {run} sorted under the same numbers, so they would get labels of others: "
            "put it back as it was, with new rows at the end, or run novakind discover again"
        )


def fitting_rows(X: np.ndarray, model: Model, what: str) -> np.ndarray:
    """Arrays as rows of the kind and shape that the model was trained on."""
    rows, modality = from_array(X, model.reads.reading())
    if type(modality) is not type(model.reads) or modality.shape != model.reads.shape:
        raise UserError(
            f"{what} holds {modality.noun} of shape {modality.shape}, but the model was trained on "
            f"{model.reads.noun} of shape {model.reads.shape}: give items of the same kind and size"
        )
    return rows
