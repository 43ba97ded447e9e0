"""Vectors of many origins, half of their classes known: ours against k-means."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

from experiments.pretrained import learnt
from experiments.pretrained.cases import Asked, Case, Table
from experiments.pretrained.mixtures import MIXTURES, draw
from experiments.pretrained.pictures import ENCODER, SIZE
from experiments.pretrained.reduced import offer_vectors, per_class
from novakind.data.embed import vectors_of
from novakind.data.files import quiet
from novakind.data.source import data_root
from novakind.datasets import DATASETS
from novakind.encoders.front import origin_of
from novakind.modality.image import ImageReading

AXES, TESTED = 32, 5  # of the digits' pixels, and one of so many digits is tested
FIRST_FIVE = "airplane,automobile,bird,cat,deer"

Vectors = tuple[np.ndarray, np.ndarray, np.ndarray]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--items", type=int, default=500, help="training items of each class of CIFAR-10")
    parser.add_argument("--tested", type=int, default=200, help="test items of each class of CIFAR-10")


def cases(given: argparse.Namespace) -> Iterator[Case]:
    yield Case("digits, 32 principal axes of their pixels", asking("digits, axes", digits, "5"))
    pictures = partial(cifar10, given.items, given.tested)
    seen = asking(f"cifar10, vectors, {given.items} and {given.tested} of each class", pictures, FIRST_FIVE)
    yield Case(f"CIFAR-10, {10 * given.items:,} items seen by {ENCODER}", seen)
    for name in learnt.LEARNT:
        yield Case(f"{name}, learnt on the known classes", partial(ask_learnt, name, given.runs / "learnt"))
    for name, mixture in MIXTURES.items():
        title = f"mixture, {name} ({mixture.classes} classes, {mixture.dim} numbers)"
        yield Case(title, partial(ask_mixture, name))


def asking(name: str, vectors: Callable[[], Vectors], known: str) -> Callable[[int], Asked]:
    return lambda seed: Asked(offer_vectors(name, vectors), {"known": known})


def ask_learnt(name: str, folder: Path, seed: int) -> Asked:
    file = learnt.vectors(name, folder)
    return Asked(offer_vectors(f"{name}, learnt", partial(learnt.read, file)), {"known": learnt.known_classes(file)})


def ask_mixture(name: str, seed: int) -> Asked:
    """Another mixture of the kind with each seed."""
    mixture = MIXTURES[name]
    made = offer_vectors(f"mixture, {name}, drawn by {seed}", partial(draw, mixture, seed))
    return Asked(made, {"known": str(mixture.classes // 2)})


def digits() -> Vectors:
    """Principal axes of the training items' pixels."""
    from sklearn.datasets import load_digits
    from sklearn.decomposition import PCA

    X, y = load_digits(return_X_y=True)
    test = np.arange(len(y)) % TESTED == 0
    return PCA(AXES, random_state=0).fit(X[~test]).transform(X).astype(np.float32), y.astype(str), test


@cache
def cifar10(items: int, tested: int) -> Vectors:
    """Some items of each class, and which of them are from the official test part."""
    whole = DATASETS["cifar10"].load(data_root(), ImageReading(size=SIZE), quiet)
    some = per_class(whole, items, seed=0, tested=tested)
    assert some.official_test is not None
    found = vectors_of(some.items, some.modality, origin_of(ENCODER), quiet)
    return found, np.array(some.classes)[some.labels], some.official_test


TABLE = Table("Vectors of many origins", cases, options)
