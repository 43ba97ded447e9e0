"""Encoders: plain modules that turn a batch of items into vectors of length `.dim`, and one dict that names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from novakind.encoders.convnet import ConvNet
from novakind.encoders.fastnet import FastNet
from novakind.encoders.flat import Flat
from novakind.encoders.mlp import MLP
from novakind.encoders.mobilenet import MobileNetV2
from novakind.encoders.p3d import P3D
from novakind.encoders.r2plus1d import R2Plus1D, R2Plus1D50
from novakind.encoders.resnet import ResNet
from novakind.encoders.series import ResNet1d, SensorCNN, SeriesNet
from novakind.encoders.slowfast import SlowFast
from novakind.encoders.timm import PREFIX, Timm
from novakind.errors import UserError

Shape = tuple[int, ...]


class Spec(NamedTuple):
    """What an encoder takes, and how it is made."""

    axes: int
    """Of one item: 4 for videos (3, frames, height, width), 3 for images (3, height, width), 2 for series (channels,
    time), 1 for vectors (length,); 0 takes any."""
    make: Callable[[Shape], nn.Module]
    """From the shape of one item."""


ENCODERS: dict[str, Spec] = {
    "convnet": Spec(3, lambda shape: ConvNet(size=min(shape[1:]))),
    "fastnet": Spec(3, lambda shape: FastNet()),
    "fastnet-wide": Spec(3, lambda shape: FastNet((64, 160, 224))),
    "resnet18": Spec(3, lambda shape: ResNet(18, "imagenet")),
    "resnet18-cifar": Spec(3, lambda shape: ResNet(18, "cifar")),
    "resnet18-cifar-pool": Spec(3, lambda shape: ResNet(18, "cifar-pool")),
    "resnet34": Spec(3, lambda shape: ResNet(34, "imagenet")),
    "resnet34-cifar": Spec(3, lambda shape: ResNet(34, "cifar")),
    "resnet34-cifar-pool": Spec(3, lambda shape: ResNet(34, "cifar-pool")),
    "resnet50": Spec(3, lambda shape: ResNet(50, "imagenet")),
    "resnet50-cifar": Spec(3, lambda shape: ResNet(50, "cifar")),
    "resnet50-cifar-pool": Spec(3, lambda shape: ResNet(50, "cifar-pool")),
    "mobilenetv2": Spec(3, lambda shape: MobileNetV2()),
    "mobilenetv2-cifar": Spec(3, lambda shape: MobileNetV2(small=True)),
    "mlp": Spec(1, lambda shape: MLP(shape[0])),
    "flat": Spec(0, Flat),
    "seriesnet": Spec(2, lambda shape: SeriesNet(shape[0])),
    "resnet1d": Spec(2, lambda shape: ResNet1d(shape[0])),
    "sensorcnn": Spec(2, lambda shape: SensorCNN(shape[0])),
    "r2plus1d-18": Spec(4, lambda shape: R2Plus1D()),
    "r2plus1d-50": Spec(4, lambda shape: R2Plus1D50()),
    "r2plus1d-narrow": Spec(4, lambda shape: R2Plus1D.narrow()),
    "p3d-63": Spec(4, lambda shape: P3D()),
    "p3d-narrow": Spec(4, lambda shape: P3D.narrow()),
    "slowfast-50": Spec(4, lambda shape: SlowFast()),
    "slowfast-narrow": Spec(4, lambda shape: SlowFast.narrow()),
}
KINDS = {1: "feature vectors", 2: "series", 3: "images", 4: "videos"}
AUTO = {1: "mlp", 2: "seriesnet", 3: "convnet", 4: "r2plus1d-narrow"}


def chosen(name: str, axes: int) -> str:
    """The encoder that "auto" means for items with this many axes; any other name stays."""
    return AUTO[axes] if name == "auto" else name


def build(name: str, shape: Shape) -> nn.Module:
    """The encoder of that name for items of that shape; "auto" chooses by the shape, "timm:NAME" asks timm."""
    axes = len(shape)
    if axes not in KINDS or (axes >= 3 and shape[0] != 3) or min(shape) < 1:
        raise UserError(
            f"encoder {name}: items of shape {shape} must be (3, frames, height, width), (3, height, width), "
            "(channels, time) or (length,): reshape them."
        )
    name = chosen(name, axes)
    if name not in ENCODERS and not name.startswith(PREFIX):
        raise UserError(f"encoder {name!r} is unknown: choose auto, timm:NAME or one of {', '.join(ENCODERS)}.")
    needed = ENCODERS[name].axes if name in ENCODERS else 3
    if needed not in (0, axes):
        raise UserError(f"encoder {name} takes {KINDS[needed]}, and these are {KINDS[axes]}: choose {AUTO[axes]}.")
    if name.startswith(PREFIX):
        return Timm(name.removeprefix(PREFIX), shape)
    return ENCODERS[name].make(shape)
