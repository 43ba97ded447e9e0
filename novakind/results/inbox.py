"""The inbox: new items for a trained model, read from files, folders, manifests and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from novakind.data.collection import as_items
from novakind.data.files import read_arrays
from novakind.data.manifest import MANIFESTS, is_manifest, read_manifest
from novakind.errors import UnreadableError, UserError
from novakind.model import Model


def fitting_rows(X: np.ndarray, model: Model, what: str) -> np.ndarray:
    """Arrays as rows of the kind and shape that the model was trained on."""
    rows, modality = as_items(X)
    if modality.shape != model.modality.shape:
        raise UserError(
            f"{what} has items of shape {modality.shape}, but the model was trained on {model.modality.shape}: "
            "give items of the same kind and size"
        )
    return rows


def read_items(
    paths: list[Path], model: Model, skipped: list[tuple[str, str]], batch: int = 512
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Names and rows, a batch at a time; what cannot be read goes to `skipped`."""
    files: list[tuple[str, Path]] = []
    for path in paths:
        if path.suffix.lower() == ".npz":
            arrays = read_arrays(path)
            if "X" not in arrays:
                raise UserError(f"{path} has no array X: write it with numpy.savez(path, X=...)")
            yield [str(number) for number in range(len(arrays["X"]))], fitting_rows(arrays["X"], model, str(path))
        elif path.suffix.lower() in MANIFESTS and (model.modality.kind != "series" or is_manifest(path)):
            files += [(name, path.parent / name) for name in read_manifest(path, labels=False)[0]]
        elif path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
            files += [(str(file), file) for file in found]
        else:
            files.append((str(path), path))
    names, rows = [], []
    for name, file in files:
        try:
            if not file.is_file():
                raise UnreadableError("no such file")
            for suffix, row in model.modality.read(file):
                rows.append(row)
                names.append(name + suffix)
        except UnreadableError as error:
            skipped.append((name, str(error)))
        if len(rows) >= batch:
            yield names, np.stack(rows)
            names, rows = [], []
    if rows:
        yield names, np.stack(rows)
