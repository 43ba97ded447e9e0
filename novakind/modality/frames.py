"""Ways in which clips vary: when and where they are looked at, their colours and sharpness, alike in all frames."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from novakind.modality.pixels import ImageViews, blur, draw_colours, mirror, uniform
from novakind.settings import Pixels, PositiveShare, Range, Share, check

Batch = Float[Tensor, "batch 3 frames height width"]
Each = Float[Tensor, " batch"]
Affine = Float[Tensor, "batch 2 3"]

THIN = 4  # every so many pixels tell whether a picture still moves


@dataclass(frozen=True)
class VideoViews:
    """How a clip may vary without leaving its class: all of its frames in the same way, as if filmed otherwise."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: shifts in space and time and mirroring alone; none: the middle of the clip."""
    flip: bool = True
    """Mirror left and right."""
    crop: PositiveShare = 0.5
    """Smallest share of the picture's area that a random crop keeps."""
    jitter: Annotated[float, Range(0, 10)] = 0.4
    """How far brightness, contrast and saturation stray: 0.4 is from 60 % to 140 %."""
    grey: Share = 0.1
    """Chance of losing all colour."""
    blur: Share = 0.1
    """Chance of a light blur."""
    shift: Share = 1.0
    """How far the moments stray from the middle of the clip: 1 is anywhere within the frames that are kept."""
    speed: Annotated[float, Range(0, 10)] = 0.25
    """How far the speed strays: 0.25 is from 80 % to 125 %."""
    reverse: bool = False
    """Play half of the clips backwards; leave it off where that changes the class, as of sitting down."""
    small: Pixels = 0
    """Side in pixels of the views in the first part of the training, which saves time; 0: full size throughout."""
    small_until: Share = 0.6
    """How large that part is, from 0 to 1."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> VideoViews:
        """The same at this point of the training, from 0 to 1."""
        return self if progress < self.small_until else replace(self, small=0)


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


def shifted(count: int, side: int, look: ImageViews, generator: torch.Generator) -> Affine:
    """Shifts by whole pixels, up to an eighth of the side, so that nothing is blurred, and mirroring."""
    offset = torch.randint(-(side // 8), side // 8 + 1, (count, 2), generator=generator) * (2 / side)
    return affine(mirror(count, look, generator), torch.ones(count), offset)


def cropped(count: int, look: ImageViews, generator: torch.Generator) -> Affine:
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
    changes: Float[Tensor, "batch 3 height width"], look: ImageViews, generator: torch.Generator
) -> Float[Tensor, "batch 3 height width"]:
    """The changes of clips whose colours are changed: unlike tones these have no middle and no limits."""
    matrix, _, _ = draw_colours(len(changes), look, generator)
    return torch.bmm(matrix, changes.flatten(2)).view_as(changes)


def soften(clips: Batch) -> Batch:
    """A light blur of every frame."""
    pictures = clips.transpose(1, 2)
    return blur(pictures.flatten(0, 1)).view(pictures.shape).transpose(1, 2)
