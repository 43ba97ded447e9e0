"""Ways in which sensor data vary: speed, orientation, gain, noise and failure, each for a whole batch at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from novakind.settings import BelowOne, PositiveShare, Range, Share, check

Batch = Float[Tensor, "batch channels time"]
KNOTS = 5  # how many times a smooth curve may change its mind over a window
PIECES = 5  # the most that a window is cut into


@dataclass(frozen=True)
class SeriesViews:
    """How a window of sensor data may vary without leaving its class. Turn off what would change the class: where
    lying and standing differ by orientation alone, a large turn makes them one."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: jitter and scale alone; none: the window as it is."""
    jitter: BelowOne = 0.05
    """Standard deviation of the noise added to every sample, in units of its channel's deviation."""
    scale: BelowOne = 0.1
    """Spread of the random factor that a sensor's values are multiplied by: 0.1 is mostly from 90 % to 110 %."""
    rotate: Annotated[float, Range(0, 180)] = 30.0
    """Largest turn in space, in degrees, of each sensor of three channels; 180: any orientation."""
    time_warp: BelowOne = 0.2
    """How far the speed strays within a window: 0.2 is mostly from 80 % to 120 %."""
    magnitude_warp: BelowOne = 0.2
    """How far a sensor's gain drifts within a window: 0.2 is mostly from 80 % to 120 %."""
    permute: Share = 0.0
    """Chance of cutting the window into two to five pieces and shuffling them."""
    slice: PositiveShare = 0.8
    """Smallest share of the window that is kept and stretched to the full length."""
    drop: Share = 0.0
    """Chance that a sensor falls silent at its mean; at least one of them stays."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> SeriesViews:
        return self


def smooth_curves(count: int, length: int, generator: torch.Generator) -> Float[Tensor, "count length"]:
    """Random smooth curves over time, independent of each other, with mean 0 and deviation 1 at every time.

    Their bumps are centred, so that a curve stays about zero over the window as well: what is constant has no part.
    """
    here = torch.get_default_device()  # said, since transformers hides `linspace` from torch's own defaults
    knots, times = torch.linspace(0, 1, KNOTS, device=here)[:, None], torch.linspace(0, 1, length, device=here)
    bumps = torch.exp(-0.5 * ((times - knots) * (KNOTS - 1)) ** 2)
    bumps = bumps - bumps.mean(1, keepdim=True)
    return torch.randn(count, KNOTS, generator=generator) @ (bumps / bumps.norm(dim=0))


def moments(
    count: int, length: int, warp: float, smallest: float, generator: torch.Generator
) -> Float[Tensor, "count length"]:
    """When to look at each item, in samples: always forward, at a speed that strays, in a random part of the window.

    The part holds at least the share `smallest` of the window; the logarithm of the speed has the deviation `warp`.
    """
    speed = torch.exp(warp * smooth_curves(count, length - 1, generator)) if warp > 0 else torch.ones(count, length - 1)
    run = torch.nn.functional.pad(speed.cumsum(1), (1, 0))
    share = 1 - (1 - smallest) * torch.rand(count, 1, generator=generator)
    start = (1 - share) * torch.rand(count, 1, generator=generator)
    return ((length - 1) * (start + run * (share / run[:, -1:]))).clamp_(max=length - 1)


def shuffled(count: int, length: int, generator: torch.Generator) -> Int[Tensor, "count length"]:
    """Sample numbers in a new order: the window cut at random into two to five pieces, which are then shuffled."""
    cuts = torch.randint(1, length, (count, PIECES - 1), generator=generator)
    needed = torch.randint(1, PIECES, (count, 1), generator=generator)
    cuts = cuts.masked_fill(torch.arange(PIECES - 1) >= needed, length).sort(1).values
    piece = torch.searchsorted(cuts, torch.arange(length).repeat(count, 1), right=True)
    return torch.rand(count, PIECES, generator=generator).gather(1, piece).argsort(dim=1, stable=True)


def reorder(
    times: Float[Tensor, "batch time"], chance: float, generator: torch.Generator
) -> Float[Tensor, "batch time"]:
    """The times of some items in shuffled pieces, so that the one look-up also permutes."""
    chosen = (torch.rand(len(times), generator=generator) < chance).nonzero()[:, 0]
    order = shuffled(len(chosen), times.shape[1], generator)
    return times.index_copy(0, chosen, times[chosen].gather(1, order))


def look_up(batch: Batch, times: Float[Tensor, "batch time"]) -> Batch:
    """The batch at these times, which are the same for all channels, on straight lines between the samples."""
    before = times.long().clamp_(0, batch.shape[2] - 2)
    part = (times - before).unsqueeze(1)
    before = before.unsqueeze(1).expand_as(batch)
    return batch.gather(2, before).lerp(batch.gather(2, before + 1), part)


def rotations(count: int, degrees: float, generator: torch.Generator) -> Float[Tensor, "count 3 3"]:
    """Turns about random axes by up to so many degrees; 180 and more: every orientation is equally likely."""
    quaternion = torch.randn(count, 4, generator=generator)
    if degrees < 180:
        half = torch.rand(count, 1, generator=generator) * math.radians(degrees / 2)
        axis = torch.nn.functional.normalize(quaternion[:, 1:])
        quaternion = torch.cat([half.cos(), half.sin() * axis], 1)
    w, x, y, z = torch.nn.functional.normalize(quaternion).unbind(1)
    rows = [
        *(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        *(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        *(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return torch.stack(rows, 1).view(count, 3, 3)


def turn(batch: Batch, degrees: float, generator: torch.Generator) -> Batch:
    """Every sensor of three channels turned in space on its own, as if it were worn at another angle."""
    count, channels, length = batch.shape
    vectors = batch.reshape(count * channels // 3, 3, length)
    return (rotations(len(vectors), degrees, generator) @ vectors).view_as(batch)


def gains(
    count: int, length: int, scale: float, warp: float, generator: torch.Generator
) -> Float[Tensor, "count moments"]:
    """Factors above 0: for each sensor a constant one (column), or with `warp` one that drifts over all samples.

    The logarithm of the constant part has the deviation `scale`, that of the drift the deviation `warp`.
    """
    logarithm = scale * torch.randn(count, 1, generator=generator)
    if warp > 0:
        logarithm = logarithm + warp * smooth_curves(count, length, generator)
    return logarithm.exp()


def failures(count: int, sensors: int, chance: float, generator: torch.Generator) -> Bool[Tensor, "count sensors"]:
    """Which sensors fail; the luckiest of each item never does, since an item without data has no class."""
    luck = torch.rand(count, sensors, generator=generator)
    return (luck < chance).scatter_(1, luck.argmax(1, keepdim=True), False)


def retime(batch: Batch, policy: SeriesViews, generator: torch.Generator) -> Batch:
    """Warping, slicing and shuffling in one look-up, so that lines are drawn between the samples only once."""
    count, _, length = batch.shape
    if policy.time_warp == 0 and policy.slice >= 1 and policy.permute == 0:
        return batch
    times = torch.arange(length, dtype=torch.float32).repeat(count, 1)
    if policy.time_warp > 0 or policy.slice < 1:
        times = moments(count, length, policy.time_warp, policy.slice, generator)
    if policy.permute > 0:
        times = reorder(times, policy.permute, generator)
    return look_up(batch, times)
