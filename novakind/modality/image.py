"""Images: any mode and size in, square RGB bytes in the store, batched augmentation without worker processes."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from PIL import Image as Pillow
from PIL import ImageOps
from torch import Tensor

from novakind.errors import UnreadableError

Batch = Float[Tensor, "batch 3 height width"]
Views = Float[Tensor, "batch 3 high wide"]
GREY = torch.tensor([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class ImageAugment:
    """How a picture may vary without leaving its class. Turn off what would change the class: a flipped 2 is no 2."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: everything below; weak: shift and flip alone; none: the picture as it is."""
    flip: bool = True
    """Mirror left and right."""
    crop: float = 0.5
    """Smallest share of the picture's area that a random crop keeps."""
    rotate: float = 0.0
    """Largest rotation, in degrees."""
    jitter: float = 0.4
    """How far brightness, contrast and saturation stray: 0.4 is from 60 % to 140 %."""
    grey: float = 0.1
    """Chance of losing all colour."""
    blur: float = 0.1
    """Chance of a light blur."""
    solarize: float = 0.1
    """Chance of inverting the bright half of the tones."""
    cutout: float = 0.3
    """Chance of a grey square over up to a quarter of the area."""
    small: int = 0
    """Side in pixels of the views in the first part of the training, which saves time; 0: full size throughout."""
    small_until: float = 0.6
    """How large that part is, from 0 to 1."""
    mild_from: float = 1.0
    """From this share of the training on, when clusters have formed, views are mild: no change of colour, no blur."""
    mild_crop: float = 0.8
    """Smallest share of the area that a crop keeps then."""

    def at(self, progress: float) -> ImageAugment:
        """The same at this point of the training, from 0 to 1."""
        policy = self if progress < self.small_until else replace(self, small=0)
        if progress < self.mild_from:
            return policy
        crop = max(self.crop, self.mild_crop)
        return replace(policy, crop=crop, jitter=0.0, grey=0.0, blur=0.0, solarize=0.0)


@dataclass(frozen=True)
class Image:
    """Square RGB pictures of `size` pixels; `mean` and `std` are the channel statistics that normalise a batch."""

    size: int
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.25, 0.25, 0.25)

    kind = "image"
    dtype = "uint8"

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)

    def fitted(self, rows: np.ndarray) -> Image:
        """The same with the channel means and deviations of (at most 5,000 of) the rows."""
        some = rows[:: max(1, len(rows) // 5000)].astype(np.float32) / 255
        mean, std = some.mean((0, 2, 3), dtype=np.float64), some.std((0, 2, 3), dtype=np.float64)
        return Image(self.size, tuple(mean.round(4).tolist()), tuple(np.maximum(std, 0.01).round(4).tolist()))

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """Upright, in RGB, scaled to cover the square and cropped at the centre: uint8 (3, size, size)."""
        picture = ImageOps.fit(open_rgb(path), (self.size, self.size), Pillow.Resampling.BILINEAR)
        return [("", np.ascontiguousarray(np.asarray(picture, dtype=np.uint8).transpose(2, 0, 1)))]

    def collate(self, rows: np.ndarray) -> Tensor:
        """Tones from 0 to 1."""
        return torch.from_numpy(np.require(rows, requirements="W")).float().div_(255)  # the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel; channels last, which halves the time of convolutions on CPUs."""
        mean, std = torch.tensor(self.mean).view(3, 1, 1), torch.tensor(self.std).view(3, 1, 1)
        return torch.addcmul(-mean / std, batch, 1 / std).contiguous(memory_format=torch.channels_last)

    def augment(self, batch: Tensor, policy: ImageAugment, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return batch
        if policy.strength == "weak":
            return shift_and_flip(batch, policy, generator)
        batch = crop_and_turn(batch, policy, generator)
        if policy.jitter > 0 or policy.grey > 0:
            batch = recolour(batch, policy, generator)
        for chance, change in ((policy.solarize, solarize), (policy.blur, blur)):
            alter(batch, pick(len(batch), chance, generator), change)
        return cut_out(batch, policy, generator)

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        buffer = io.BytesIO()
        Pillow.fromarray(np.ascontiguousarray(row.transpose(1, 2, 0))).save(buffer, "PNG")
        return buffer.getvalue()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def open_rgb(path: Path) -> Pillow.Image:
    """The picture as a person sees it: turned by its EXIF tag, 16-bit tones scaled, transparency laid on white."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of odd metadata in files that it reads well
            with Pillow.open(path) as file:
                file.draft("RGB", (512, 512))  # large JPEGs decode at a fraction of their size
                picture = ImageOps.exif_transpose(file)
                if picture.mode.startswith(("I", "F")):
                    return from_deep(picture).convert("RGB")
                if picture.has_transparency_data:
                    picture = picture.convert("RGBA")
                    return Pillow.alpha_composite(Pillow.new("RGBA", picture.size, "white"), picture).convert("RGB")
                return picture.convert("RGB")
    except Pillow.UnidentifiedImageError:
        raise UnreadableError("empty file" if path.stat().st_size == 0 else "not an image") from None
    except Exception as error:  # decoders of damaged files raise almost anything
        raise UnreadableError(f"{type(error).__name__}: {error}".replace("\n", " ")) from None


def from_deep(picture: Pillow.Image) -> Pillow.Image:
    """16-bit, 32-bit and float pictures as 8-bit grey: 16-bit by its full range, others stretched to theirs."""
    tones = np.asarray(picture, dtype=np.float64)
    valid = np.isfinite(tones)  # float pictures mark missing pixels with NaN
    low, high = tones[valid].min(), tones[valid].max()
    if picture.mode != "F" and 255 < high <= 65535:
        low, high = 0.0, 65535.0
    return Pillow.fromarray(np.uint8(255 * (np.where(valid, tones, low) - low) / max(high - low, 1e-12)))


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


def mirror(count: int, policy: ImageAugment, generator: torch.Generator) -> Tensor:
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


def shift_and_flip(batch: Batch, policy: ImageAugment, generator: torch.Generator) -> Views:
    """Whole-pixel shifts of up to an eighth of the side, so that nothing is blurred, and mirroring."""
    count, side = len(batch), batch.shape[-1]
    reach = side // 8
    matrix = torch.eye(2).repeat(count, 1, 1)
    matrix[:, 0, 0] = mirror(count, policy, generator)
    offset = torch.randint(-reach, reach + 1, (count, 2), generator=generator) * (2 / side)
    return resample(batch, matrix, offset, policy.small)


def crop_and_turn(batch: Batch, policy: ImageAugment, generator: torch.Generator) -> Views:
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


def recolour(batch: Batch, policy: ImageAugment, generator: torch.Generator) -> Batch:
    """Brightness, contrast, saturation and grey are all linear in colour: one 3x3 matrix and one offset an item."""
    matrix, brightness, contrast = draw_colours(len(batch), policy, generator)
    middle = (batch.mean((2, 3)) @ GREY).view(-1, 1, 1) * brightness
    tones = torch.baddbmm(((1 - contrast) * middle).expand(-1, 3, 1), matrix, batch.flatten(2))
    return tones.clamp_(0, 1).view_as(batch)


def draw_colours(
    count: int, policy: ImageAugment, generator: torch.Generator
) -> tuple[Float[Tensor, "batch 3 3"], Float[Tensor, "batch 1 1"], Float[Tensor, "batch 1 1"]]:
    """Matrices that change colours, and the brightness and contrast in them."""
    reach = policy.jitter
    brightness, contrast, saturation = (
        uniform(count, max(0, 1 - reach), 1 + reach, generator).view(count, 1, 1) for _ in range(3)
    )
    saturation[pick(count, policy.grey, generator)] = 0
    to_grey = GREY.expand(3, 3)
    return brightness * contrast * (saturation * torch.eye(3) + (1 - saturation) * to_grey), brightness, contrast


def solarize(batch: Batch) -> Batch:
    """Bright tones inverted."""
    return torch.where(batch >= 0.5, 1 - batch, batch)


def blur(batch: Batch) -> Batch:
    """A 3 x 3 binomial filter."""
    padded = F.pad(batch, (1, 1, 1, 1), mode="replicate")
    across = padded[..., :-2] / 4 + padded[..., 1:-1] / 2 + padded[..., 2:] / 4
    return across[..., :-2, :] / 4 + across[..., 1:-1, :] / 2 + across[..., 2:, :] / 4


def cut_out(batch: Batch, policy: ImageAugment, generator: torch.Generator) -> Batch:
    """A square of a quarter to a half of the side set to mid-grey, anywhere, also over the edge."""
    side, chosen = batch.shape[-1], pick(len(batch), policy.cutout, generator)
    cut, *middle = (side * torch.rand(3, len(chosen), 1, generator=generator)).unbind()
    half = (0.125 * (side + cut)).round().clamp(min=1)
    places = torch.arange(side)
    rows, columns = ((places >= at.floor() - half) & (places < at.floor() + half) for at in middle)
    square = rows[:, None, :, None] & columns[:, None, None, :]
    alter(batch, chosen, lambda some: some.masked_fill_(square, 0.5))
    return batch
