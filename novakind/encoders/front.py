"""Front: a published encoder that stays as it is, as a way of reading: items in, unit vectors out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.origin import Origin
from novakind.modality import Modality, from_settings

BATCH = 16  # pictures; of larger batches the layers no longer fit the processor's caches


class Front(nn.Module):
    """How items are read for a published encoder, and the encoder."""

    def __init__(self, origin: Origin, modality: Modality, network: nn.Module) -> None:
        super().__init__()
        self.origin, self.modality = origin, modality
        self.network = network.eval().requires_grad_(False)

    def settings(self) -> dict[str, Any]:
        """What builds the same front again, but for its weights, as plain JSON."""
        return {"origin": asdict(self.origin), "modality": self.modality.settings()}

    @torch.inference_mode()
    def forward(self, rows: np.ndarray) -> Float[np.ndarray, "items dim"]:
        """The vectors of rows as they are decoded; a mean over the faces of an item has length 1 again."""
        found = np.empty((len(rows), self.origin.dim), np.float32)
        size = self.origin.batch or BATCH
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            x = self.modality.normalise(self.modality.collate(rows[part]))
            seen = torch.stack([self.network(face) for face in self.modality.faces(x)]).mean(0)
            found[part] = nn.functional.normalize(seen, dim=1).numpy()
        return found


def origin_from(settings: dict[str, Any]) -> Origin:
    """An origin as `settings` wrote it."""
    return Origin(**{key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()})


def modality_from(settings: dict[str, Any]) -> Modality:
    return from_settings(settings["modality"])


def as_tensors(front: Front) -> dict[str, Tensor]:
    """Its weights, by names that a model's own do not have."""
    return {f"front.{name}": tensor for name, tensor in front.network.state_dict().items()}
