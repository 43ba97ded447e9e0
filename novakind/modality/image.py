"""Images: any mode and size in, square RGB bytes in the store, batched augmentation without worker processes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as Pillow
from PIL import ImageOps
from torch import Tensor

from novakind.errors import UserError
from novakind.modality.display import Pictures
from novakind.modality.opening import GLANCE, MEGAPIXELS, Megapixels, colour, glance, open_rgb
from novakind.modality.paper import PAPER
from novakind.modality.pixels import (
    ImageViews,
    alter,
    blur,
    crop_and_turn,
    cut_out,
    pick,
    recolour,
    shift_and_flip,
    solarize,
)
from novakind.settings import Pixels, check

MEASURED = 2**25  # numbers, 128 MB
FROM_SCRATCH = 64  # pixels
COARSE = 16  # pixels a side are enough to see what is alike
PHOTOGRAPH, COLOURED = 64, 0.03  # pixels, and the distance of tones, from which pictures are taken for photographs
MIRRORED = "--flips predicts an item and its mirror image alike, but --no-views.flip keeps them apart: give --no-flips"

# glyphs: digits, letters, symbols: no mirroring, no colour, slight turns and crops; small pictures, so smaller batches;
# four heads, since a single one ends in a poor optimum now and then.
# tuned: a published encoder that is trained further, after a start from its vectors as they are.
# fast: small photographs (CIFAR-10) on CPUs, half an hour on two cores. paper: ResNet-18 with its authors' stem.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "glyphs": {
        "batch": 128,
        "heads": 4,
        "optim.lr": 0.2,
        "views.flip": False,
        "views.crop": 0.7,
        "views.rotate": 12.0,
        **dict.fromkeys(("views.jitter", "views.grey", "views.blur", "views.solarize", "views.cutout"), 0.0),
    },
    "fast": {
        "encoder": "fastnet-wide",
        "epochs": 15,
        "val": 0.04,
        "ema": 0.98,
        "heads": 4,
        "reading.flips": True,
        "objective.ce": 2.5,
        "objective.novel_mass": 0.5,
        "objective.soft_start": 0.3,
        "optim.name": "muon",
        "optim.lr": 0.1,
        "optim.weight_decay": 0.01,
        "views.crop": 0.7,
        "views.jitter": 0.2,
        "views.small": 24,
        "views.mild_from": 0.6,
    },
    "tuned": {
        "dim": 0,
        "batch": 128,
        "epochs": 5,
        "objective.ce": 2.0,
        "objective.kl": 1.0,
        "objective.var": 0.0,
        "optim.name": "adamw",
        "optim.lr": 1e-3,
        "optim.encoder_lr": 0.1,
        "optim.weight_decay": 0.0,
        "views.crop": 0.5,
        "views.jitter": 0.2,
        "views.grey": 0.0,
        "views.blur": 0.0,
        "views.solarize": 0.0,
        "views.cutout": 0.0,
    },
    "paper": {**PAPER, "encoder": "resnet18-cifar-pool", "views.crop": 0.2},
}


@dataclass(frozen=True)
class ImageReading:
    """How pictures are read and seen."""

    size: Pixels = 0
    """Side of the pictures in pixels, as the network sees them; 0 takes that of a published encoder, else chooses by
    the files, at most 64."""
    flips: bool = False
    """Predict a picture as the mean over it and its mirror image; takes twice the time, and not for letters."""
    megapixels: Megapixels = MEGAPIXELS
    """Larger pictures are skipped: in memory each pixel takes up to 4 bytes, however small the file is."""

    def __post_init__(self) -> None:
        check(self)
        check_side(self.size)


def check_side(size: int) -> None:
    """Pictures below 8 pixels show nothing."""
    if 0 < size < 8:
        raise UserError(f"--size {size} is out of range, it must be from 8 to 1024: give --size 64, or leave it out")


@dataclass(frozen=True)
class Image:
    """Square RGB pictures of `size` pixels; `mean` and `std` are the channel statistics that normalise a batch.

    With `flips` a prediction is the mean over a picture and its mirror image.
    """

    size: int
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.25, 0.25, 0.25)

    flips: bool = False
    seen: int = 0
    """Side in pixels to which the network's pictures are scaled; 0: as they are."""
    interpolation: str = "bilinear"
    megapixels: int = MEGAPIXELS
    """Of the largest picture that is read."""

    kind = "image"
    noun = "pictures"
    example = "pictures such as PNG or JPEG"
    arrays = "square uint8 pictures (N x H x H or N x H x H x 3)"
    endings = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
    dtype = "uint8"
    Reading = ImageReading
    Views = ImageViews
    presets = PRESETS
    trainable = True
    shown = "pictures"
    rows_in_python = """pictures = [ImageOps.exif_transpose(Image.open(file)).convert("RGB") for file in sys.argv[1:]]
square = [ImageOps.fit(picture, info["shape"][1:], Image.Resampling.BILINEAR) for picture in pictures]
rows = np.stack([np.asarray(picture).transpose(2, 0, 1) for picture in square])"""

    @classmethod
    def recognises(cls, file: Path) -> bool:
        return True

    @classmethod
    def survey(cls, files: Sequence[Path], reading: ImageReading, origin: Any = None) -> Image:
        """The median short side of some of the pictures, at least 8 pixels, and at most what a published encoder sees;
        64 without one: more is slow on a CPU."""
        if reading.size:
            return cls(reading.size, flips=reading.flips, seen=reading.size, megapixels=reading.megapixels)
        most = origin.size if origin else FROM_SCRATCH
        sides = [min(picture.size) for picture in glance(files, reading.megapixels)]
        side = int(np.clip(np.median(sides), 8, most)) if sides else most
        return cls(side, flips=reading.flips, megapixels=reading.megapixels)

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        """EfficientNet-Lite0 for photographs, which most pictures of some size and in colour are."""
        pictures = list(glance(some)) if isinstance(some, Sequence) else as_pictures(some[:GLANCE])
        sides = [min(picture.size) for picture in pictures]
        if not sides:
            return "", "no picture could be looked at"
        if np.median(sides) < PHOTOGRAPH:
            return "", f"the pictures are smaller than {PHOTOGRAPH} pixels"
        if np.median([colour(picture) for picture in pictures]) < COLOURED:
            return "", "the pictures have no colour"
        return "efficientnet-lite0", "the pictures are photographs"

    @classmethod
    def from_array(cls, X: np.ndarray, reading: ImageReading) -> tuple[np.ndarray, Image] | None:
        if X.dtype != np.uint8 or X.ndim not in (3, 4) or X.shape[1] != X.shape[2]:
            return None
        if X.ndim == 4 and X.shape[3] not in (1, 3):
            return None
        planes = X[:, None] if X.ndim == 3 else X.transpose(0, 3, 1, 2)
        items = np.ascontiguousarray(np.broadcast_to(planes, (len(X), 3, *X.shape[1:3])))
        return items, cls(X.shape[1], flips=reading.flips, seen=reading.size).fitted(items)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3, self.size, self.size)

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Image:
        """The same with the channel means and deviations of some of the rows, of large ones of fewer."""
        most = 5000 if self.size <= FROM_SCRATCH else MEASURED // (3 * self.size**2) + 1
        some = rows[:: max(1, len(rows) // most)]
        counts = np.zeros((3, 256))  # of each tone: exact, and in little memory
        for start in range(0, len(some), 64):
            for channel, tones in enumerate(some[start : start + 64].swapaxes(0, 1)):
                counts[channel] += np.bincount(tones.ravel(), minlength=256)
        shares, tones = counts / counts.sum(1, keepdims=True), np.arange(256) / 255
        mean = shares @ tones
        std = np.sqrt((shares * np.square(tones - mean[:, None])).sum(1))
        return replace(self, mean=tuple(mean.round(4).tolist()), std=tuple(np.maximum(std, 0.01).round(4).tolist()))

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """Upright, in RGB, scaled to cover the square and cropped at the centre: uint8 (3, size, size)."""
        picture, size = open_rgb(path, max(512, self.size), self.megapixels), (self.size, self.size)
        if picture.size != size:
            picture = ImageOps.fit(picture, size, Pillow.Resampling.BILINEAR)
        lines = picture.tobytes("raw", "RGB;L")  # of each line the red tones, the green and the blue
        return [("", np.frombuffer(lines, np.uint8).reshape(self.size, 3, self.size).transpose(1, 0, 2))]

    def reading(self) -> ImageReading:
        return ImageReading()

    def for_encoder(self, origin: Any) -> Image:
        """Its own size and tones."""
        look = origin.interpolation or self.interpolation
        return replace(self, mean=origin.mean, std=origin.std, seen=self.seen or origin.size, interpolation=look)

    def decoding(self) -> dict[str, Any]:
        """Pictures that were too large are tried again where larger ones are allowed."""
        return {"kind": self.kind, "size": self.size} | self.limit()

    def limit(self) -> dict[str, int]:
        """Said where it is not the usual one, so that runs from before there was one go on."""
        return {} if self.megapixels == MEGAPIXELS else {"megapixels": self.megapixels}

    def check(self, views: ImageViews, rows: Iterable[np.ndarray]) -> None:
        """Predicting a picture and its mirror image alike goes only where mirroring keeps the class."""
        if self.flips and not views.flip:
            raise UserError(MIRRORED)

    def from_tensor(self, rows: Tensor) -> Tensor:
        """As `collate`, within a network that is exported."""
        return rows.float() / 255

    def collate(self, rows: np.ndarray) -> Tensor:
        """Tones from 0 to 1."""
        return torch.from_numpy(np.require(rows, requirements="W")).float().div_(255)  # the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel; channels last, which halves the time of convolutions on CPUs."""
        if self.seen and batch.shape[-1] != self.seen:
            size, look = (self.seen, self.seen), self.interpolation
            batch = F.interpolate(batch, size, mode=look, antialias=self.seen < batch.shape[-1]).clamp_(0, 1)
        mean, std = torch.tensor(self.mean).view(3, 1, 1), torch.tensor(self.std).view(3, 1, 1)
        return torch.addcmul(-mean / std, batch, 1 / std).contiguous(memory_format=torch.channels_last)

    def augment(self, batch: Tensor, policy: ImageViews, generator: torch.Generator) -> Tensor:
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

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x, x.flip(-1)] if self.flips else [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Pictures:
        return Pictures(lambda item: self.thumbnail(row(item)))

    def plain(self, rows: np.ndarray) -> np.ndarray:
        """The tones of small pictures."""
        side = min(COARSE, self.size)
        return F.adaptive_avg_pool2d(torch.from_numpy(rows).float(), (side, side)).flatten(1).numpy()

    def caution(self, about: str) -> str:
        return ""

    def thumbnail(self, row: np.ndarray) -> bytes | None:
        buffer = io.BytesIO()
        Pillow.fromarray(np.ascontiguousarray(row.transpose(1, 2, 0))).save(buffer, "PNG")
        return buffer.getvalue()

    def looking(self) -> dict[str, Any]:
        return self.settings()

    def settings(self) -> dict[str, Any]:
        plain = {key: value for key, value in asdict(self).items() if key != "megapixels"}
        return {"kind": self.kind, **plain, **self.limit()}


def as_pictures(X: np.ndarray) -> list[Pillow.Image]:
    """The pictures of an array, none where it holds something else."""
    found = Image.from_array(X, ImageReading()) if X.size else None
    return [Pillow.fromarray(row.transpose(1, 2, 0)) for row in found[0]] if found else []
