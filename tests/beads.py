"""A kind of data in one file: beads, strings of numbers in text files. Copy it to add a kind of your own.

A class with these members and one line in `novakind.modality.KINDS` is all that novakind needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from novakind.errors import UnreadableError
from novakind.modality.display import Pictures
from novakind.settings import Range, check


@dataclass(frozen=True)
class BeadReading:
    """How strings are read."""

    beads: Annotated[int, Range(0, 1000)] = 0
    """How many beads of a string count; 0: as many as the first file has."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class BeadViews:
    """How a string may vary without leaving its class."""

    noise: Annotated[float, Range(0, 10)] = 0.1
    """Deviation of the noise that is added, in units of all beads' deviation."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> BeadViews:
        return replace(self, noise=self.noise * (1 - 0.5 * progress))


@dataclass(frozen=True)
class Beads:
    """Strings of `count` numbers."""

    count: int
    mean: float = 0.0
    std: float = 1.0

    kind = "beads"
    noun = "strings of beads"
    example = "text files that end in .beads"
    arrays = ""
    endings = frozenset({".beads"})
    dtype = "float32"
    Reading = BeadReading
    Views = BeadViews
    trainable = True
    shown = ""
    presets = {"beads": {"batch": 40, "views.noise": 0.2}, "default": {}}  # noqa: RUF012 read, never written

    @classmethod
    def recognises(cls, file: Path) -> bool:
        return True

    @classmethod
    def survey(cls, files: Sequence[Path], reading: BeadReading, origin=None) -> Beads:
        return cls(reading.beads or len(files[0].read_text().split()))

    @classmethod
    def suggested(cls, some) -> tuple[str, str]:
        return "", ""

    @classmethod
    def from_array(cls, X: np.ndarray, reading: BeadReading) -> None:
        """Strings come from files alone."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.count,)

    def reading(self) -> BeadReading:
        return BeadReading(self.count)

    def for_encoder(self, origin: Any) -> Beads:
        return self

    def decoding(self) -> dict[str, Any]:
        return {"kind": self.kind, "count": self.count}

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Beads:
        return replace(self, mean=float(rows.mean()), std=float(rows.std()) or 1.0)

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        try:
            beads = [float(word) for word in path.read_text().split()]
        except ValueError as error:
            raise UnreadableError(str(error)) from None
        if len(beads) < self.count:
            raise UnreadableError(f"has {len(beads)} beads, fewer than {self.count}")
        return [("", np.array(beads[: self.count], np.float32))]

    def check(self, views: BeadViews, rows: Iterable[np.ndarray]) -> None:
        """All views go with beads."""

    def collate(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(np.array(rows, np.float32))

    def augment(self, batch: Tensor, policy: BeadViews, generator: torch.Generator) -> Tensor:
        return batch + policy.noise * self.std * torch.randn(batch.shape, generator=generator)

    def normalise(self, batch: Tensor) -> Tensor:
        return (batch - self.mean) / self.std

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Pictures:
        return Pictures(lambda item: None)

    def plain(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def caution(self, about: str) -> str:
        return ""

    def looking(self) -> dict[str, Any]:
        return self.settings()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}
