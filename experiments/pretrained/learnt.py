"""Vectors that a network has learnt on the known classes of a data set, kept as an .npz file with their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.matrix import HEAVY
from novakind.app.discover import assemble
from novakind.disk import replacing
from novakind.runs.complete import complete


class Learnt(NamedTuple):
    """How the network is trained: on the known classes alone, briefly."""

    data: str
    known: str
    epochs: int
    options: dict[str, Any] = {}  # noqa: RUF012


LEARNT = {
    "MobiAct": Learnt("mobiact", "5", 5, {"balance": True}),
    "16 classes of UCF101": Learnt("ucf101", "10", 3, {"batch": 128}),
}


def vectors(name: str, cache: Path) -> Path:
    """Where the vectors of a data set are; where they are not yet, the network is trained."""
    learnt = LEARNT[name]
    file = cache / f"{learnt.data}-{learnt.epochs}.npz"
    if not file.exists():
        options = {"known": learnt.known, "method": "supervised", "epochs": learnt.epochs, **learnt.options}
        source, config = assemble(learnt.data, "auto", options)
        run = cache / f"{learnt.data}-{learnt.epochs}"
        collection, split, _ = complete(source, config, run, quiet=True)
        with np.load(run / "embeddings.npz") as arrays:
            X = arrays["embedding"]
        y = np.array(collection.truth_classes)[collection.truth]
        test = np.isin(np.arange(len(y)), split.test)
        with replacing(file) as part, part.open("wb") as opened:
            np.savez(opened, X=X, y=y, test=test, known=np.array(collection.classes))
        for heavy in (*HEAVY, "model.safetensors"):
            (run / heavy).unlink(missing_ok=True)
    return file


def read(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, their classes by name, and which of them are tested."""
    with np.load(file) as arrays:
        return arrays["X"], arrays["y"], arrays["test"]


def known_classes(file: Path) -> str:
    """The classes that the network has seen, as --known takes them."""
    with np.load(file) as arrays:
        return ",".join(f'"{name}"' for name in arrays["known"])
