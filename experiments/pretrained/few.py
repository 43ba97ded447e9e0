"""CIFAR-10 with few items: as many labeled items of each known class as unlabeled ones of each novel class."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import mean
from typing import Any

from experiments.pretrained.cases import OURS, Asked, Case, Table
from experiments.pretrained.curve import draw
from experiments.pretrained.pictures import ENCODER, SIZE
from experiments.pretrained.reduced import offer_part, per_class

ITEMS, FROM_SCRATCH = (20, 50, 100, 500), (20, 50, 100)
KMEANS = "k-means, 10 starts"
SHOWN = {"known": "known_acc/test/agnostic", "novel": "novel_acc/test/agnostic"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tested", type=int, default=200, help="test items of each class; 0 takes all")
    parser.add_argument(
        "--scratch-epochs",
        type=int,
        nargs="*",
        default=[15, 0],
        help="of networks that learn from scratch, a row for each; 0 leaves the number to novakind",
    )


def cases(given: argparse.Namespace, data: str = "cifar10") -> Iterator[Case]:
    for count in ITEMS:
        settings = {"known": "5", "encoder": ENCODER, "tune": "frozen", "size": SIZE}
        yield Case(row("frozen", count), asking(data, count, given.tested, settings))
    for epochs in given.scratch_epochs:
        kind = f"from scratch, {epochs} epochs" if epochs else "from scratch"
        for count in FROM_SCRATCH:
            ask = asking(data, count, given.tested, {"known": "5", "epochs": epochs}, "fast")
            yield Case(row(kind, count), ask, vectors=False, seeds=1)


def row(kind: str, count: int) -> str:
    return f"{kind}, {count} items per class"


def asking(
    data: str, count: int, tested: int, settings: dict[str, Any], preset: str = "auto"
) -> Callable[[int], Asked]:
    """Other items with each seed."""

    def ask(seed: int) -> Asked:
        name = f"{data}, {count} per class drawn by {seed}, {tested or 'all'} tested"
        return Asked(
            offer_part(name, data, partial(per_class, count=count, seed=seed, tested=tested)), settings, preset
        )

    return ask


def pictures(rows: Mapping[str, Any]) -> dict[str, str]:
    """Accuracy against the number of items, one line per way to learn."""
    lines: dict[str, dict[str, dict[int, float]]] = {}
    for name, runs in rows.items():
        kind, count = name.removesuffix(" items per class").rsplit(", ", 1)
        for method, title in ((OURS, f"ours, {kind}"), (KMEANS, f"k-means, {kind}")):
            for score, metric in SHOWN.items():
                having = [run["metrics"][method][metric] for run in runs.values() if method in run["metrics"]]
                if having:
                    lines.setdefault(title, {}).setdefault(score, {})[int(count)] = mean(having)
    about = "labeled items of each known class, and as many unlabeled ones of each novel class"
    return {"few.svg": draw("CIFAR-10 with few items", about, lines)} if lines else {}


TABLE = Table("CIFAR-10 with few items per class, first five classes known", cases, options, pictures)
