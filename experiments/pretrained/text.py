"""CLINC150 with MiniLM: novel intents alone unlabeled, or nine tenths of the known ones too; 150 and 10 intents."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from experiments.pretrained.cases import Asked, Case, Table, true_known_share
from experiments.pretrained.reduced import offer_part, some_classes

ENCODER = "minilm"
LABELED = 0.1
INTENTS = {0: 112, 10: 7}  # how many known ones of how many; 0 takes all


def cases(given: argparse.Namespace, data: str = "clinc150") -> Iterator[Case]:
    for intents, known in INTENTS.items():
        size = f"{intents or 150} intents, {known} known"
        yield Case(f"{size}: novel ones unlabeled", asking(data, intents, known))
        yield Case(f"{size}: a tenth of the known items labeled, all else mixed", asking(data, intents, known, LABELED))


def asking(data: str, intents: int, known: int, labeled: float = 1.0) -> Callable[[int], Asked]:
    """Other known classes, and other intents, with each seed; where known ones are mixed in, their true share is
    given."""

    def ask(seed: int) -> Asked:
        reduce = partial(some_classes, count=intents, seed=seed)
        name = offer_part(f"{data}, {intents} intents drawn by {seed}", data, reduce) if intents else data
        settings: dict[str, Any] = {"known": f"random:{known}", "split_seed": seed, "encoder": ENCODER}
        if labeled == 1:
            return Asked(name, settings)
        settings["labeled"] = labeled
        return Asked(name, settings | {"known_share": true_known_share(Asked(name, settings))})

    return ask


TABLE = Table("CLINC150: sentences by intent, known intents drawn by seed, official test part", cases)
