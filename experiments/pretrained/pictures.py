"""CIFAR-10, first five classes known, official test part: an encoder that stays as it is, and one of which the last
layers are trained."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from experiments.pretrained.cases import Case, Table, always

ENCODER, SIZE = "efficientnet-lite2", 160
TUNED, TUNED_SIZE = "efficientnet-lite0", 96  # training needs several times the work of looking


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=int, default=5, help="of the partly trained encoder; 0 leaves that row out")


def cases(given: argparse.Namespace, data: str = "cifar10") -> Iterator[Case]:
    frozen = always(data, known="5", encoder=ENCODER, tune="frozen", size=SIZE)
    yield Case(f"{ENCODER} frozen, {SIZE} pixels", frozen)
    if given.epochs:
        partly = always(data, known="5", encoder=TUNED, tune="partly", size=TUNED_SIZE, epochs=given.epochs)
        yield Case(f"{TUNED} partly trained, {TUNED_SIZE} pixels, {given.epochs} epochs", partly, vectors=False)


TABLE = Table("CIFAR-10, first five classes known, official test part", cases, options)
