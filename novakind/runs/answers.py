"""What a model says of all items, written into the run folder a piece at a time: memory holds what is needed later."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.data.collection import Collection, Decided
from novakind.disk import writing
from novakind.model import Model, answers
from novakind.objective.heads import JoinedHead
from novakind.objective.metrics import Chosen, chosen
from novakind.training.collapse import check_answers


class Answers(NamedTuple):
    """Of every item: its category and how probable it is, and its best categories of all, known and novel ones."""

    category: Int[np.ndarray, " items"]
    probability: Float[np.ndarray, " items"]
    best: Chosen


def write_answers(
    file: Path, collection: Collection, model: Model, leaves: Callable[[np.ndarray], np.ndarray | None]
) -> Answers:
    """Write `embedding` and `logp` of all items, and their `leaves` of a merge tree where there is one; answers that a
    person ruled out are none."""
    count, known = len(collection), model.card.known
    category, probability = np.empty(count, np.int64), np.empty(count, np.float32)
    best = Chosen(*(np.empty(count, np.int64) for _ in Chosen._fields))
    embedding = np.empty((count, model.card.dim), np.float32)

    def pieces() -> Iterable[np.ndarray]:
        for part, embedding[part], logp in answers(model, collection.items, np.arange(count)):
            check_answers(logp)
            if collection.decided:
                logp = allowed(collection.decided, np.arange(count)[part], logp)
            for kept, found in zip(best, chosen(logp, known, model.aware(embedding[part])), strict=True):
                kept[part] = found
            category[part] = best.any[part]
            if collection.decided:
                category[part] = np.where(collection.decided.confirmed[part], collection.labels[part], category[part])
            probability[part] = np.exp(logp[np.arange(len(logp)), category[part]])
            yield logp

    with writing(file) as opened, zipfile.ZipFile(opened, "w") as archive:
        write_array(archive, "logp", (count, len(model.card.categories)), pieces())
        write_array(archive, "embedding", embedding.shape, (embedding[at : at + 4096] for at in range(0, count, 4096)))
        if (found := leaves(embedding)) is not None:
            write_array(archive, "leaves", (count, 1), [found[:, None]])
    return Answers(category, probability, best)


def write_array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], pieces: Iterable[np.ndarray]) -> None:
    """An array of an .npz file, as numpy.savez writes it, but piece by piece."""
    header: dict[str, Any] = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
        np.lib.format.write_array_header_1_0(entry, header)
        for piece in pieces:
            entry.write(np.ascontiguousarray(piece, "<f4").tobytes())


def allowed(
    decided: Decided, items: Int[np.ndarray, " some"], logp: Float[np.ndarray, "some classes"]
) -> Float[np.ndarray, "some classes"]:
    """The model's answers, but none that a person ruled out."""
    barred = decided.is_barred(items)
    if barred is None:
        return logp
    logp, touched = np.where(barred, np.float32(JoinedHead.nothing), logp), barred.any(1)
    logp[touched] -= np.logaddexp.reduce(logp[touched], 1, keepdims=True)
    return logp
