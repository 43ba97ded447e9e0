"""A small convolutional network that trains on CPUs in minutes, and on tiny images in seconds."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError

TINY = 16  # pixels; up to this size the stem keeps every pixel
SMALLEST = 8


class ConvNet(nn.Module):
    """Groups of two 3x3 convolutions, a 2x2 max-pool in each, and the mean over the last map; `dim` = `widths[-1]`.

    In the spirit of cifar10-airbench, narrowed for two cores. `size` is the side of the images and sets the stem, so
    that the groups always see about 31x31 points and 128 px costs little more than 32 px:

    - up to 16 px: 3x3, stride 1, padded; widths (32, 64), for 8x8 digits
    - above: a convolution of stride s = size / 32, rounded, and kernel s + 1: 2x2 at 32 px, 3x3 stride 2 at 64 px, 5x5
      stride 4 at 128 px; widths (32, 64, 128)

    The mean, not the maximum: every point gets a gradient, and the scale does not depend on the size of the map. Both
    were equal in accuracy on digits and CIFAR-10, within the spread of the seeds.

    Forward and backward in float32 on two cores, channels_last: 256 images of 32 to 128 px in about 140 ms, 384 digits
    of 8x8 in 20 ms. NCHW takes 1.3 to 1.6 times as long, so callers set the memory format of the module and of the
    images. There are no depthwise convolutions, which are slow on CPUs.
    """

    def __init__(self, widths: tuple[int, ...] | None = None, size: int = 32) -> None:
        super().__init__()
        if size < SMALLEST:
            raise UserError(f"convnet: images of {size} px are below its {SMALLEST} px: enlarge them.")
        tiny = size <= TINY
        if widths is None:
            widths = (32, 64) if tiny else (32, 64, 128)
        self.dim = widths[-1]

        inputs = widths[0] // 2
        stride = max(1, round(size / 32))
        kernel, padding = (3, 1) if tiny else (stride + 1, 0)
        stem = nn.Conv2d(3, inputs, kernel, stride, padding, bias=False)
        side = (size + 2 * padding - kernel) // stride + 1
        if side >> len(widths) == 0:
            raise UserError(f"convnet: {len(widths)} groups halve {size} px images to nothing: give fewer widths.")
        layers: list[nn.Module] = [stem, nn.BatchNorm2d(inputs), nn.ReLU(inplace=True)]
        for width in widths:
            layers += [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.MaxPool2d(2)]
            layers += [nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
            inputs = width
        self.layers = nn.Sequential(*layers)

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch {self.dim}"]:
        return torch.mean(self.layers(images), (2, 3))
