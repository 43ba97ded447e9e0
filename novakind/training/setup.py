"""What a training starts from: the sampler of its batches and the untrained model, made from a collection and settings.

Settings that contradict each other or the data are refused here, before any time is spent.
"""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from novakind import encoders
from novakind.config import Config
from novakind.data.collection import Collection, Labels
from novakind.data.neighbours import mutual, nearest
from novakind.data.sampler import Sampler
from novakind.data.split import Split
from novakind.encoders import chosen
from novakind.encoders.front import network_of
from novakind.encoders.weights import load_weights
from novakind.encoders.width import width
from novakind.errors import UserError
from novakind.modality import Modality
from novakind.model import CUSTOM, Card, Model, seen_shape
from novakind.progress import Reporter

WIDEST = 256  # of an embedding that is as wide as what the encoder gives
LAST = 0.25  # of the parts of an encoder that is trained partly
FIFTH = 5  # no more neighbours than a fifth of the items per category, or they are of other classes
HEARD = 20  # times as often as any other is an item drawn that a person decided about
SOME = 100  # items are enough to check whether there is something to see


def make_sampler(collection: Collection, split: Split, config: Config) -> Sampler:
    """Batches of the training part; a collection that lacks one of the two kinds of items is refused."""
    labels = collection.labels[split.train]
    if not (labels >= 0).any():
        raise UserError(
            f"{collection.name} has no labeled item, but novakind learns what a class is from known ones: "
            "put some items into folders named after their class"
        )
    if not (labels < 0).any():
        raise UserError(
            f"{collection.name} has no unlabeled item, so there is nothing to discover: "
            "put the items to sort into a folder named unlabeled (in a table: leave their label empty), "
            "or treat classes as novel with --known"
        )
    labeled, unlabeled = split.train[labels >= 0], split.train[labels < 0]
    partners = groups_of(collection, config.pair)[unlabeled] if config.pair else None
    if partners is not None and len(np.unique(partners)) == len(partners):
        raise UserError(
            f"--pair {config.pair} finds no partner: no two unlabeled items to train on have one {config.pair} in "
            "common; leave it out"
        )
    wanted = getattr(config.views, "neighbours", 0)  # a view of items that are vectors
    if partners is None and wanted:
        rows = seen_rows(collection, unlabeled)
        categories = config.novel + (len(collection.classes) if config.known_share else 0)
        partners = mutual(nearest(rows, min(wanted, max(1, len(rows) // (FIFTH * categories)))))
    novel = config.novel - len(np.unique(labels[labels >= len(collection.classes)]))  # some may have labels by now
    if collection.decided:
        novel -= sum(number != into for number, into in enumerate(collection.decided.into))
    least = 1
    if config.start == "decided" and collection.decided:  # no statistics are asked for, and few decisions must be heard
        chosen = labeled[collection.decided.confirmed[labeled]]
        labeled, least = np.concatenate([labeled, np.repeat(chosen, HEARD - 1)]), 0
    return Sampler(labeled, unlabeled, config.batch, max(least, novel), config.proportionate, config.seed, partners)


def seen_rows(collection: Collection, numbers: np.ndarray) -> Float[np.ndarray, "some numbers"]:
    """Vectors as training sees them, without a second copy of all of them."""
    modality, step = collection.modality, 2**14
    parts = (
        modality.normalise(modality.collate(collection.items[numbers[start : start + step]])).numpy()
        for start in range(0, len(numbers), step)
    )
    first = next(parts)
    rows = np.empty((len(numbers), *first.shape[1:]), first.dtype)
    rows[: len(first)] = first
    for place, part in enumerate(parts, 1):
        rows[place * step : place * step + len(part)] = part
    return rows


def natural_width(modality: Modality, name: str, encoder: nn.Module | None) -> int:
    """How many numbers the encoder gives."""
    shape = seen_shape(modality)
    return width(encoder if encoder is not None else encoders.build(name, shape), shape)


def thaw(encoder: Any, tune: str) -> None:
    """Let the last layers of a published encoder learn, or all of them; what does not learn stays in eval mode."""
    encoder.eval().requires_grad_(False)
    parts = encoder.parts()
    for part in parts if tune == "whole" else parts[-max(1, round(LAST * len(parts))) :]:
        part.train().requires_grad_(True)


def groups_of(collection: Collection, kind: str) -> Labels:
    """What the items have in common, by its name."""
    if kind not in collection.groups:
        known = ", ".join(collection.groups)
        raise UserError(
            f"--pair {kind} is not possible, as these data do not say which items have one {kind} in common: "
            + (f"choose from {known}, or leave it out" if known else "leave it out")
        )
    return collection.groups[kind]


def make_model(
    collection: Collection, split: Split, config: Config, report: Reporter, encoder: nn.Module | None = None
) -> Model:
    """The untrained model, the same for the same seed."""
    torch.manual_seed(derive(config.seed))
    modality, known = collection.modality, len(collection.classes)
    some = split.train[:: -(-len(split.train) // SOME)]
    modality.check(config.views, (collection.items[number] for number in some))
    categories = (*collection.classes, *new_names(collection.classes, config.novel))
    into: tuple[int, ...] = ()
    if collection.decided:
        categories, into = collection.decided.names, collection.decided.into
    name = config.encoder if encoder is None else CUSTOM
    origin = collection.origin if collection.before is None else None
    if origin is not None:
        encoder = network_of(origin)
        thaw(encoder, config.tune)
    dim = config.dim or min(WIDEST, natural_width(modality, name, encoder))
    shape_of = modality.settings()
    came = asdict(origin) if origin else None
    card = Card(name, config.head, dim, config.tau, known, categories, shape_of, came, into=into)
    model = Model(card, encoder)
    if whiten := getattr(model.encoder, "whiten", None):  # an encoder whose first layer is measured on the items
        some = split.train[:: max(1, len(split.train) // 2000)]
        whiten(modality.normalise(modality.collate(collection.items[some])))
    check_first_views(model, config)
    if config.encoder_weights:
        if remark := modality.caution("weights"):
            report.say(remark)
        for left_out in load_weights(model.encoder, Path(config.encoder_weights)):
            report.say(f"{config.encoder_weights}: {left_out}")
    return model.to(chosen_device(config.device))


def chosen_device(asked: str) -> str:
    """Where the network is: auto takes a GPU (cuda) where there is one; Apple's is taken only where it is named."""
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if asked == "auto":
        return "cuda" if there["cuda"] else "cpu"
    if not there[asked]:
        raise UserError(f"--device {asked} is asked for, but torch finds no GPU: give --device auto")
    return asked


@torch.no_grad()
def check_first_views(model: Model, config: Config) -> None:
    """Refuse views at the start of the training that the encoder cannot take: they may be smaller than later ones."""
    modality, generator = model.modality, torch.Generator()
    blank = modality.collate(np.zeros((2, *modality.shape), modality.dtype))
    views = modality.normalise(modality.augment(blank, config.views.at(0.0), generator))
    shape = tuple(views.shape[1:])
    if shape == seen_shape(modality):
        return
    try:
        model.eval()(views)
    except (RuntimeError, UserError):
        raise UserError(
            f"--views.small {shape[-1]} is too small for the encoder {chosen(config.encoder, len(shape))}: "
            "give more pixels, or 0 for full size"
        ) from None
    model.train()


def new_names(known: tuple[str, ...], novel: int) -> list[str]:
    """new-1, new-2, ... without the names that known classes have already, as they may in a second round."""
    free = (name for number in itertools.count(1) if (name := f"new-{number}") not in known)
    return list(itertools.islice(free, novel))


def derive(*numbers: int) -> int:
    """One seed from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
