"""ResNet-18, 34 and 50, with stems for large and for small images; parameter names are torchvision's."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.errors import UserError

Images = Float[Tensor, "batch 3 height width"]
Maps = Float[Tensor, "batch inputs height width"]
NewMaps = Float[Tensor, "batch outputs newheight newwidth"]

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
STEMS = ("imagenet", "cifar", "cifar-pool")


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps the size, up to its stride; BatchNorm follows, so it has no bias."""
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    """What the block is added to: its input where the shapes agree (None), else a 1x1 projection of it."""
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class Basic(nn.Module):
    """Two 3x3 convolutions with a skip connection."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = conv(inputs, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x: Maps) -> NewMaps:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)), inplace=True)


class Bottleneck(nn.Module):
    """1x1 down, 3x3, 1x1 up to four times the width; the 3x3 carries the stride, as in the published weights."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = conv(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = conv(width, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = shortcut(inputs, outputs, stride)

    def forward(self, x: Maps) -> NewMaps:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = F.relu(self.bn2(self.conv2(out)), inplace=True)
        out = self.bn3(self.conv3(out))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)), inplace=True)


class ResNet(nn.Module):
    """A residual network without its classifier: images to the mean over the last map, `dim` numbers, none negative.

    Stems: "imagenet" is 7x7 stride 2 and a 3x3 stride-2 max-pool (the last map is 1/32 of the image); "cifar" is 3x3
    stride 1 and no pool (1/8); "cifar-pool" is 3x3 stride 1 and the pool (1/16), which the authors of the paper use and
    which costs a quarter of "cifar". Weights start at He's normal, by fan-out.
    """

    def __init__(self, depth: int = 18, stem: str = "imagenet") -> None:
        super().__init__()
        if depth not in BLOCKS:
            raise UserError(f"ResNet depth {depth} is not one of {', '.join(map(str, BLOCKS))}: choose one of these.")
        if stem not in STEMS:
            raise UserError(f"ResNet stem {stem!r} is not one of {', '.join(STEMS)}: choose one of these.")
        block = Bottleneck if depth >= 50 else Basic
        self.dim = 512 * block.expansion
        self.conv1 = conv(3, 64, 7, 2) if stem == "imagenet" else conv(3, 64, 3)
        self.bn1 = nn.BatchNorm2d(64)
        self.pool = nn.Identity() if stem == "cifar" else nn.MaxPool2d(3, 2, padding=1)

        stages, inputs = [], 64
        for number, (width, blocks) in enumerate(zip((64, 128, 256, 512), BLOCKS[depth], strict=True)):
            stage = []
            for index in range(blocks):
                stage.append(block(inputs, width, stride=2 if number > 0 and index == 0 else 1))
                inputs = width * block.expansion
            stages.append(nn.Sequential(*stage))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages

        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Images) -> Float[Tensor, "batch {self.dim}"]:
        maps = self.pool(F.relu(self.bn1(self.conv1(images)), inplace=True))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return torch.mean(maps, (2, 3))
