"""Time series: windows of sensor channels at one rate, varied the way sensors and movements vary."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from novakind.errors import UserError
from novakind.modality import warp
from novakind.modality.display import Signals
from novakind.modality.numbers import finite
from novakind.modality.paper import PAPER
from novakind.modality.recordings import read_windows, survey
from novakind.modality.strings import mostly_digits
from novakind.modality.warp import SeriesViews
from novakind.settings import Range, check, first_change

Batch = Float[Tensor, "batch channels time"]
Column = Float[Tensor, "channels 1"]

SAMPLE = 5000  # rows are enough to measure means and deviations
SHORTEST = 8  # samples of a window


# sensors: recordings of body-worn sensors and the like; the device may be worn at any angle.
PRESETS: dict[str, dict[str, Any]] = {
    "sensors": {
        "ema": 0.98,
        "optim.name": "muon",
        "optim.lr": 0.05,
        "optim.weight_decay": 0.01,
        "views.rotate": 180.0,
    },
    "default": {},
    "paper": PAPER,
}


@dataclass(frozen=True)
class SeriesReading:
    """How recordings become items."""

    window: str = ""
    """Cut recordings into windows of this length: 3s, 500ms, or 150 for samples; without it a file is one item."""
    hop: str = ""
    """From the start of one window to the next, written like --window; half a window where it is not given."""
    rate: Annotated[float, Range(0, 20_000)] = 0.0
    """Samples per second that recordings are resampled to. Those without a column of times are taken to have this rate;
    0 takes the rate that most files have."""
    gravity: Literal["keep", "remove"] = "keep"
    """remove: take what is slower than 0.3 Hz out of recordings."""

    def __post_init__(self) -> None:
        check(self)

    def cutting(self, rate: float) -> tuple[int, int]:
        """Length and hop of the windows, in samples."""
        length = samples("--window", self.window, rate)
        if length < SHORTEST:
            raise UserError(
                f"--window {self.window} is {length} samples, but at least {SHORTEST} are needed: give a longer one"
            )
        hop = samples("--hop", self.hop, rate) if self.hop else max(length // 2, 1)
        if hop < 1:
            raise UserError(f"--hop {self.hop} is no step forward: give a time above 0, e.g. half of --window")
        return length, hop


@dataclass(frozen=True)
class Series:
    """Windows of `length` samples in each of the `channels`, `rate` per second (0: unknown).

    A file is one item, or with `hop` as many as there are windows that start `hop` samples after each other. `gravity`
    says whether the constant pull is taken out of accelerations, and `unit` is that of the values, for axes. `mean` and
    `std` normalise a batch; they are empty until they have been measured.

    Where the number of channels is a multiple of three, each three in a row are the axes of one sensor: they turn,
    scale and fail together. Otherwise each channel is a sensor by itself.
    """

    channels: tuple[str, ...]
    length: int
    rate: float = 0.0
    hop: int = 0
    gravity: Literal["keep", "remove"] = "keep"
    unit: str = ""
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    kind = "series"
    noun = "recordings"
    example = "CSV files with a column for each channel"
    arrays = f"series (N x T x C, T at least {SHORTEST} and other than C)"
    endings = frozenset({".csv", ".tsv", ".txt", ".dat"})
    dtype = "float32"
    Reading = SeriesReading
    Views = SeriesViews
    presets = PRESETS
    trainable = True
    shown = "signals"

    @classmethod
    def recognises(cls, file: Path) -> bool:
        """A recording is mostly digits; a file that is no text at all is one, so that reading it says what is wrong."""
        return mostly_digits(file)

    @classmethod
    def survey(cls, files: Sequence[Path], reading: SeriesReading, origin: Any = None) -> Series:
        """Channels, rate and length that most of the recordings have, or that are asked for."""
        found = survey([file for file in files if file.suffix.lower() in cls.endings])
        rate = reading.rate or found.rate or 0.0
        if reading.window:
            length, hop = reading.cutting(rate)
            return cls(found.channels, length, rate, hop, reading.gravity)
        if reading.hop:
            raise UserError(f"--hop {reading.hop} is for recordings that are cut into windows: give --window too")
        stretch = rate / found.rate if rate and found.rate else 1.0
        return cls(found.channels, max(round(found.samples * stretch), 1), rate, 0, reading.gravity)

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        return "", ""

    @classmethod
    def from_array(cls, X: np.ndarray, reading: SeriesReading) -> tuple[np.ndarray, Series] | None:
        if X.ndim != 3 or X.dtype == np.uint8 or X.shape[1] < SHORTEST or not 0 < X.shape[2] != X.shape[1]:
            return None
        if changed := first_change(reading):
            raise UserError(f"{changed} is for recordings in files, and X holds series as they are: leave it out")
        items = np.ascontiguousarray(finite(X).transpose(0, 2, 1))
        return items, cls(tuple(str(number + 1) for number in range(X.shape[2])), X.shape[1]).fitted(items)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.channels), self.length)

    @property
    def axes(self) -> int:
        """How many channels a sensor has."""
        return 1 if len(self.channels) % 3 else 3

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Series:
        """The same with the means and deviations of (at most 5,000 of) the rows; a constant channel gets scale 1."""
        some = rows[:: max(1, -(-len(rows) // SAMPLE))]
        columns = [some[:, channel] for channel in range(len(self.channels))]  # one at a time, to spare memory
        mean = [float(column.mean(dtype=np.float64)) for column in columns]
        std = [float(column.std(dtype=np.float64)) for column in columns]
        constant = [spread <= 1e-7 * np.abs(column).max() for spread, column in zip(std, columns, strict=True)]
        return replace(self, mean=tuple(mean), std=tuple(np.where(constant, 1.0, std).tolist()))

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """The windows of a recording, each with what tells it apart from the others of its file."""
        return read_windows(path, self.channels, self.rate, self.length, self.hop, self.gravity)

    def reading(self) -> SeriesReading:
        return SeriesReading()

    def for_encoder(self, origin: Any) -> Series:
        return self

    def decoding(self) -> dict[str, Any]:
        return {"kind": self.kind, **{key: value for key, value in asdict(self).items() if key not in ("mean", "std")}}

    def check(self, views: SeriesViews, rows: Iterable[np.ndarray]) -> None:
        """All views go with series."""

    def from_tensor(self, rows: Tensor) -> Tensor:
        """As `collate`, within a network that is exported."""
        return rows.float()

    def collate(self, rows: np.ndarray) -> Tensor:
        """The values in their own unit."""
        return torch.from_numpy(np.array(rows, dtype=np.float32))  # a copy: the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel; the mean goes first, so that a large one takes no precision with it."""
        mean, std = self.statistics()
        return (batch - mean).div_(std).contiguous()

    def augment(self, batch: Tensor, policy: SeriesViews, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return batch
        if policy.strength == "weak":
            return self.add_noise(self.rescale(batch, policy.scale, 0.0, generator), policy.jitter, generator)
        batch = warp.retime(batch, policy, generator)
        if self.axes == 3 and policy.rotate > 0:
            batch = warp.turn(batch, policy.rotate, generator)
        batch = self.rescale(batch, policy.scale, policy.magnitude_warp, generator)
        batch = self.add_noise(batch, policy.jitter, generator)
        return self.silence(batch, policy.drop, generator)

    def rescale(self, batch: Batch, scale: float, drift: float, generator: torch.Generator) -> Batch:
        """Each sensor's values times its gain; a lone channel's about its mean, as its zero may mean nothing."""
        if scale == 0 and drift == 0:
            return batch
        sensors = len(batch) * batch.shape[1] // self.axes
        gains = warp.gains(sensors, batch.shape[2], scale, drift, generator)
        values = batch.reshape(sensors, self.axes, -1)
        if self.axes == 3:
            return (values * gains[:, None]).view_as(batch)
        mean = self.statistics()[0].repeat(len(batch), 1)[:, None]
        return torch.lerp(mean, values, gains[:, None]).view_as(batch)

    def add_noise(self, batch: Batch, jitter: float, generator: torch.Generator) -> Batch:
        """Noise as large as each channel's own spread allows: sensors come in units of all sizes."""
        if jitter == 0:
            return batch
        noise = torch.randn(batch.shape, generator=generator)
        return torch.addcmul(batch, noise, jitter * self.statistics()[1])

    def silence(self, batch: Batch, chance: float, generator: torch.Generator) -> Batch:
        """Some sensors at their mean, which normalisation turns into zeros."""
        if chance == 0:
            return batch
        failed = warp.failures(len(batch), batch.shape[1] // self.axes, chance, generator)
        return torch.where(failed.repeat_interleave(self.axes, 1)[:, :, None], self.statistics()[0], batch)

    def statistics(self) -> tuple[Column, Column]:
        """Mean and deviation of each channel; 0 and 1 as long as nothing was measured."""
        count = len(self.channels)
        mean, std = self.mean or (0.0,) * count, self.std or (1.0,) * count
        return torch.tensor(mean)[:, None], torch.tensor(std)[:, None]

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Signals:
        return Signals(self.channels, self.rate, self.unit, row)

    def plain(self, rows: np.ndarray) -> None:
        """Recordings are never alike moment by moment."""

    def caution(self, about: str) -> str:
        return ""

    def looking(self) -> dict[str, Any]:
        return self.settings()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def samples(option: str, text: str, rate: float) -> int:
    """A length of time in samples: 3s and 500ms need the rate, a bare number is samples."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|ms|)\s*", text)
    if not match or (not match[2] and not match[1].isdecimal()):
        raise UserError(f"{option} {text} is no length of time: write 3s, 500ms, or 150 for samples")
    if not match[2]:
        return int(match[1])
    if not rate:
        raise UserError(
            f"{option} {text} needs the samples per second, and the files have no column of times: give --rate 50, "
            f"or {option} in samples"
        )
    return round(float(match[1]) * rate / (1000 if match[2] == "ms" else 1))
