"""MobileNetV2, the encoder of the authors' experiments; parameter names are torchvision's."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

# One row per stage: expansion, channels, blocks, stride of the first block.
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def unit(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Convolution, BatchNorm, ReLU6."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(inplace=True),
    )


class InvertedResidual(nn.Module):
    """Widen by 1x1, filter channels by 3x3, narrow by 1x1 with no activation; carries its input where shapes agree."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.residual = stride == 1 and inputs == outputs
        self.conv = nn.Sequential(
            *([unit(inputs, wide, 1)] if expansion > 1 else []),
            unit(wide, wide, 3, stride, groups=wide),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(
        self, x: Float[Tensor, "batch inputs height width"]
    ) -> Float[Tensor, "batch outputs newheight newwidth"]:
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 without its classifier: images to the mean over the last map, `dim` = 1280 numbers from 0 to 6.

    `small` is for images up to 64 px: the stem and the second stage keep stride 1 instead of 2, so that the last map is
    1/8 of the image (4x4 at 32 px) and not 1/32 (one point). It changes no parameter: published weights fit both.
    Its depthwise convolutions are slow on CPUs. Weights start at He's normal, by fan-out.
    """

    def __init__(self, small: bool = False) -> None:
        super().__init__()
        self.dim = 1280
        layers: list[nn.Module] = [unit(3, 32, 3, stride=1 if small else 2)]
        inputs = 32
        for number, (expansion, outputs, blocks, first) in enumerate(STAGES):
            for index in range(blocks):
                stride = first if index == 0 and not (small and number == 1) else 1
                layers.append(InvertedResidual(inputs, outputs, stride, expansion))
                inputs = outputs
        self.features = nn.Sequential(*layers, unit(inputs, self.dim, 1))

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch {self.dim}"]:
        return torch.mean(self.features(images), (2, 3))
