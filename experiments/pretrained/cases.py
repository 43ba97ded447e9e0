"""Case: a row of a table. It is asked of novakind as a user would ask, and baselines see the vectors that ours sees."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.extract import protocol
from experiments.matrix import HEAVY, KEY
from experiments.pretrained.baselines import baselines, scores
from experiments.stamp import code_digest, commit, machine
from novakind import __version__
from novakind.app.discover import assemble
from novakind.data.files import quiet
from novakind.datasets.gather import gather
from novakind.objective.prior import Prior
from novakind.runs.complete import complete
from novakind.runs.folder import Run

OURS = "ours"
MANY = 1000  # seeds: as many as are asked for


class Asked(NamedTuple):
    """What `novakind discover` is asked: the data, the options beside the seed, the preset."""

    data: str
    options: Mapping[str, Any]
    preset: str = "auto"

    def plain(self) -> dict[str, Any]:
        return {"data": self.data, "preset": self.preset, **self.options}


class Case(NamedTuple):
    """A row: its name, what is asked with each seed, whether there are vectors for baselines, the most seeds."""

    name: str
    ask: Callable[[int], Asked]
    vectors: bool = True
    seeds: int = MANY


class Table(NamedTuple):
    """What a table is about, its rows, its own options, and its pictures by file name from the finished rows."""

    about: str
    cases: Callable[[argparse.Namespace], Iterable[Case]]
    options: Callable[[argparse.ArgumentParser], object] = lambda parser: None
    pictures: Callable[[Mapping[str, Any]], dict[str, str]] = lambda rows: {}


def always(data: str, preset: str = "auto", **options: Any) -> Callable[[int], Asked]:
    """The same with every seed."""
    return lambda seed: Asked(data, options, preset)


def run(case: Case, seed: int, folder: Path, silent: bool = True) -> dict[str, Any]:
    """Answer the question with this seed; an interrupted training goes on, unless code or question have changed.

    `minutes` are of the training; `total_minutes` have reading and encoding too, unless the cache had the vectors.
    """
    asked, begun = case.ask(seed), time.monotonic()
    source, config = assemble(asked.data, asked.preset, {**asked.options, "seed": seed})
    mark, question = folder / KEY, f"{asked.plain()} {code_digest()}"
    if not mark.exists() or mark.read_text(encoding="utf-8") != question:
        mark.unlink(missing_ok=True)
        Run.claim(folder).clear()
        mark.write_text(question, encoding="utf-8")
    collection, split, results = complete(source, config, folder, quiet=silent)
    total = (time.monotonic() - begun) / 60
    with np.load(folder / "embeddings.npz") as arrays:
        found = {OURS: scores(collection, split, arrays["logp"], results["known"])}
    if case.vectors:
        novel = len(results["classes"]) - results["known"]
        prior = Prior.parse(config.prior, results["known"], novel, config.known_share)
        found |= baselines(collection, split, prior, seed)
    for name in (*HEAVY, "model.safetensors"):
        (folder / name).unlink(missing_ok=True)
    return {
        "asked": asked.plain(),
        "commit": commit(),
        "version": __version__,
        "machine": machine(),
        "minutes": results["minutes"],
        "total_minutes": round(total, 2),
        "protocol": protocol(collection, split),
        "warnings": results["warnings"],
        "metrics": found,
    }


def true_known_share(asked: Asked) -> float:
    """How much of the unlabeled training items of a data set by name is of known classes."""
    source, config = assemble(asked.data, asked.preset, asked.options)
    collection, split = gather(replace(source, published={}), Path("store"), config.val, quiet)
    free = split.train[collection.labels[split.train] < 0]
    return round(float((collection.truth[free] < len(collection.classes)).mean()), 4)
