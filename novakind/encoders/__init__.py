"""Encoders: plain modules that turn a batch of items into vectors of length `.dim`, and one dict that names them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

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
from novakind.errors import UserError

Shape = tuple[int, ...]

# Each constructor takes the shape of one item: videos (3, frames, height, width), images (3, height, width), series
# (channels, time), vectors (length,).
ENCODERS: dict[str, Callable[[Shape], nn.Module]] = {
    "convnet": lambda shape: ConvNet(size=min(shape[1:])),
    "fastnet": lambda shape: FastNet(),
    "fastnet-wide": lambda shape: FastNet((64, 160, 224)),
    "resnet18": lambda shape: ResNet(18, "imagenet"),
    "resnet18-cifar": lambda shape: ResNet(18, "cifar"),
    "resnet18-cifar-pool": lambda shape: ResNet(18, "cifar-pool"),
    "resnet34": lambda shape: ResNet(34, "imagenet"),
    "resnet34-cifar": lambda shape: ResNet(34, "cifar"),
    "resnet34-cifar-pool": lambda shape: ResNet(34, "cifar-pool"),
    "resnet50": lambda shape: ResNet(50, "imagenet"),
    "resnet50-cifar": lambda shape: ResNet(50, "cifar"),
    "resnet50-cifar-pool": lambda shape: ResNet(50, "cifar-pool"),
    "mobilenetv2": lambda shape: MobileNetV2(),
    "mobilenetv2-cifar": lambda shape: MobileNetV2(small=True),
    "mlp": lambda shape: MLP(shape[0]),
    "flat": Flat,
    "seriesnet": lambda shape: SeriesNet(shape[0]),
    "resnet1d": lambda shape: ResNet1d(shape[0]),
    "sensorcnn": lambda shape: SensorCNN(shape[0]),
    "r2plus1d-18": lambda shape: R2Plus1D(),
    "r2plus1d-50": lambda shape: R2Plus1D50(),
    "r2plus1d-narrow": lambda shape: R2Plus1D.narrow(),
    "p3d-63": lambda shape: P3D(),
    "p3d-narrow": lambda shape: P3D.narrow(),
    "slowfast-50": lambda shape: SlowFast(),
    "slowfast-narrow": lambda shape: SlowFast.narrow(),
}
# How many axes the items of each encoder have; three where it is not listed.
AXES = {"mlp": 1} | dict.fromkeys(("seriesnet", "resnet1d", "sensorcnn"), 2)
AXES |= {name: 4 for name in ENCODERS if name.startswith(("r2plus1d", "p3d", "slowfast"))}
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
    if name not in ENCODERS and not name.startswith("timm:"):
        raise UserError(f"encoder {name!r} is unknown: choose auto, timm:NAME or one of {', '.join(ENCODERS)}.")
    needed = axes if name == "flat" else AXES.get(name, 3)
    if axes != needed:
        raise UserError(f"encoder {name} takes {KINDS[needed]}, and these are {KINDS[axes]}: choose {AUTO[axes]}.")
    if name.startswith("timm:"):
        return Timm(name.removeprefix("timm:"), shape)
    return ENCODERS[name](shape)


class Timm(nn.Module):
    """A timm model without classifier or weights. `dim` is measured on one blank image, which also proves the size."""

    def __init__(self, name: str, shape: Shape) -> None:
        super().__init__()
        try:
            import timm  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise UserError(f"encoder timm:{name} needs timm: pip install 'novakind[timm]'.") from error
        try:
            self.wrapped = timm.create_model(name, pretrained=False, num_classes=0)
        except RuntimeError as error:
            raise UserError(
                f"encoder timm:{name} cannot be built ({error}): choose a name from timm.list_models()."
            ) from error
        try:
            with torch.no_grad():
                self.dim = self.wrapped.eval()(torch.zeros(1, *shape)).shape[1]
        except (AssertionError, RuntimeError) as error:
            raise UserError(
                f"encoder timm:{name} does not take images of shape {shape} ({error}): resize them or choose another."
            ) from error
        self.wrapped.train()

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch {self.dim}"]:
        return self.wrapped(images)
