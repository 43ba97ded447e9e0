"""Rows of the table: vectors of which only some classes are known, with and without known ones among the unlabeled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from experiments.pretrained import learnt
from experiments.pretrained.reduced import offer_part, offer_vectors, some_classes
from experiments.pretrained.vectors import digits
from novakind.app.discover import assemble
from novakind.data.files import quiet
from novakind.datasets.gather import gather
from novakind.disk import replacing

MIXED = {"novel classes alone unlabeled": 1.0, "half of the known items unlabeled too": 0.5}
KEPT = Path("runs") / "open_world"


class Items(NamedTuple):
    """The training items of a row: unit vectors, labels (-1: none) and the truth, known classes first."""

    rows: Float[np.ndarray, "items dim"]
    labels: Int[np.ndarray, " items"]
    truth: Int[np.ndarray, " items"]
    known: int


class Case(NamedTuple):
    name: str
    ask: Callable[[int], tuple[str, dict[str, Any]]]
    """Data and options, by seed."""

    def items(self, seed: int) -> Items:
        data, options = self.ask(seed)
        source, config = assemble(data, "auto", options)
        collection, split = gather(source, Path("store"), config.val, quiet)
        rows = collection.modality.collate(np.asarray(collection.items[split.train])).numpy()
        return Items(rows, collection.labels[split.train], collection.truth[split.train], len(collection.classes))


def cases() -> Iterator[Case]:
    for mixed, labeled in MIXED.items():
        yield Case(f"digits, 32 axes of their pixels, 5/5: {mixed}", partial(of_digits, labeled))
        yield Case(f"CLINC150, MiniLM, 10 intents, 6/4: {mixed}", partial(of_intents, 10, 6, labeled))
        yield Case(f"CLINC150, MiniLM, 30 intents, 20/10: {mixed}", partial(of_intents, 30, 20, labeled))
        yield Case(f"clothing, EfficientNet-Lite0, 5/5: {mixed}", partial(of_clothing, labeled))
        yield Case(f"MobiAct, learnt on the known classes, 5/4: {mixed}", partial(of_mobiact, labeled))


def of_digits(labeled: float, seed: int) -> tuple[str, dict[str, Any]]:
    return offer_vectors("digits, axes", digits), options("random:5", labeled, seed)


def of_clothing(labeled: float, seed: int) -> tuple[str, dict[str, Any]]:
    return offer_vectors("clothing, vectors", clothing), options("random:5", labeled, seed)


@cache
def clothing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of all photographs, kept beside those of MobiAct: opening the pictures takes longer than all the rest."""
    file = KEPT / "clothing.npz"
    if not file.exists():
        source, config = assemble("clothing", "auto", {"known": "5", "encoder": "efficientnet-lite0", "tune": "frozen"})
        collection, split = gather(source, Path("store"), config.val, quiet)
        test = np.isin(np.arange(len(collection)), split.test)
        with replacing(file) as part, part.open("wb") as opened:
            np.savez(opened, X=collection.items, y=np.array(collection.truth_classes)[collection.truth], test=test)
    with np.load(file) as arrays:
        return arrays["X"], arrays["y"], arrays["test"]


def of_intents(intents: int, known: int, labeled: float, seed: int) -> tuple[str, dict[str, Any]]:
    name = f"clinc150, {intents} intents drawn by {seed}"
    offer_part(name, "clinc150", partial(some_classes, count=intents, seed=seed))
    return name, options(f"random:{known}", labeled, seed) | {"encoder": "minilm"}


def of_mobiact(labeled: float, seed: int) -> tuple[str, dict[str, Any]]:
    """The known classes are those that the network has learnt; seeds choose other labeled items."""
    file = learnt.vectors("MobiAct", KEPT)
    name = offer_vectors("MobiAct, learnt", partial(learnt.read, file))
    return name, options(learnt.known_classes(file), labeled, seed)


def options(known: str, labeled: float, seed: int) -> dict[str, Any]:
    return {"known": known, "split_seed": seed} | ({"labeled": labeled} if labeled < 1 else {})
