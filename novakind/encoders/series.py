"""Encoders of time series: convolutions over time, for any number of channels and any length of 8 samples or more.

Inside, a series is a picture of height 1 in channels-last memory, since there convolutions, normalisation and pooling
run up to twice as fast on CPUs as their one-dimensional versions. The weights should be channels-last too: whoever
builds an encoder sets that for the whole module.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError

SHORTEST = 8  # samples; three halvings leave one

SeriesBatch = Float[Tensor, "batch channels time"]
Strip = Float[Tensor, "batch channels 1 time"]
NewStrip = Float[Tensor, "batch width 1 shorter"]


class SensorCNN(nn.Module):
    """A network of 53 thousand parameters for body-worn sensors: wide kernels, depthwise after the first; `dim` 64.

    It has the size and the layers of the encoder that the authors of CoDEm use, so that results can be compared with
    theirs. For speed choose `SeriesNet`: depthwise convolutions save parameters, hardly any time.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dim = 64
        self.layers = nn.Sequential(
            *convolution(channels, 128, 9, bias=True),
            nn.ReLU(inplace=True),
            nn.MaxPool2d((1, 2)),
            *separable(128, 9),
            nn.MaxPool2d((1, 2)),
            *separable(128, 9),
            nn.MaxPool2d((1, 2)),
        )
        self.head = nn.Sequential(
            nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(64, self.dim)
        )

    def forward(self, series: SeriesBatch) -> Float[Tensor, "batch {self.dim}"]:
        return self.head(self.layers(as_strip(series)).mean((2, 3)))


class ResNet1d(nn.Module):
    """The residual network of Wang, Yan and Oates (2017) with three blocks of three convolutions; `dim` 128.

    Kernels of 7, 5 and 3 samples, odd so that the length stays. The second and third block halve the length; the
    original keeps it, which costs four times as much.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dim = 128
        self.blocks = nn.Sequential(
            ResidualBlock(channels, 64, stride=1), ResidualBlock(64, 128, stride=2), ResidualBlock(128, 128, stride=2)
        )

    def forward(self, series: SeriesBatch) -> Float[Tensor, "batch {self.dim}"]:
        return self.blocks(as_strip(series)).mean((2, 3))


class SeriesNet(nn.Module):
    """Dense convolutions only, most of them at a quarter of the length or less: made for CPUs; `dim` 2 `widths[-1]`.

    The vector holds the mean and the maximum over time of the last maps: what goes on all the time, such as steps, and
    what happens once, such as a fall.
    """

    def __init__(self, channels: int, widths: tuple[int, int, int] = (32, 64, 64)) -> None:
        super().__init__()
        first, second, third = widths
        self.dim = 2 * third
        self.layers = nn.Sequential(
            *convolution(channels, first, 7, stride=2),
            nn.GELU(),
            Pair(first, first, pool=2),
            Pair(first, second, pool=2),
            Pair(second, third, pool=1),
        )

    def forward(self, series: SeriesBatch) -> Float[Tensor, "batch {self.dim}"]:
        maps = self.layers(as_strip(series))
        return torch.cat([maps.mean((2, 3)), maps.amax((2, 3))], 1)


class ResidualBlock(nn.Module):
    """Three convolutions and a shortcut, which a 1-sample convolution fits to their width and length."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *convolution(inputs, width, 7, stride),
            nn.ReLU(inplace=True),
            *convolution(width, width, 5),
            nn.ReLU(inplace=True),
            *convolution(width, width, 3),
        )
        self.shortcut = nn.Sequential(*convolution(inputs, width, 1, stride))

    def forward(self, strip: Strip) -> NewStrip:
        return nn.functional.relu(self.layers(strip) + self.shortcut(strip))


class Pair(nn.Module):
    """Two convolutions over 5 samples with a max-pool after the first; the second adds to what the first found."""

    def __init__(self, inputs: int, width: int, pool: int) -> None:
        super().__init__()
        convolve, normalise = convolution(inputs, width, 5)
        self.first = nn.Sequential(convolve, nn.MaxPool2d((1, pool)), normalise, nn.GELU())
        self.second = nn.Sequential(*convolution(width, width, 5))

    def forward(self, strip: Strip) -> NewStrip:
        found = self.first(strip)
        return nn.functional.gelu(found + self.second(found))


def convolution(
    inputs: int, width: int, kernel: int, stride: int = 1, groups: int = 1, bias: bool = False
) -> tuple[nn.Module, nn.Module]:
    """A convolution over time, centred (so the kernel must be odd), and its normalisation."""
    layer = nn.Conv2d(inputs, width, (1, kernel), (1, stride), padding=(0, kernel // 2), groups=groups, bias=bias)
    return layer, nn.BatchNorm2d(width)


def separable(width: int, kernel: int) -> list[nn.Module]:
    """A convolution over time within each channel, then one across the channels at each time."""
    return [
        *convolution(width, width, kernel, groups=width, bias=True),
        nn.ReLU(inplace=True),
        *convolution(width, width, 1, bias=True),
        nn.ReLU(inplace=True),
    ]


def as_strip(series: SeriesBatch) -> Strip:
    """The series as pictures of height 1, channels last."""
    length = series.shape[2]
    if length < SHORTEST:
        raise UserError(f"series of {length} samples are too short to encode: make the windows {SHORTEST} or longer.")
    return series.unsqueeze(2).contiguous(memory_format=torch.channels_last)
