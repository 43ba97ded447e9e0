"""Ways in which pictures vary: place, size, angle, colour, sharpness and cover, for a whole batch at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from novakind.settings import Pixels, PositiveShare, Range, Share, check

Batch = Float[Tensor, "batch 3 height width"]
Views = Float[Tensor, "batch 3 high wide"]
GREY = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class ImageViews:
    """How a picture may vary without leaving its class. Turn off what would change the class: a flipped 2 is no 2."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: shift and flip alone; none: the picture as it is."""
    flip: bool = True
    """Mirror left and right."""
    crop: PositiveShare = 0.5
    """Smallest share of the picture's area that a random crop keeps."""
    rotate: Annotated[float, Range(0, 180)] = 0.0
    """Largest rotation, in degrees."""
    jitter: Annotated[float, Range(0, 10)] = 0.4
    """How far brightness, contrast and saturation stray: 0.4 is from 60 % to 140 %."""
    grey: Share = 0.1
    """Chance of losing all colour."""
    blur: Share = 0.1
    """Chance of a light blur."""
    solarize: Share = 0.1
    """Chance of inverting the bright half of the tones."""
    cutout: Share = 0.3
    """Chance of a grey square over up to a quarter of the area."""
    small: Pixels = 0
    """Side in pixels of the views in the first part of the training, which saves time; 0: full size throughout."""
    small_until: Share = 0.6
    """How large that part is, from 0 to 1."""
    mild_from: Share = 1.0
    """From this share of the training on, when clusters have formed, views are mild: no change of colour, no blur."""
    mild_crop: PositiveShare = 0.8
    """Smallest share of the area that a crop keeps then."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> ImageViews:
        """The same at this point of the training, from 0 to 1."""
        policy = self if progress < self.small_until else replace(self, small=0)
        if progress < self.mild_from:
            return policy
        crop = max(self.crop, self.mild_crop)
        return replace(policy, crop=crop, jitter=0.0, grey=0.0, blur=0.0, solarize=0.0)


def pick(count: int, chance: float, generator: torch.Generator) -> Tensor:
    """The numbers of those items, out of `count`, that the chance falls on."""
    return (torch.rand(count, generator=generator) < chance).nonzero()[:, 0]


def alter(batch: Tensor, chosen: Int[Tensor, " some"], change: Callable[[Tensor], Tensor]) -> None:
    """Change some items of a batch, in place."""
    if len(chosen):
        batch.index_copy_(0, chosen, change(batch.index_select(0, chosen)))


def uniform(count: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    """`count` draws between `low` and `high`."""
    return low + (high - low) * torch.rand(count, generator=generator)


def mirror(count: int, policy: ImageViews, generator: torch.Generator) -> Tensor:
    """1 or -1 for each item: the direction of its horizontal axis."""
    sign = (torch.rand(count, generator=generator) < 0.5).float() * -2 + 1
    return sign if policy.flip else torch.ones(count)


def resample(
    batch: Batch, matrix: Float[Tensor, "batch 2 2"], offset: Float[Tensor, "batch 2"], side: int = 0
) -> Views:
    """Look up every output pixel at matrix @ place + offset (the picture spans -1 to 1), mirrored beyond the edge."""
    theta = torch.cat([matrix, offset[:, :, None]], 2)
    shape = [*batch.shape[:2], side, side] if side else list(batch.shape)
    grid = F.affine_grid(theta, shape, align_corners=False)
    return F.grid_sample(batch, grid, padding_mode="reflection", align_corners=False)


def shift_and_flip(batch: Batch, policy: ImageViews, generator: torch.Generator) -> Views:
    """Whole-pixel shifts of up to an eighth of the side, so that nothing is blurred, and mirroring."""
    count, side = len(batch), batch.shape[-1]
    reach = side // 8
    matrix = torch.eye(2).repeat(count, 1, 1)
    matrix[:, 0, 0] = mirror(count, policy, generator)
    offset = torch.randint(-reach, reach + 1, (count, 2), generator=generator) * (2 / side)
    return resample(batch, matrix, offset, policy.small)


def crop_and_turn(batch: Batch, policy: ImageViews, generator: torch.Generator) -> Views:
    """A random crop (area, aspect, place), rotated and mirrored, resized to the whole: one look-up in all."""
    count = len(batch)
    side = uniform(count, policy.crop, 1, generator).sqrt()
    aspect = uniform(count, math.log(3 / 4), math.log(4 / 3), generator).mul(0.5).exp()
    aspect = aspect.clamp(side, 1 / side)  # neither side beyond the picture's, so that the area stays as drawn
    wide, high = side * aspect, side / aspect
    angle = uniform(count, -1, 1, generator) * math.radians(policy.rotate)
    cos, sin = angle.cos(), angle.sin()
    left = wide * mirror(count, policy, generator)
    matrix = torch.stack([cos * left, -sin * high, sin * left, cos * high], 1).view(count, 2, 2)
    offset = torch.stack([1 - wide, 1 - high], 1) * (2 * torch.rand(count, 2, generator=generator) - 1)
    return resample(batch, matrix, offset, policy.small)


def recolour(batch: Batch, policy: ImageViews, generator: torch.Generator) -> Batch:
    """Brightness, contrast, saturation and grey are all linear in colour: one 3x3 matrix and one offset per item."""
    matrix, brightness, contrast = draw_colours(len(batch), policy, generator)
    middle = (batch.mean((2, 3)) @ torch.tensor(GREY)).view(-1, 1, 1) * brightness
    tones = torch.baddbmm(((1 - contrast) * middle).expand(-1, 3, 1), matrix, batch.flatten(2))
    return tones.clamp_(0, 1).view_as(batch)


def draw_colours(
    count: int, policy: ImageViews, generator: torch.Generator
) -> tuple[Float[Tensor, "batch 3 3"], Float[Tensor, "batch 1 1"], Float[Tensor, "batch 1 1"]]:
    """Matrices that change colours, and the brightness and contrast in them."""
    reach = policy.jitter
    brightness, contrast, saturation = (
        uniform(count, max(0, 1 - reach), 1 + reach, generator).view(count, 1, 1) for _ in range(3)
    )
    saturation[pick(count, policy.grey, generator)] = 0
    to_grey = torch.tensor(GREY).expand(3, 3)
    return brightness * contrast * (saturation * torch.eye(3) + (1 - saturation) * to_grey), brightness, contrast


def solarize(batch: Batch) -> Batch:
    """Bright tones inverted."""
    return torch.where(batch >= 0.5, 1 - batch, batch)


def blur(batch: Batch) -> Batch:
    """A 3 x 3 binomial filter."""
    padded = F.pad(batch, (1, 1, 1, 1), mode="replicate")
    across = padded[..., :-2] / 4 + padded[..., 1:-1] / 2 + padded[..., 2:] / 4
    return across[..., :-2, :] / 4 + across[..., 1:-1, :] / 2 + across[..., 2:, :] / 4


def cut_out(batch: Batch, policy: ImageViews, generator: torch.Generator) -> Batch:
    """A square of a quarter to a half of the side set to mid-grey, anywhere, also over the edge."""
    side, chosen = batch.shape[-1], pick(len(batch), policy.cutout, generator)
    cut, *middle = (side * torch.rand(3, len(chosen), 1, generator=generator)).unbind()
    half = (0.125 * (side + cut)).round().clamp(min=1)
    places = torch.arange(side)
    rows, columns = ((places >= at.floor() - half) & (places < at.floor() + half) for at in middle)
    square = rows[:, None, :, None] & columns[:, None, None, :]
    alter(batch, chosen, lambda some: some.masked_fill_(square, 0.5))
    return batch
