"""A multilayer perceptron, for items that are feature vectors already."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError


class MLP(nn.Module):
    """`depth` layers of linear, BatchNorm, ReLU and, where asked for, dropout: `inputs` numbers to `dim` = `width`.

    BatchNorm stands on every layer, so features of any scale may come in.
    """

    def __init__(self, inputs: int, width: int = 256, depth: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        if depth < 1:
            raise UserError(f"MLP depth {depth} is below 1: ask for at least one layer.")
        self.dim = width
        layers: list[nn.Module] = []
        for index in range(depth):
            layers += [nn.Linear(width if index else inputs, width, bias=False), nn.BatchNorm1d(width)]
            layers += [nn.ReLU(inplace=True)]
            layers += [nn.Dropout(dropout)] if dropout > 0 else []
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Float[Tensor, "batch inputs"]) -> Float[Tensor, "batch {self.dim}"]:
        return self.layers(features)
