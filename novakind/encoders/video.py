"""What the encoders of video share: what a clip must be, convolutions over space and time, and residual blocks.

Clips and maps lie in memory with the channels last, so they can be read as matrices or pictures without copying.
Convolutions that are not over space are computed in that form, up to six times as fast on CPUs.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError

SHORTEST = 8  # frames
SMALLEST = 32  # pixels; five halvings leave one

Triple = tuple[int, int, int]
Clips = Float[Tensor, "batch 3 frames height width"]
Maps = Float[Tensor, "batch inputs frames height width"]
NewMaps = Float[Tensor, "batch outputs newframes newheight newwidth"]


def as_clips(clips: Clips) -> Clips:
    """The clips with the channels last in memory, if they are long and large enough."""
    _, _, frames, height, width = clips.shape
    if frames < SHORTEST or min(height, width) < SMALLEST:
        raise UserError(
            f"clips of {frames} frames of {height}x{width} pixels are too small to encode: give at least {SHORTEST} "
            f"frames of {SMALLEST}x{SMALLEST} pixels."
        )
    return clips.contiguous(memory_format=torch.channels_last_3d)


def pool_space(maps: Maps) -> NewMaps:
    """Half the height and width, each pixel the largest of 3x3."""
    return F.max_pool3d(maps, (1, 3, 3), (1, 2, 2), padding=(0, 1, 1))


class Conv(nn.Conv3d):
    """A convolution over frames, height and width that keeps the size, up to its stride; BatchNorm follows: no bias.

    Weights start at He's normal, by fan-out.
    """

    def __init__(self, inputs: int, outputs: int, kernel: Triple, stride: Triple = (1, 1, 1)) -> None:
        frames, height, width = kernel
        super().__init__(inputs, outputs, kernel, stride, (frames // 2, height // 2, width // 2), bias=False)

    def reset_parameters(self) -> None:
        nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, input: Maps) -> NewMaps:
        if self.kernel_size == self.stride == (1, 1, 1):
            return across_channels(input, self.weight)
        if self.kernel_size[1:] == self.stride[1:] == (1, 1):
            return along_time(input, self.weight, self.stride[0])
        return super().forward(input)


def across_channels(maps: Maps, weight: Float[Tensor, "outputs inputs 1 1 1"]) -> NewMaps:
    """A convolution of one pixel of one frame: a matrix times the channels."""
    return F.linear(maps.permute(0, 2, 3, 4, 1), weight.flatten(1)).permute(0, 4, 1, 2, 3)


def along_time(maps: Maps, weight: Float[Tensor, "outputs inputs kernel 1 1"], stride: int) -> NewMaps:
    """A convolution of one pixel of some frames: over pictures whose rows are frames and whose columns are pixels."""
    pictures = F.conv2d(maps.flatten(3), weight.squeeze(4), stride=(stride, 1), padding=(weight.shape[2] // 2, 0))
    return pictures.unflatten(3, maps.shape[3:])


# --- residual networks of bottlenecks; parameter names are PyTorchVideo's


class Stem(nn.Module):
    """The first convolution, at half the height and width; a quarter with the pool."""

    def __init__(self, outputs: int, frames: int, pool: bool) -> None:
        super().__init__()
        self.conv = Conv(3, outputs, (frames, 7, 7), (1, 2, 2))
        self.norm = nn.BatchNorm3d(outputs)
        self.pool = pool

    def forward(self, clips: Clips) -> NewMaps:
        maps = F.relu(self.norm(self.conv(clips)), inplace=True)
        return pool_space(maps) if self.pool else maps


class Residual(nn.Module):
    """A branch that is added to its input, or to a projection of that where the shapes differ."""

    def __init__(self, inputs: int, outputs: int, stride: Triple, branch: nn.Module) -> None:
        super().__init__()
        same = inputs == outputs and stride == (1, 1, 1)
        self.branch1_conv = None if same else Conv(inputs, outputs, (1, 1, 1), stride)
        self.branch1_norm = None if same else nn.BatchNorm3d(outputs)
        self.branch2 = branch

    def forward(self, maps: Maps) -> NewMaps:
        kept = maps
        if self.branch1_conv is not None and self.branch1_norm is not None:
            kept = self.branch1_norm(self.branch1_conv(maps))
        return F.relu(self.branch2(maps) + kept, inplace=True)


class Stage(nn.Module):
    """Residual blocks of one width; the first has the stride."""

    def __init__(self, *blocks: Residual) -> None:
        super().__init__()
        self.res_blocks = nn.Sequential(*blocks)

    def forward(self, maps: Maps) -> NewMaps:
        return self.res_blocks(maps)


def bottleneck(inputs: int, width: int, frames: int, middle: nn.Module) -> nn.Sequential:
    """Down to the width, over `frames` frames; `middle` at that width; up to four times the width."""
    return nn.Sequential(
        OrderedDict(
            conv_a=Conv(inputs, width, (frames, 1, 1)),
            norm_a=nn.BatchNorm3d(width),
            act_a=nn.ReLU(inplace=True),
            conv_b=middle,
            norm_b=nn.BatchNorm3d(width),
            act_b=nn.ReLU(inplace=True),
            conv_c=Conv(width, 4 * width, (1, 1, 1)),
            norm_c=nn.BatchNorm3d(4 * width),
        )
    )
