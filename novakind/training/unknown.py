"""What a run is not told is found out before it trains: how many novel classes, and whether known ones are mixed in.

Vectors are looked at as they are. Where a network learns from scratch, one that has learnt the known classes for a
short while shows what there is to see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.config import Config
from novakind.data.collection import Collection, Labels
from novakind.data.split import Split
from novakind.errors import UserError
from novakind.model import predict
from novakind.objective.number import HARDLY_APART, HUNDRED, Estimate, estimate
from novakind.progress import Reporter
from novakind.training.loop import choose_epochs, fit
from novakind.training.setup import make_sampler

EACH = 10  # unlabeled items that a new category needs at least: the sampler's rule
SHORT = 3  # a first look takes one of so many epochs
SURE = 0.85  # so much better than by chance must a first look tell known classes apart to be believed unasked


def as_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options in which the number may be auto or limits, such as 3-20."""
    number = given.get("novel")
    if number in (0, "0"):
        raise UserError(
            "--novel 0 asks for no new category, but at least 1 is needed: give --novel 5, or leave it out and they "
            "are counted"
        )
    if not isinstance(number, str) or re.fullmatch(r"-?\d+", number.strip()):
        return dict(given)
    if number != "auto":
        limits_of(number)
    return {**given, "novel": 0, "between": number}


def limits_of(text: str) -> tuple[int, int]:
    """The two numbers of limits such as 3-20."""
    found = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", text)
    low, high = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= low <= high:
        raise UserError(
            f"--novel {text} is no number of new categories: give one such as --novel 5, limits such as --novel 3-20, "
            "or --novel auto"
        )
    return low, high


def is_open(config: Config, benchmark: bool) -> tuple[bool, bool]:
    """Whether the number has to be found, and whether the share of known classes has to be.

    A benchmark that hides classes knows both, unless it asks; a person's own data are asked by default.
    """
    number = not config.novel and bool(config.between or not benchmark)
    asked = config.mixed or ("no" if benchmark or config.method != "ours" else "auto")
    return number, asked != "no" and not config.known_share


def settle(
    collection: Collection, split: Split, config: Config, benchmark: bool, report: Reporter
) -> tuple[Config, Estimate | None]:
    """The settings with what was not given, and how it was found."""
    number, share = is_open(config, benchmark)
    seen = config.start == "clusters"  # the items are good vectors as they are
    if not number and not share:
        return config, None
    labels = collection.labels[split.train]
    unlabeled = int((labels < 0).sum())
    if not 0 < unlabeled < len(labels):
        make_sampler(collection, split, replace(config, novel=1))  # which says what is missing
    low, high = limits_of(config.between) if config.between not in ("", "auto") else (1, max(1, unlabeled // EACH))
    if low * EACH > unlabeled:
        limits = f"--novel {config.between}" if config.between not in ("", "auto") else "counting new categories"
        raise UserError(
            f"{limits} needs {low * EACH} unlabeled items to train on, and there are {unlabeled}: "
            + ("give smaller limits" if low > 1 else "add items")
        )
    report.say("looking at the items first" if seen else "a first look at the items, by what sets known classes apart")
    try:
        rows = partial(vectors, collection, split) if seen else learnt(collection, split, config)
    except UserError:  # it has diverged, which the training itself need not
        if number or config.mixed:
            raise
        report.say("the first look tells nothing: all unlabeled items are taken to be of new categories")
        return config, None
    limits = (low, min(high, max(low, unlabeled // EACH)))
    mixed = {"yes": True, "no": False}.get(config.mixed) if share else False
    found = estimate(rows, labels, limits, mixed, float(config.known_share), config.seed)
    if share and not seen and not config.mixed and found.known_share and found.recognised < SURE:
        found = replace(estimate(rows, labels, limits, False, 0.0, config.seed), untold=True)
    novel = found.novel if number else config.novel
    settled = replace(config, novel=novel, batch=max(config.batch, EACH * novel))
    settled = replace(settled, known_share=found.known_share) if share else settled
    for line in told(found, number, share, len(collection.classes)):
        report.say(line)
    if config.method == "ours" and config.start == "random" and config.prior == "uniform" and novel > 1:
        report.say("the new categories are taken to be equally large: --prior auto finds their sizes while it learns")
    return settled, found


def vectors(collection: Collection, split: Split, some: Labels) -> Float[np.ndarray, "items dim"]:
    """Some of the training items: copies of all of them could be more than memory holds."""
    modality = collection.modality
    rows = modality.normalise(modality.collate(np.asarray(collection.items[split.train[some]]))).numpy()
    return rows.reshape(len(rows), -1)  # pictures too, if asked to start from clusters


def learnt(collection: Collection, split: Split, config: Config) -> Float[np.ndarray, "items dim"]:
    """As a network sees them that was trained on the known classes, for a third of the usual time."""
    steps = make_sampler(collection, split, replace(config, novel=1)).steps
    epochs = max(1, (config.epochs or choose_epochs(steps)) // SHORT)
    first = replace(config, method="supervised", novel=1, prior="uniform", epochs=epochs, minutes=0.0)
    model = fit(collection, split, first, None, Reporter(quiet=True))[0]
    rows = predict(model, collection.items[split.train])[0].astype(np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def told(found: Estimate, number: bool, share: bool, known: int) -> list[str]:
    """What was found and why, in sentences."""
    lines = []
    if number:
        range_of = f"{found.low} to {found.high} are plausible" if found.low < found.high else "none other is plausible"
        lines.append(f"there seem to be {found.novel} new categories ({range_of}); --novel N looks for another number")
        if found.probes:
            counts = ", ".join(f"{one.counted} for {one.hidden}" for one in found.probes[:4])
            lines.append(f"hidden for a test, some of the {known} known classes were counted in the same way: {counts}")
    if share and found.untold:
        why = "from so few of each" if known >= HUNDRED else "as these lie close together"
        lines.append(
            f"whether unlabeled items are of the {known} known classes cannot be told {why}: they are taken to be of "
            "new ones; --mixed yes says otherwise"
        )
    elif share:
        some = f"about {found.known_share:.0%} of the unlabeled items seem to be of known classes"
        lines.append(some if found.known_share else "none of the unlabeled items seem to be of known classes")
    return lines


def warning(found: Estimate | None, asked: bool) -> list[str]:
    """That the number, where it was asked for, or the known share is a guess."""
    if found is None:
        return []
    guesses = []
    if asked and found.doubt:
        guesses.append(
            f"the number of new categories is a guess, {found.low} to {found.high}, as {found.doubt}: "
            "give --novel N if you know it"
        )
    if found.known_share and found.recognised < HARDLY_APART:
        guesses.append(
            f"that {found.known_share:.0%} of the unlabeled items are of known classes is a guess, as even those "
            "classes hardly lie apart: give --known-share 0.5 or --mixed no if you know it"
        )
    return guesses
