"""What a training starts from: the sampler of its batches and the untrained model, made from a collection and settings.

What does not go together is refused here, before any time is spent.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from novakind.config import Config
from novakind.data.collection import Collection, Labels
from novakind.data.sampler import Sampler
from novakind.data.split import Split
from novakind.encoders import chosen
from novakind.encoders.fastnet import FastNet
from novakind.encoders.weights import load_weights
from novakind.errors import UserError
from novakind.modality import Modality
from novakind.modality.video import Video
from novakind.model import CUSTOM, Card, Model, seen_shape
from novakind.progress import Reporter

SOME = 100  # videos are enough to tell whether they move
STILL = 0.25 / 255  # mean change between frames below which nothing moves: a quarter of a tone


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
            "put the items to sort into a folder named unlabeled, or hide classes with --known"
        )
    labeled, unlabeled = split.train[labels >= 0], split.train[labels < 0]
    partners = groups_of(collection, config.pair)[unlabeled] if config.pair else None
    if partners is not None and len(np.unique(partners)) == len(partners):
        raise UserError(
            f"--pair {config.pair} finds no partner: no two unlabeled items to train on have one {config.pair} in "
            "common; leave it out"
        )
    return Sampler(labeled, unlabeled, config.batch, config.novel, config.proportionate, config.seed, partners)


def groups_of(collection: Collection, kind: str) -> Labels:
    """What the items have in common, by its name."""
    if kind not in collection.groups:
        known = ", ".join(collection.groups)
        raise UserError(
            f"--pair {kind} is not to be had, as nothing here says which items have one {kind} in common: "
            + (f"choose from {known}, or leave it out" if known else "leave it out")
        )
    return collection.groups[kind]


def make_model(
    collection: Collection, split: Split, config: Config, report: Reporter, encoder: nn.Module | None = None
) -> Model:
    """The untrained model, the same for the same seed."""
    torch.manual_seed(derive(config.seed))
    categories = (*collection.classes, *new_names(collection.classes, config.novel))
    settings = seen_as(collection, split, config).settings()
    name = config.encoder if encoder is None else CUSTOM
    check_flips(collection.modality.kind, config)
    card = Card(name, config.head, config.dim, config.tau, len(collection.classes), categories, settings, config.flips)
    model = Model(card, encoder)
    if isinstance(model.encoder, FastNet):
        some = split.train[:: max(1, len(split.train) // 2000)]
        model.encoder.whiten(model.modality.normalise(model.modality.collate(collection.items[some])))
    check_small_views(model, config)
    if config.encoder_weights and config.motion:
        report.say("published weights have mostly seen frames, but --motion shows what changes: try --no-motion")
    if config.encoder_weights:
        for left_out in load_weights(model.encoder, Path(config.encoder_weights)):
            report.say(f"{config.encoder_weights}: {left_out}")
    if config.device == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda is asked for, but torch finds no GPU: give --device auto")
    cuda = config.device != "cpu" and torch.cuda.is_available()
    return model.to("cuda" if cuda else "cpu")


def seen_as(collection: Collection, split: Split, config: Config) -> Modality:
    """The modality as the network is to see it: of videos frames, or what changes between them."""
    modality = collection.modality
    if not config.motion:
        return modality
    if not isinstance(modality, Video):
        raise UserError("--motion is for videos, and these items do not move: give --no-motion, or another --preset")
    moving = replace(modality, motion=True)
    some = split.train[:: -(-len(split.train) // SOME)]
    still = np.mean([stands_still(moving, collection.items[number : number + 1]) for number in some])
    if still > 0.5:
        raise UserError(
            f"{still:.0%} of the videos stand still, and --motion shows the network only what changes: give --no-motion"
        )
    return moving


def stands_still(modality: Video, row: np.ndarray) -> bool:
    return modality.middle(modality.collate(row)).abs().mean().item() < STILL


def check_flips(kind: str, config: Config) -> None:
    """Refuse to predict an item and its mirror image alike where there is none, or where it is another thing."""
    views = {"image": config.image, "video": config.video}.get(kind)
    if config.flips and views is None:
        raise UserError("--flips is for pictures and videos, and these items have no mirror image: leave it out")
    if config.flips and views and not views.flip:
        raise UserError(
            f"--flips predicts an item and its mirror image alike, but --no-{kind}.flip keeps them apart: "
            "give --no-flips"
        )


@torch.no_grad()
def check_small_views(model: Model, config: Config) -> None:
    """Refuse views in the first part of the training that the encoder cannot take."""
    modality = model.modality
    if modality.kind not in ("image", "video") or not (small := getattr(config, modality.kind).small):
        return
    shape = (*seen_shape(modality)[:-2], small, small)
    try:
        model.eval()(torch.zeros(2, *shape))
    except (RuntimeError, UserError):
        raise UserError(
            f"--{modality.kind}.small {small} is too small for the encoder {chosen(config.encoder, len(shape))}: "
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
