"""Time series: windows of sensor channels at one rate, varied the way sensors and movements vary."""

from __future__ import annotations

import io
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image as Pillow
from PIL import ImageDraw
from torch import Tensor

from novakind.modality import warp
from novakind.modality.recordings import read_windows

Batch = Float[Tensor, "batch channels time"]
Column = Float[Tensor, "channels 1"]

SAMPLE = 5000  # rows are enough to measure means and deviations
WIDE, HIGH, FINE = 112, 72, 3  # a thumbnail's pixels, and how many times finer it is drawn
GROUND = "#f4f4f2"
INKS = ("#2f6fd0", "#d9662b", "#2f9461", "#9a4fb5", "#c2343f", "#7d6a2c", "#1f9aa8", "#666c78")


@dataclass(frozen=True)
class SeriesAugment:
    """How a window of sensor data may vary without leaving its class. Turn off what would change the class: where
    lying and standing differ by orientation alone, a large turn makes them one."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: jitter and scale alone; none: the window as it is."""
    jitter: float = 0.05
    """Standard deviation of the noise added to every sample, in units of its channel's deviation."""
    scale: float = 0.1
    """Spread of the random factor that a sensor's values are multiplied by: 0.1 is mostly from 90 % to 110 %."""
    rotate: float = 30.0
    """Largest turn in space, in degrees, of each sensor of three channels; 180: any orientation."""
    time_warp: float = 0.2
    """How far the speed strays within a window: 0.2 is mostly from 80 % to 120 %."""
    magnitude_warp: float = 0.2
    """How far a sensor's gain drifts within a window: 0.2 is mostly from 80 % to 120 %."""
    permute: float = 0.0
    """Chance of cutting the window into two to five pieces and shuffling them."""
    slice: float = 0.8
    """Smallest share of the window that is kept and stretched to the full length."""
    drop: float = 0.0
    """Chance that a sensor falls silent at its mean; at least one of them stays."""


@dataclass(frozen=True)
class Series:
    """Windows of `length` samples in each of the `channels`, `rate` a second (0: unknown).

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
    dtype = "float32"

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.channels), self.length)

    @property
    def axes(self) -> int:
        """How many channels a sensor has."""
        return 1 if len(self.channels) % 3 else 3

    def fitted(self, rows: np.ndarray) -> Series:
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

    def collate(self, rows: np.ndarray) -> Tensor:
        """The values in their own unit."""
        return torch.from_numpy(np.array(rows, dtype=np.float32))  # a copy: the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel; the mean goes first, so that a large one takes no precision with it."""
        mean, std = self.statistics()
        return (batch - mean).div_(std).contiguous()

    def augment(self, batch: Tensor, policy: SeriesAugment, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return batch
        if policy.strength == "weak":
            return self.add_noise(self.rescale(batch, policy.scale, 0.0, generator), policy.jitter, generator)
        batch = retime(batch, policy, generator)
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

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        """The channels as coloured lines on one scale, without axes: the shape is what a person recognises."""
        picture = Pillow.new("RGB", (WIDE * FINE, HIGH * FINE), GROUND)
        draw, margin = ImageDraw.Draw(picture), 4 * FINE
        values = np.nan_to_num(np.asarray(row, dtype=np.float64))
        low, spread = values.min(), np.ptp(values)
        heights = (values - low) / spread if spread > 0 else np.full(values.shape, 0.5)
        across = np.linspace(margin, WIDE * FINE - margin, values.shape[1])
        for number, height in enumerate(heights):
            down = HIGH * FINE - margin - height * (HIGH * FINE - 2 * margin)
            draw.line(list(zip(across, down, strict=True)), INKS[number % len(INKS)], FINE + 1)
        buffer = io.BytesIO()
        picture.reduce(FINE).quantize(32).save(buffer, "PNG", optimize=True)  # few tones: a third of the bytes
        return buffer.getvalue()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def retime(batch: Batch, policy: SeriesAugment, generator: torch.Generator) -> Batch:
    """Warping, slicing and shuffling in one look-up, so that lines are drawn between the samples only once."""
    count, _, length = batch.shape
    if policy.time_warp == 0 and policy.slice >= 1 and policy.permute == 0:
        return batch
    times = torch.arange(length, dtype=torch.float32).repeat(count, 1)
    if policy.time_warp > 0 or policy.slice < 1:
        times = warp.moments(count, length, policy.time_warp, policy.slice, generator)
    if policy.permute > 0:
        times = warp.reorder(times, policy.permute, generator)
    return warp.look_up(batch, times)
