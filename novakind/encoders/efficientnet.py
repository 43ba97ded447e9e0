"""EfficientNet-Lite (Tan and Le, 2019; the Lite variants: Liu, 2020), with the names of its published weights.

No squeeze-and-excitation, ReLU6 for swish, a stem and a last layer of fixed width: made for small machines.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

# (blocks, kernel, stride of the first, channels, expansion) of each stage
STAGES = ((1, 3, 1, 16, 1), (2, 3, 2, 24, 6), (2, 5, 2, 40, 6), (3, 3, 2, 80, 6), (3, 5, 1, 112, 6), (4, 5, 2, 192, 6))
LAST = (1, 3, 1, 320, 6)
STEM, HEAD = 32, 1280
SCALES = {0: (1.0, 1.0, 224), 1: (1.0, 1.1, 240), 2: (1.1, 1.2, 260)}  # width, depth, side of the pictures


class EfficientNetLite(nn.Module):
    """A picture, normalised as the weights want it, to a unit vector: the mean of the last layer over the picture."""

    dim = HEAD

    def __init__(self, variant: int = 0) -> None:
        super().__init__()
        width, depth, _ = SCALES[variant]
        self.stem = Layer(3, STEM, 3, 2)
        blocks, channels = [], STEM
        for stage, (count, kernel, stride, base, expansion) in enumerate((*STAGES, LAST)):
            wide = whole_eights(base * width)
            deep = count if stage in (0, len(STAGES)) else math.ceil(count * depth)
            for number in range(deep):
                blocks.append(Block(channels, wide, kernel, 1 if number else stride, expansion))
                channels = wide
        self.blocks = nn.Sequential(*blocks)
        self.head = Layer(channels, HEAD, 1)

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch 1280"]:
        return F.normalize(self.head(self.blocks(self.stem(images))).mean((2, 3)), dim=1)

    def parts(self) -> list[nn.Module]:
        """From the first layer to the last, for those who train only some of them."""
        return [self.stem, *self.blocks, self.head]

    @torch.no_grad()
    def folded(self) -> EfficientNetLite:
        """A copy for pictures that nobody learns from, with batch normalisation folded into the filters: the same
        vectors in a third of the time."""
        twin = copy.deepcopy(self).eval()
        for layer in twin.modules():
            if isinstance(layer, Layer) and isinstance(layer.norm, nn.BatchNorm2d):
                layer.filters = fuse_conv_bn_eval(layer.filters, layer.norm)
                layer.norm = nn.Identity()
        return twin.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


class Layer(nn.Module):
    """Filters, batch normalisation and, unless it is the last one of a block, ReLU6."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, bend: bool = True):
        super().__init__()
        even = kernel // 2 if stride == 1 else 0
        self.filters = nn.Conv2d(inputs, outputs, kernel, stride, even, groups=groups, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01)
        self.bend = nn.ReLU6(inplace=True) if bend else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        (kernel, _), (stride, _) = self.filters.kernel_size, self.filters.stride
        if stride > 1:
            x = pad_to_cover(x, kernel, stride)
        return self.bend(self.norm(self.filters(x)))


class Block(nn.Module):
    """Widen, filter each channel by itself, narrow; added to what came in where the shapes agree."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        self.widen = Layer(inputs, inner, 1) if expansion > 1 else nn.Identity()
        self.filter = Layer(inner, inner, kernel, stride, groups=inner)
        self.narrow = Layer(inner, outputs, 1, bend=False)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        found = self.narrow(self.filter(self.widen(x)))
        return found + x if self.adds else found


def pad_to_cover(x: Tensor, kernel: int, stride: int) -> Tensor:
    """Zeros around a picture so that ceil(side / stride) windows cover it; an odd one goes right and below, as in the
    framework that the weights were trained in."""
    margins = [max((math.ceil(side / stride) - 1) * stride + kernel - side, 0) for side in x.shape[:1:-1]]
    return F.pad(x, [half for margin in margins for half in (margin // 2, margin - margin // 2)])


def whole_eights(channels: float) -> int:
    """The nearest multiple of eight, but never less than nine tenths."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def our_names(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors by the names that they have here; the classifier is left out."""
    return {ours: theirs[name] for name in theirs for ours in translate(name)}


def translate(name: str) -> Iterator[str]:
    """The name here of one published tensor; none for the classifier."""
    place, _, what = name.rpartition(".")
    *block, layer = place.split(".")
    if layer == "_fc":
        return
    if not block:
        outer = "stem" if layer in ("_conv_stem", "_bn0") else "head"
        yield f"{outer}.{'norm' if '_bn' in layer else 'filters'}.{what}"
        return
    inner = {
        "_expand_conv": "widen.filters",
        "_bn0": "widen.norm",
        "_depthwise_conv": "filter.filters",
        "_bn1": "filter.norm",
        "_project_conv": "narrow.filters",
        "_bn2": "narrow.norm",
    }[layer]
    yield f"blocks.{block[1]}.{inner}.{what}"
