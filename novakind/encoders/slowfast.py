"""SlowFast (Feichtenhofer et al., 2019): a wide path that sees few frames, and a thin one that sees them all."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.video import Clips, Conv, Maps, NewMaps, Residual, Stage, Stem, as_clips, bottleneck
from novakind.errors import UserError

BLOCKS = {26: (2, 2, 2, 2), 50: (3, 4, 6, 3)}

FastMaps = Float[Tensor, "batch fastinputs fastframes height width"]
NewFastMaps = Float[Tensor, "batch fastoutputs fastframes newheight newwidth"]


class SlowFast(nn.Module):
    """SlowFast without its classifier; parameter names are PyTorchVideo's; `dim` 32 times the width of both paths.

    The clip holds the frames of the fast path; the slow path takes every `alpha`-th, from the first on. The fast path
    has 1 / `beta` of the width, and passes its features to the slow path before each stage, by convolutions over
    `reach` frames. The slow path convolves over time in its last two stages only. The vector is the mean over the last
    maps of the slow path, then of the fast path. The published weights are of `alpha` 8 and `reach` 5 ("4x16"), and of
    `alpha` 4 and `reach` 7 ("8x8").
    """

    def __init__(self, depth: int = 50, width: int = 64, alpha: int = 8, beta: int = 8, reach: int = 5) -> None:
        super().__init__()
        if depth not in BLOCKS:
            raise UserError(f"SlowFast depth {depth} is not one of {', '.join(map(str, BLOCKS))}: choose one of these.")
        slow, fast = width, width // beta
        self.alpha, self.dim = alpha, 32 * (slow + fast)
        stems = Stem(slow, frames=1, pool=True), Stem(fast, frames=5, pool=True)
        blocks = [Paths(*stems, FastToSlow(fast, alpha, reach))]

        slow_inputs, fast_inputs = slow, fast
        for number, count in enumerate(BLOCKS[depth]):
            factor, stride = 2**number, 1 if number == 0 else 2
            slow_stage = stage(slow_inputs + 2 * fast_inputs, slow * factor, count, stride, 1 if number < 2 else 3)
            fast_stage = stage(fast_inputs, fast * factor, count, stride, 3)
            slow_inputs, fast_inputs = 4 * slow * factor, 4 * fast * factor
            blocks.append(Paths(slow_stage, fast_stage, FastToSlow(fast_inputs, alpha, reach) if number < 3 else None))
        self.blocks = nn.ModuleList(blocks)

    @classmethod
    def narrow(cls) -> SlowFast:
        """One that trains on two CPU cores: 26 layers, half the width, a slow path of every 4th frame; `dim` 1152."""
        return cls(26, 32, alpha=4)

    def forward(self, clips: Clips) -> Float[Tensor, "batch {self.dim}"]:
        fast = as_clips(clips)
        slow = fast[:, :, :: self.alpha]
        for block in self.blocks:
            slow, fast = block(slow, fast)
        return torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1)


class Paths(nn.Module):
    """One step of both paths; then the slow one receives the features of the fast one as further channels."""

    def __init__(self, slow: nn.Module, fast: nn.Module, fusion: FastToSlow | None) -> None:
        super().__init__()
        self.multipathway_blocks = nn.ModuleList([slow, fast])
        self.multipathway_fusion = fusion

    def forward(self, slow: Maps, fast: FastMaps) -> tuple[NewMaps, NewFastMaps]:
        slow_step, fast_step = self.multipathway_blocks
        slow, fast = slow_step(slow), fast_step(fast)
        if self.multipathway_fusion is not None:
            slow = torch.cat([slow, self.multipathway_fusion(fast)], 1)
        return slow, fast


class FastToSlow(nn.Module):
    """A convolution over time that leaves as many frames as the slow path has, with twice the channels."""

    def __init__(self, inputs: int, alpha: int, reach: int) -> None:
        super().__init__()
        self.conv_fast_to_slow = Conv(inputs, 2 * inputs, (reach, 1, 1), (alpha, 1, 1))
        self.norm = nn.BatchNorm3d(2 * inputs)

    def forward(self, maps: Maps) -> NewMaps:
        return F.relu(self.norm(self.conv_fast_to_slow(maps)), inplace=True)


def stage(inputs: int, width: int, count: int, stride: int, frames: int) -> Stage:
    """Bottlenecks whose first convolution is over `frames` frames."""
    blocks = []
    for index in range(count):
        step = (1, stride, stride) if index == 0 else (1, 1, 1)
        branch = bottleneck(inputs, width, frames, Conv(width, width, (1, 3, 3), step))
        blocks.append(Residual(inputs, 4 * width, step, branch))
        inputs = 4 * width
    return Stage(*blocks)
