"""P3D (Qiu, Yao and Mei, 2017): a residual network with convolutions over time next to or after its 3x3 ones."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.video import Clips, Conv, Maps, NewMaps, as_clips, pool_space
from novakind.errors import UserError

BLOCKS = {32: (2, 2, 2, 2), 63: (3, 4, 6, 3), 131: (3, 4, 23, 3), 199: (3, 8, 36, 3)}
KINDS = "ABC"


class P3D(nn.Module):
    """P3D without its classifier: bottlenecks whose kinds A, B and C take turns; `dim` 32 `width`.

    P3D-63 is ResNet-50 with 13 convolutions over time, one per block of the first three stages; 131 and 199 are made
    from ResNet-101 and 152 in the same way. A pool halves the frames before every stage, so 16 frames reach the last
    one as a single picture. The vector is the mean over the last maps.
    """

    def __init__(self, depth: int = 63, width: int = 64) -> None:
        super().__init__()
        if depth not in BLOCKS:
            raise UserError(f"P3D depth {depth} is not one of {', '.join(map(str, BLOCKS))}: choose one of these.")
        self.dim = 32 * width
        self.conv1 = Conv(3, width, (1, 7, 7), (1, 2, 2))
        self.bn1 = nn.BatchNorm3d(width)

        stages, inputs, turn = [], width, 0
        for number, count in enumerate(BLOCKS[depth]):
            stage, inner = [], width * 2**number
            for index in range(count):
                kind = "" if number == 3 else KINDS[turn % 3]
                stage.append(Bottleneck(inputs, inner, 2 if number > 0 and index == 0 else 1, kind))
                inputs, turn = 4 * inner, turn + 1
            stages.append(nn.Sequential(*stage))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages

    @classmethod
    def narrow(cls) -> P3D:
        """One that trains on two CPU cores: 32 layers, half the width; `dim` 1024."""
        return cls(32, 32)

    def forward(self, clips: Clips) -> Float[Tensor, "batch {self.dim}"]:
        maps = pool_space(F.relu(self.bn1(self.conv1(as_clips(clips))), inplace=True))
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            maps = stage(F.max_pool3d(maps, (2, 1, 1), ceil_mode=True))
        return torch.mean(maps, (2, 3, 4))


class Bottleneck(nn.Module):
    """1x1 down, which carries the stride; over space, and over time as the kind says; 1x1 up to four times the width.

    Kind A convolves over time after the 3x3 convolution, B in parallel to it, and C after it with a skip connection.
    """

    def __init__(self, inputs: int, width: int, stride: int, kind: str) -> None:
        super().__init__()
        self.kind, outputs = kind, 4 * width
        self.conv1 = Conv(inputs, width, (1, 1, 1), (1, stride, stride))
        self.bn1 = nn.BatchNorm3d(width)
        self.conv2 = Conv(width, width, (1, 3, 3))
        self.bn2 = nn.BatchNorm3d(width)
        if kind:
            self.time = nn.Sequential(Conv(width, width, (3, 1, 1)), nn.BatchNorm3d(width))
        self.conv3 = Conv(width, outputs, (1, 1, 1))
        self.bn3 = nn.BatchNorm3d(outputs)
        self.downsample = None
        if stride > 1 or inputs != outputs:
            project = Conv(inputs, outputs, (1, 1, 1), (1, stride, stride))
            self.downsample = nn.Sequential(project, nn.BatchNorm3d(outputs))

    def forward(self, maps: Maps) -> NewMaps:
        out = self.space_and_time(F.relu(self.bn1(self.conv1(maps)), inplace=True))
        out = self.bn3(self.conv3(out))
        return F.relu(out + (maps if self.downsample is None else self.downsample(maps)), inplace=True)

    def space_and_time(self, maps: Maps) -> Maps:
        space = F.relu(self.bn2(self.conv2(maps)), inplace=True)
        if self.kind == "A":
            return F.relu(self.time(space), inplace=True)
        if self.kind == "B":
            return F.relu(space + self.time(maps), inplace=True)
        if self.kind == "C":
            return F.relu(space + self.time(space), inplace=True)
        return space
