"""search: the same small search for every method, on held-out known classes and validation items; written as JSON.

Novel classes play no part: their items are left out, and so is the test part. Some of the known classes are held out as
if they were novel, and a quarter of the items is kept for validation. One setting after the other is tried, each with
the same work for every method; the best value stays. `compare --tuned search.json` takes what was found.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from novakind import __version__
from novakind.compare.plan import UNTRAINED, choices, parse_methods, read_json
from novakind.config import Config
from novakind.data.collection import Collection
from novakind.data.source import Source
from novakind.data.split import Split, hide, part, subset
from novakind.datasets.gather import gather, placed
from novakind.disk import check_place, write_atomic
from novakind.errors import UserError
from novakind.methods import METHODS, make_method
from novakind.model import Model, predict
from novakind.objective.metrics import scores
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.settings import change
from novakind.structure import misfit_table
from novakind.training.loop import budget_of, fit

HELD_OUT = 0.4  # of the known classes
VALIDATION = 0.25  # of the items
RATES = (1 / 3, 1.0, 3.0, 10.0)  # factors on the learning rate of the preset, which may suit a start from clusters
VIEWS = ("strong", "weak")
PRETRAINING = (0.5, 1.0, 1.5)  # factors on what a method of several stages spends before discovery


def run_search(source: Source, config: Config, methods: str, out: Path, command: str, quiet: bool = False) -> dict:
    """Search for every method that is not in the file yet; what each setting gave, and the best, go into the file."""
    check_place(out)
    names = [name for name in parse_methods(methods) if choices()[name]["method"] not in UNTRAINED]
    source = placed(source)
    with Reporter(quiet) as report:
        collection, split = gather(source, out.with_suffix(".store"), config.val, report.decoding, report.embedding)
        collection, split = known_alone(collection, split)
        config = replace(config, novel=len(collection.truth_classes) - len(collection.classes), prior="uniform")
        config = replace(config, known_share=0.0, views=config.views or source.learnt.Views())
        work, least = budget_of(collection, split, config)
        asked = {
            "command": command,
            "version": __version__,
            "data": collection.name,
            "digest": collection.digest(),
            "held out": list(collection.truth_classes[len(collection.classes) :]),
            "work": work,
            "epochs at least": least,
            "seed": config.seed,
            "tried": {"optim.lr": RATES, "views.strength": VIEWS, "pretraining": PRETRAINING},
            "score": "mean of known accuracy and novel ACC on validation items; without a joint answer, task-aware "
            "novel ACC alone",
        }
        asked = json.loads(json.dumps(asked))
        found = read_json(out)
        same = not damage(found) and all(found.get(key) == asked[key] for key in asked if key != "command")
        found = asked | {"methods": found["methods"] if same else {}}
        for name in names:
            if name not in found["methods"]:
                report.say(f"search: {name}")
                settings = replace(config, **choices()[name], work=work, epochs=least)
                found["methods"][name] = search_one(collection, split, settings, report)
                write_atomic(out, json.dumps(found, indent=1).encode())
    return found


def known_alone(collection: Collection, split: Split) -> tuple[Collection, Split]:
    """The labeled items outside the test part, of which the last known classes are held out as if they were novel."""
    known = len(collection.classes)
    held_out = max(2, round(HELD_OUT * known))
    if known - held_out < 2:
        raise UserError(
            f"{collection.name} has {known} known classes, but a search holds {held_out} of them out and needs two "
            "besides: give --known 4 or more"
        )
    chosen = np.sort(np.concatenate([split.train, split.val]))
    chosen = chosen[collection.labels[chosen] >= 0]
    inside = subset(replace(collection, official_test=None, before=None), chosen)
    inside = replace(inside, truth=inside.labels, truth_classes=collection.classes)
    inside = hide(inside, str(known - held_out))
    return inside, part(inside, VALIDATION, 0.0)


def search_one(collection: Collection, split: Split, config: Config, report: Reporter) -> dict[str, Any]:
    """One setting after the other; every try with its scores, and what to change of the settings."""
    chosen: dict[str, Any] = {}
    tried: list[dict[str, Any]] = []

    def score(changes: Mapping[str, Any]) -> float:
        earlier = next((one for one in tried if one["changes"] == changes), None)
        if earlier:
            return earlier["score"]
        settings = config
        for name, value in changes.items():
            settings = change(settings, name, value)
        try:
            known, novel = validated(fit(collection, split, settings)[0], collection, split, settings)
        except UserError as error:  # a learning rate may be too high
            report.say(f"  {changes}: {error}")
            known = novel = 0.0
        worth = (known + novel) / 2 if METHODS[config.method].joint else novel  # which is all that the others claim
        tried.append({"changes": dict(changes), "known": known, "novel": novel, "score": worth})
        report.say(f"  {changes or 'as it is'}: known {100 * known:.1f} %, novel {100 * novel:.1f} %")
        return tried[-1]["score"]

    for name, values in questions(config, collection).items():
        best = max(values, key=lambda value: score(with_change(config, chosen, name, value)))
        chosen = with_change(config, chosen, name, best)
    return {"chosen": chosen, "tried": tried}


def questions(config: Config, collection: Collection) -> dict[str, tuple[Any, ...]]:
    """What is tried of each setting, the preset's own value first, so that it stays where nothing is better."""
    rates = sorted((float(f"{factor * config.optim.lr:.3g}") for factor in RATES), key=lambda lr: lr != config.optim.lr)
    asked: dict[str, tuple[Any, ...]] = {"optim.lr": tuple(rates)}
    asked["views.strength"] = tuple(sorted(VIEWS, key=lambda strength: strength != config.views.strength))
    prior = Prior.uniform(len(collection.classes), config.novel)
    if len(make_method(config, prior).stages(100)) > 1:
        asked["pretraining"] = tuple(sorted(PRETRAINING, key=lambda factor: factor != config.pretraining))
    return asked


def with_change(config: Config, chosen: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The changes with one more; a value that the settings have already is none."""
    own: Any = config
    for word in name.split("."):
        own = getattr(own, word)
    return dict(chosen) if value == own else {**chosen, name: value}


def validated(model: Model, collection: Collection, split: Split, config: Config) -> tuple[float, float]:
    """Known accuracy and novel ACC on the validation items."""
    embedding, logp = predict(model, collection.items[split.val])
    found = scores(collection.truth[split.val], logp, len(collection.classes), "val", model.aware(embedding))
    protocol = "agnostic" if METHODS[config.method].joint else "aware"
    return found[f"known_acc/val/{protocol}"], found[f"novel_acc/val/{protocol}"]


def tuned(file: Path | None) -> dict[str, dict[str, Any]]:
    """What a search chose, by method."""
    if file is None:
        return {}
    found = read_json(file)
    if damage(found):
        raise UserError(f"--tuned {file} was not written by novakind search: give the file that it wrote")
    return {name: one["chosen"] for name, one in found["methods"].items()}


def damage(found: dict[str, Any]) -> str:
    """Why this is nothing that a search wrote; "" where it may be."""
    wrong = misfit_table(found, {"methods": dict[str, dict[str, Any]]}, {})
    if wrong:
        return wrong
    chosen = {"chosen": dict[str, str | float | bool]}
    return next((wrong for one in found["methods"].values() if (wrong := misfit_table(one, chosen, {}))), "")
