"""What differs between kinds of data, and only that: how to read an item, batch it, vary it and show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.modality.video import Video


@runtime_checkable
class Modality(Protocol):
    """An item is one row of an array: decoded once, kept compact, turned into floats a batch at a time."""

    kind: str
    dtype: str
    """Of a row as it is kept, as numpy names it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row, as it is kept."""
        ...

    def fitted(self, rows: np.ndarray) -> Modality:
        """The same kind of data, normalised by the statistics of these rows."""
        ...

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """Decode a file: the row of each item in it, and what to add to the file's name to tell the items apart.

        Raises `UnreadableError` with the reason for whatever it cannot read.
        """
        ...

    def collate(self, rows: np.ndarray) -> Tensor:
        """Rows as a float batch, not yet normalised."""
        ...

    def augment(self, batch: Tensor, policy: Any, generator: torch.Generator) -> Tensor:
        """Vary each item at random in ways that keep its class, under the policy of this kind of data."""
        ...

    def normalise(self, batch: Tensor) -> Tensor:
        """The batch as the encoder wants it: centred, scaled, in the fastest memory layout."""
        ...

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        """A small picture (PNG) of the item, or None where there is nothing to see."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that is needed to build the same modality again, as plain JSON."""
        ...


KINDS: dict[str, Any] = {"image": Image, "features": Features, "series": Series, "video": Video}


def from_settings(settings: dict[str, Any]) -> Modality:
    """The modality that wrote these settings."""
    arguments = {
        key: tuple(value) if isinstance(value, list) else value for key, value in settings.items() if key != "kind"
    }
    return KINDS[settings["kind"]](**arguments)
