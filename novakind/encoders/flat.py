"""No network at all: the numbers of an item as they are, for methods that learn no features."""

from __future__ import annotations

import math

from jaxtyping import Float
from torch import Tensor, nn

LARGEST = 32  # pixels; a side above is averaged down, so that no picture has more than 3,072 numbers


class Flat(nn.Module):
    """All numbers of an item in one row; large pictures are averaged to 32 x 32 pixels first."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        small = (shape[0], min(shape[1], LARGEST), min(shape[2], LARGEST)) if len(shape) == 3 else shape
        self.pool = nn.AdaptiveAvgPool2d(small[1:]) if len(shape) == 3 else nn.Identity()
        self.dim = math.prod(small)

    def forward(self, items: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch {self.dim}"]:
        return self.pool(items).flatten(1)
