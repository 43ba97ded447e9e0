"""Published encoders by name; and Front: one that stays as it is, as a way of reading: items in, unit vectors out."""

from __future__ import annotations

from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders import hub, published, timm
from novakind.encoders.origin import Origin
from novakind.modality import Modality, from_settings

BATCH = 16  # pictures, for the layers of more do not fit the processor's caches; of texts as many as fill a few pages


def is_published(name: str) -> bool:
    """Whether an encoder comes with what it has learnt."""
    if name.startswith(timm.PREFIX):
        return timm.has_weights(name.removeprefix(timm.PREFIX))
    return name in published.PUBLISHED or name == hub.MINILM or name.startswith(hub.PREFIX)


def is_installed(name: str) -> bool:
    """Whether it is on this machine, as far as its name tells."""
    if name == hub.MINILM:
        return bool(find_spec(hub.MINILM_PACKAGE) and find_spec("transformers"))
    return name.startswith((hub.PREFIX, timm.PREFIX)) or published.is_installed(name)


def home(name: str) -> ModuleType:
    """Where it is made: the module with its `origin`, `network` and `blank`."""
    if name.startswith(timm.PREFIX):
        return timm
    return published if name in published.PUBLISHED else hub


def origin_of(name: str) -> Origin:
    """What it expects, and where it comes from."""
    return home(name).origin(name)


def network_of(origin: Origin) -> nn.Module:
    """The encoder with its weights."""
    return home(origin.name).network(origin)


def blank_of(origin: Origin) -> nn.Module:
    """The encoder without its weights, which a model file holds."""
    return home(origin.name).blank(origin)


class Front(nn.Module):
    """How items are read for a published encoder, and the encoder."""

    def __init__(self, origin: Origin, modality: Modality, network: nn.Module) -> None:
        super().__init__()
        self.origin, self.modality = origin, modality
        self.network = network.eval().requires_grad_(False)

    @classmethod
    def opened(cls, origin: Origin, modality: Modality) -> Front:
        """With the published weights, for items that are read so."""
        return cls(origin, modality.for_encoder(origin), network_of(origin))

    @torch.inference_mode()
    def forward(self, rows: np.ndarray) -> Float[np.ndarray, "items dim"]:
        """The vectors of rows as they are decoded; the mean over the faces of an item has length 1 again."""
        quick = self.quick()
        found = np.empty((len(rows), self.origin.dim), np.float32)
        size = min(1024, max(BATCH, 2**20 // max(1, rows[:1].size)))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            x = self.modality.normalise(self.modality.collate(rows[part]))
            seen = torch.stack([quick(face) for face in self.modality.faces(x)]).mean(0)
            found[part] = nn.functional.normalize(seen, dim=1).numpy()
        return found

    def quick(self) -> Any:
        """The encoder in its fastest form; no part of the module, since its weights are the same ones."""
        if "folded" not in self.__dict__:
            folded = getattr(self.network, "folded", None)
            self.__dict__["folded"] = folded() if folded else self.network
        return self.__dict__["folded"]

    def tensors(self) -> dict[str, Tensor]:
        """Its weights, by names that a model's own do not have."""
        return {f"front.{name}": tensor for name, tensor in self.network.state_dict().items()}


def front_from(origin: dict[str, Any], modality: dict[str, Any], tensors: dict[str, Tensor]) -> Front:
    """A front as a model file holds it."""
    known = origin_from(origin)
    network = blank_of(known)
    network.load_state_dict({name.removeprefix("front."): tensor for name, tensor in tensors.items()})
    return Front(known, from_settings(modality), network)


def origin_from(settings: dict[str, Any]) -> Origin:
    """An origin as a model's card holds it."""
    tones: dict[str, Any] = {key: tuple(settings[key]) for key in ("mean", "std")}
    return Origin(**(settings | tones))
