"""Videos: clips of a few frames taken by the clock, and batched augmentation that treats all frames of a clip alike."""

from __future__ import annotations

import io
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from PIL import Image as Pillow
from torch import Tensor

from novakind.modality.clips import read_clip
from novakind.modality.image import ImageAugment, alter, blur, draw_colours, mirror, pick, recolour, uniform

Batch = Float[Tensor, "batch 3 frames height width"]
Each = Float[Tensor, " batch"]
Affine = Float[Tensor, "batch 2 3"]

ROOM = 0.25  # share of the kept frames that is left over at natural speed, to shift and to speed up
LAPSE = 0.25  # seconds within which motion is seen; a slow camera has no two frames that are closer
SAMPLE = 500  # clips are enough to measure means and deviations
THIN = 4  # every so many pixels tell whether a picture still moves


@dataclass(frozen=True)
class VideoAugment:
    """How a clip may vary without leaving its class: all of its frames in the same way, as if filmed otherwise."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: shifts in space and time and mirroring alone; none: the middle of the clip."""
    flip: bool = True
    """Mirror left and right."""
    crop: float = 0.5
    """Smallest share of the picture's area that a random crop keeps."""
    jitter: float = 0.4
    """How far brightness, contrast and saturation stray: 0.4 is from 60 % to 140 %."""
    grey: float = 0.1
    """Chance of losing all colour."""
    blur: float = 0.1
    """Chance of a light blur."""
    shift: float = 1.0
    """How far the moments stray from the middle of the clip: 1 is anywhere within the frames that are kept."""
    speed: float = 0.25
    """How far the speed strays: 0.25 is from 80 % to 125 %."""
    reverse: bool = False
    """Play half of the clips backwards; leave it off where that changes the class, as of sitting down."""
    small: int = 0
    """Side in pixels of the views in the first part of the training, which saves time; 0: full size throughout."""
    small_until: float = 0.6
    """How large that part is, from 0 to 1."""

    def at(self, progress: float) -> VideoAugment:
        """The same at this point of the training, from 0 to 1."""
        return self if progress < self.small_until else replace(self, small=0)


@dataclass(frozen=True)
class Video:
    """Clips of `stored` square frames of `size` pixels, `fps` a second, of which an encoder sees `frames`.

    More are stored than are seen, so that clips can be shifted and played faster: at natural speed the frames that are
    seen spread over three quarters of those that are stored. `mean` and `std` are the channel statistics that normalise
    a batch.

    With `motion` an encoder sees how each of these frames differs from the one a quarter of a second later, or from the
    next that is stored. What stands still is gone then: a network that sees some hundred clips cannot tell them by
    their scenes ("residual frames" of Tao et al., "Rethinking Motion Representation", 2020).
    """

    size: int
    frames: int = 16
    stored: int = 32
    fps: float = 8.0
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.25, 0.25, 0.25)
    motion: bool = False

    kind = "video"
    dtype = "uint8"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a clip as it is kept; encoders must take any number of frames."""
        return (3, self.stored, self.size, self.size)

    @property
    def step(self) -> float:
        """Stored frames from one that is seen to the next, at natural speed."""
        return max(1.0, (1 - ROOM) * self.stored / self.frames)

    def fitted(self, rows: np.ndarray) -> Video:
        """The same with the channel means and deviations of (at most 500 of) the rows, counted clip by clip."""
        counts = np.zeros((3, 256))
        for row in rows[:: max(1, -(-len(rows) // SAMPLE))]:
            counts += [np.bincount(channel[::THIN].ravel(), minlength=256) for channel in row]
        shares, tones = counts / np.maximum(counts.sum(1, keepdims=True), 1), np.arange(256) / 255
        mean = shares @ tones
        std = np.sqrt(np.maximum(shares @ tones**2 - mean**2, 0))
        return replace(self, mean=tuple(mean.round(4).tolist()), std=tuple(np.maximum(std, 0.01).round(4).tolist()))

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """A file is one clip: uint8 (3, stored, size, size), from its middle where it is longer than a clip."""
        return [("", read_clip(path, self.size, self.stored, self.fps))]

    def collate(self, rows: np.ndarray) -> Tensor:
        """Tones from 0 to 1, of all frames that are stored."""
        return torch.from_numpy(np.require(rows, requirements="W")).float().div_(255)  # the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel, channels last; of clips that were not augmented, the middle frames."""
        if batch.shape[2] != self.frames:
            batch = self.middle(batch)
        centre = (0.0, 0.0, 0.0) if self.motion else self.mean
        mean, std = torch.tensor(centre).view(3, 1, 1, 1), torch.tensor(self.std).view(3, 1, 1, 1)
        return torch.addcmul(-mean / std, batch, 1 / std).contiguous(memory_format=torch.channels_last_3d)

    def augment(self, batch: Tensor, policy: VideoAugment, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return self.middle(batch)
        strong = policy.strength == "strong"
        count, look = len(batch), ImageAugment(flip=policy.flip, crop=policy.crop, jitter=policy.jitter)
        pace = uniform(count, -1, 1, generator).mul(math.log1p(policy.speed if strong else 0)).exp()
        place = uniform(count, 0.5 - policy.shift / 2, 0.5 + policy.shift / 2, generator)
        clips = self.seen(batch, self.moments(batch, pace, place))
        if strong and policy.reverse:
            alter(clips, pick(count, 0.5, generator), self.backwards)
        side = policy.small or self.size
        if not strong:
            return resample(clips, shifted(count, self.size, look, generator), side)
        clips = resample(clips, cropped(count, look, generator), side)
        if policy.jitter > 0 or policy.grey > 0:
            change = redye if self.motion else recolour
            # To the colours a clip is one tall picture: its frames below each other.
            clips = change(clips.flatten(2, 3), replace(look, grey=policy.grey), generator).view_as(clips)
        alter(clips, pick(count, policy.blur, generator), soften)
        return clips

    def middle(self, batch: Batch) -> Float[Tensor, "batch 3 {self.frames} height width"]:
        """What is seen where nothing is left to chance."""
        return self.seen(batch, self.moments(batch, torch.ones(len(batch)), torch.full((len(batch),), 0.5)))

    def seen(self, batch: Batch, moments: Int[Tensor, "batch seen"]) -> Float[Tensor, "batch 3 seen height width"]:
        """The frames of these numbers, or what changes between each of them and a later one."""
        if not self.motion:
            return frames_at(batch, moments)
        later = max(1, round(LAPSE * self.fps))
        after = (moments + later).clamp(max=batch.shape[2] - 1)
        return frames_at(batch, after).sub_(frames_at(batch, (after - later).clamp(min=0)))

    def backwards(self, clips: Batch) -> Batch:
        """Played from the end: what appeared disappears."""
        return -clips.flip(2) if self.motion else clips.flip(2)

    def moments(self, batch: Batch, pace: Each, place: Each) -> Int[Tensor, "batch {self.frames}"]:
        """Which of the kept frames are seen, the nearest to even steps.

        `pace` 2 is twice the natural speed; `place` 0 begins at the first frame, and 1 ends where the clip does.
        """
        last = batch.shape[2] - 1
        span = ((self.frames - 1) * self.step * pace).clamp(max=last)
        start = (ends(batch) - span).clamp(min=0) * place
        return (start[:, None] + span[:, None] * torch.linspace(0, 1, self.frames)).round().long().clamp(0, last)

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        """The frame in the middle."""
        buffer = io.BytesIO()
        Pillow.fromarray(np.ascontiguousarray(row[:, row.shape[1] // 2].transpose(1, 2, 0))).save(buffer, "PNG")
        return buffer.getvalue()

    def settings(self) -> dict[str, Any]:
        """Frames go without saying: what was decoded stays valid, however the network is to see it."""
        return {"kind": self.kind, **{name: value for name, value in asdict(self).items() if value is not False}}


def ends(batch: Batch) -> Each:
    """The number of each clip's last frame that is new: of a short recording the last frame is held to fill the rest,
    and to look for the middle in that would be to miss what was recorded."""
    some = batch[:, 1, :, ::THIN, ::THIN].flatten(2)
    moved = (some[:, 1:] != some[:, :-1]).any(2)
    numbers = torch.arange(1, batch.shape[2])
    return F.pad(moved * numbers, (1, 0)).amax(1).float()


def frames_at(batch: Batch, moments: Int[Tensor, "batch seen"]) -> Float[Tensor, "batch 3 seen height width"]:
    """The frames of these numbers, other ones for each clip."""
    count, channels, kept, height, width = batch.shape
    planes = torch.arange(count * channels).view(count, channels, 1) * kept + moments[:, None]
    chosen = batch.reshape(-1, height * width).index_select(0, planes.flatten())
    return chosen.view(count, channels, -1, height, width)


def resample(clips: Batch, theta: Affine, side: int) -> Float[Tensor, "batch 3 frames {side} {side}"]:
    """Look up every pixel where `theta` says (a frame spans -1 to 1), mirrored beyond the edge; all frames at once."""
    planes = clips.flatten(1, 2)
    grid = F.affine_grid(theta, [*planes.shape[:2], side, side], align_corners=False)
    seen = F.grid_sample(planes, grid, padding_mode="reflection", align_corners=False)
    return seen.view(*clips.shape[:3], side, side)


def shifted(count: int, side: int, look: ImageAugment, generator: torch.Generator) -> Affine:
    """Shifts by whole pixels, up to an eighth of the side, so that nothing is blurred, and mirroring."""
    offset = torch.randint(-(side // 8), side // 8 + 1, (count, 2), generator=generator) * (2 / side)
    return affine(mirror(count, look, generator), torch.ones(count), offset)


def cropped(count: int, look: ImageAugment, generator: torch.Generator) -> Affine:
    """A random crop (area, aspect, place), mirrored or not, resized to the whole."""
    side = uniform(count, look.crop, 1, generator).sqrt()
    aspect = uniform(count, math.log(3 / 4), math.log(4 / 3), generator).mul(0.5).exp()
    aspect = aspect.clamp(side, 1 / side)  # neither side beyond the frame's, so that the area stays as drawn
    wide, high = side * aspect, side / aspect
    offset = torch.stack([1 - wide, 1 - high], 1) * (2 * torch.rand(count, 2, generator=generator) - 1)
    return affine(wide * mirror(count, look, generator), high, offset)


def affine(wide: Each, high: Each, offset: Float[Tensor, "batch 2"]) -> Affine:
    """Axes scaled by `wide` and `high`, then moved."""
    return torch.cat([torch.diag_embed(torch.stack([wide, high], 1)), offset[:, :, None]], 2)


def redye(
    changes: Float[Tensor, "batch 3 height width"], look: ImageAugment, generator: torch.Generator
) -> Float[Tensor, "batch 3 height width"]:
    """The changes of clips whose colours are changed: unlike tones these have no middle and no limits."""
    matrix, _, _ = draw_colours(len(changes), look, generator)
    return torch.bmm(matrix, changes.flatten(2)).view_as(changes)


def soften(clips: Batch) -> Batch:
    """A light blur of every frame."""
    pictures = clips.transpose(1, 2)
    return blur(pictures.flatten(0, 1)).view(pictures.shape).transpose(1, 2)
