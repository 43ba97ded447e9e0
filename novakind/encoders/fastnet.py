"""A convolutional network for 32-pixel photographs on CPUs, after cifar10-airbench (Jordan, 2024)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError

Images = Float[Tensor, "batch 3 height width"]


class FastNet(nn.Module):
    """Fixed whitening filters of 2x2 pixels, then three groups of two 3x3 convolutions; `dim` = `widths[-1]`.

    The first layer is not learnt but computed by `whiten` from the training pictures: 12 filters that decorrelate
    patches, and their negatives. So the groups start from a good basis, and no gradient is needed at full resolution.
    """

    def __init__(self, widths: tuple[int, int, int] = (32, 96, 128)) -> None:
        super().__init__()
        self.dim = widths[-1]
        self.stem = nn.Conv2d(3, 24, 2)
        self.stem.requires_grad_(False)
        self.groups = nn.Sequential(
            *(group(inputs, width) for inputs, width in zip((24, *widths), widths, strict=False)),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
        )

    def forward(self, images: Images) -> Float[Tensor, "batch {self.dim}"]:
        return self.groups(nn.functional.gelu(self.stem(images)))

    @torch.no_grad()
    def whiten(self, images: Images) -> None:
        """Set the stem from normalised training pictures: each filter's output has variance 1, none correlates."""
        if min(images.shape[2:]) < 17:
            raise UserError(f"fastnet: pictures of {min(images.shape[2:])} px are too small for it: choose convnet.")
        patches = nn.functional.unfold(images.contiguous(), 2).transpose(1, 2).reshape(-1, 12).double()
        values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
        filters = (vectors / (values + 5e-4).sqrt()).T.reshape(12, 3, 2, 2).flip(0)
        self.stem.weight.copy_(torch.cat([filters, -filters]).float())
        assert self.stem.bias is not None
        self.stem.bias.zero_()


def group(inputs: int, width: int) -> nn.Sequential:
    """Two convolutions with a pool after the first."""
    layers = [
        nn.Conv2d(inputs, width, 3, padding=1, bias=False),
        nn.MaxPool2d(2),
        nn.BatchNorm2d(width),
        nn.GELU(),
        nn.Conv2d(width, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.GELU(),
    ]
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            nn.init.dirac_(layer.weight[: layer.in_channels])  # at the start, pass the inputs through
    return nn.Sequential(*layers)
