"""Photographs of clothes, ten classes of unlike size: as they are, and as many of each class as the smallest has."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from experiments.pretrained.cases import Asked, Case, Table, always
from experiments.pretrained.reduced import offer_part, per_class

ENCODER, SIZE = "efficientnet-lite0", 224
DIVISIONS: dict[str, dict[str, Any]] = {
    "first five known": {"known": "5"},
    **{f"five drawn by {seed} known": {"known": "random:5", "split_seed": seed} for seed in range(3)},
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=int, default=5, help="of the partly trained encoder; 0 leaves those rows out")
    parser.add_argument("--scratch-epochs", type=int, default=30, help="of the network that learns from scratch")


def cases(given: argparse.Namespace, data: str = "clothing") -> Iterator[Case]:
    first, *_ = DIVISIONS
    for sizes, with_data in (("as they are", partial(always, data)), ("even", partial(evenly, data))):
        for division, settings in DIVISIONS.items():
            frozen = with_data(**settings, encoder=ENCODER, tune="frozen", size=SIZE)
            yield Case(f"{sizes}, {division}: frozen", frozen)
        if given.epochs:
            tuned = {"encoder": ENCODER, "tune": "partly", "size": SIZE, "epochs": given.epochs}
            name = f"{sizes}, {first}: partly trained, {given.epochs} epochs"
            yield Case(name, with_data(**DIVISIONS[first], **tuned), vectors=False)
        if given.scratch_epochs:
            scratch = with_data(preset="default", **DIVISIONS[first], epochs=given.scratch_epochs)
            name = f"{sizes}, {first}: from scratch, {given.scratch_epochs} epochs"
            yield Case(name, scratch, vectors=False, seeds=1)


def evenly(data: str, preset: str = "auto", **settings: Any) -> Callable[[int], Asked]:
    """Other items with each seed."""

    def ask(seed: int) -> Asked:
        even = partial(per_class, count=0, seed=seed)
        return Asked(offer_part(f"{data}, even, drawn by {seed}", data, even), settings, preset)

    return ask


TABLE = Table("Clothing: photographs of ten classes, five known, official test part", cases, options)
