"""R(2+1)D (Tran et al., 2018): every convolution over space and time is one over space and then one over time."""

from __future__ import annotations

from collections import OrderedDict

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.video import Clips, Conv, Maps, NewMaps, Residual, Stage, Stem, as_clips, bottleneck
from novakind.errors import UserError

BLOCKS = {10: (1, 1, 1, 1), 18: (2, 2, 2, 2)}


class R2Plus1D(nn.Module):
    """R(2+1)D of 18 layers (or 10), without its classifier; parameter names are torchvision's; `dim` 8 `width`.

    Each stage but the first halves frames, height and width; the stem halves height and width. The vector is the mean
    over the last maps. Channels between two factors are rounded to a `multiple`.
    """

    def __init__(self, depth: int = 18, width: int = 64, multiple: int = 1) -> None:
        super().__init__()
        if depth not in BLOCKS:
            raise UserError(f"R(2+1)D depth {depth} is not one of {', '.join(map(str, BLOCKS))}: choose one of these.")
        self.dim = 8 * width
        middle = rounded(45 * width // 64, multiple)
        self.stem = nn.Sequential(
            Conv(3, middle, (1, 7, 7), (1, 2, 2)),
            nn.BatchNorm3d(middle),
            nn.ReLU(inplace=True),
            Conv(middle, width, (3, 1, 1)),
            nn.BatchNorm3d(width),
            nn.ReLU(inplace=True),
        )
        stages, inputs = [], width
        for number, count in enumerate(BLOCKS[depth]):
            outputs, stride = width * 2**number, 1 if number == 0 else 2
            rest = [Basic(outputs, outputs, 1, multiple) for _ in range(count - 1)]
            stages.append(nn.Sequential(Basic(inputs, outputs, stride, multiple), *rest))
            inputs = outputs
        self.layer1, self.layer2, self.layer3, self.layer4 = stages

    @classmethod
    def narrow(cls) -> R2Plus1D:
        """One that trains on two CPU cores: 10 layers, a quarter of the width; `dim` 128.

        Channels in sixteens: BatchNorm over 11 of them takes three times as long there as over 16.
        """
        return cls(10, 16, multiple=16)

    def forward(self, clips: Clips) -> Float[Tensor, "batch {self.dim}"]:
        maps = self.layer1(self.stem(as_clips(clips)))
        return torch.mean(self.layer4(self.layer3(self.layer2(maps))), (2, 3, 4))


class Basic(nn.Module):
    """Two factored convolutions with a skip connection."""

    def __init__(self, inputs: int, outputs: int, stride: int, multiple: int = 1) -> None:
        super().__init__()
        middle = rounded(middle_width(inputs, outputs), multiple)
        first, second = factored(inputs, middle, outputs, stride), factored(outputs, middle, outputs, 1)
        self.conv1 = nn.Sequential(first, nn.BatchNorm3d(outputs), nn.ReLU(inplace=True))
        self.conv2 = nn.Sequential(second, nn.BatchNorm3d(outputs))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            project = Conv(inputs, outputs, (1, 1, 1), (stride, stride, stride))
            self.downsample = nn.Sequential(project, nn.BatchNorm3d(outputs))

    def forward(self, maps: Maps) -> NewMaps:
        kept = maps if self.downsample is None else self.downsample(maps)
        return F.relu(self.conv2(self.conv1(maps)) + kept, inplace=True)


def middle_width(inputs: int, outputs: int) -> int:
    """Channels between the two factors, such that both together have as many weights as one 3x3x3 convolution.

    In a block whose width changes, the published weights use the width of its first convolution for its second too.
    """
    return 27 * inputs * outputs // (9 * inputs + 3 * outputs)


def rounded(width: int, multiple: int) -> int:
    """The nearest multiple, at least one."""
    return max(1, round(width / multiple)) * multiple


def factored(inputs: int, middle: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        Conv(inputs, middle, (1, 3, 3), (1, stride, stride)),
        nn.BatchNorm3d(middle),
        nn.ReLU(inplace=True),
        Conv(middle, outputs, (3, 1, 1), (stride, 1, 1)),
    )


class R2Plus1D50(nn.Module):
    """R(2+1)D of 50 layers as PyTorchVideo has it, without its classifier; parameter names are its; `dim` 32 `width`.

    The paper has no such network. This one differs from the paper's recipe: the factored convolutions are the middle
    ones of bottlenecks, over time before over space, all at one width, and the stem is over space only. Every stage
    halves height and width, the last two halve the frames.
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.dim = 32 * width
        blocks: list[nn.Module] = [Stem(width, frames=1, pool=False)]
        inputs = width
        for number, count in enumerate((3, 4, 6, 3)):
            inner, stride = width * 2**number, (1 if number < 2 else 2, 2, 2)
            rest = [time_then_space(4 * inner, inner, (1, 1, 1)) for _ in range(count - 1)]
            blocks.append(Stage(time_then_space(inputs, inner, stride), *rest))
            inputs = 4 * inner
        self.blocks = nn.Sequential(*blocks)

    def forward(self, clips: Clips) -> Float[Tensor, "batch {self.dim}"]:
        return torch.mean(self.blocks(as_clips(clips)), (2, 3, 4))


def time_then_space(inputs: int, width: int, stride: tuple[int, int, int]) -> Residual:
    frames, height, across = stride
    middle = nn.Sequential(
        OrderedDict(
            conv_t=Conv(width, width, (3, 1, 1), (frames, 1, 1)),
            norm=nn.BatchNorm3d(width),
            activation=nn.ReLU(inplace=True),
            conv_xy=Conv(width, width, (1, 3, 3), (1, height, across)),
        )
    )
    return Residual(inputs, 4 * width, stride, bottleneck(inputs, width, 1, middle))
