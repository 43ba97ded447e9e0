"""What encoders of video compute: shapes, gradients, the use of time, and what the speed costs."""

import pytest
import torch
import torch.nn.functional as F
from networks import on_meta
from torch import nn

from novakind.encoders.p3d import P3D, Bottleneck
from novakind.encoders.r2plus1d import R2Plus1D, R2Plus1D50
from novakind.encoders.slowfast import SlowFast
from novakind.encoders.video import Conv
from novakind.errors import UserError

NARROW = [R2Plus1D.narrow, P3D.narrow, SlowFast.narrow]
WIDE = [R2Plus1D, R2Plus1D50, P3D, SlowFast]

pytestmark = pytest.mark.usefixtures("one_thread")


def clips(count: int, frames: int, size: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, 3, frames, size, size, generator=torch.Generator().manual_seed(seed))


def changed(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether some number differs by more than a thousandth of the largest."""
    return float((before - after).abs().max()) > 1e-3 * float(before.abs().max())


# --- shapes and gradients


@pytest.mark.parametrize("make", [*NARROW, *WIDE])
def test_any_length_and_any_size(make):
    net = on_meta(make)
    for frames, height, width in ((8, 112, 112), (16, 64, 64), (32, 33, 47)):
        assert net(torch.zeros(2, 3, frames, height, width, device="meta")).shape == (2, net.dim)


@pytest.mark.parametrize("make", NARROW)
@pytest.mark.parametrize(("frames", "size"), [(8, 32), (9, 45), (16, 64), (32, 32)])
def test_vectors_are_finite_and_each_clip_has_its_own(make, frames, size):
    torch.manual_seed(0)
    net, batch = make().eval(), clips(2, frames, size)
    with torch.no_grad():
        vectors, alone = net(batch), net(batch[1:])
    assert vectors.isfinite().all()
    torch.testing.assert_close(vectors[1:], alone, rtol=1e-3, atol=1e-4 * float(alone.max()))
    assert changed(vectors[0], vectors[1])


@pytest.mark.parametrize("make", NARROW)
def test_every_parameter_gets_a_gradient(make):
    torch.manual_seed(0)
    net = make()
    (net(clips(2, 16, 64)) * torch.randn(net.dim)).sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("make", NARROW)
def test_a_few_steps_tell_directions_apart(make):
    """Movies of a moving bar, and the same played backwards: which is which, only the order of the frames can tell."""
    torch.manual_seed(0)
    rows = (torch.arange(32) - 2 * torch.arange(8)[:, None] - torch.randint(32, (6, 1, 1))) % 32 < 8
    forwards = rows[:, None, :, :, None] + 0.1 * torch.randn(6, 3, 8, 32, 32)
    movies, backwards = torch.cat([forwards, forwards.flip(2)]), torch.arange(12) // 6
    net = make()
    head = nn.Linear(net.dim, 2)
    optimiser = torch.optim.AdamW([*net.parameters(), *head.parameters()], 2e-3)
    for _ in range(8):
        optimiser.zero_grad()
        loss = F.cross_entropy(head(net(movies)), backwards)
        loss.backward()
        optimiser.step()
    assert loss < 0.2


# --- the fast form


@pytest.mark.parametrize(("frames", "height"), [(1, 9), (7, 9), (8, 3)])
@pytest.mark.parametrize(
    ("kernel", "stride"),
    [
        ((1, 7, 7), (1, 2, 2)),
        ((1, 1, 1), (1, 1, 1)),
        ((1, 1, 1), (2, 2, 2)),
        ((1, 1, 1), (2, 1, 1)),
        ((3, 1, 1), (1, 1, 1)),
        ((3, 1, 1), (2, 1, 1)),
        ((5, 1, 1), (8, 1, 1)),
        ((3, 1, 1), (1, 2, 2)),
        ((5, 7, 7), (1, 2, 2)),
    ],
)
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last_3d])
def test_the_fast_form_gives_what_three_dimensions_give(kernel, stride, frames, height, memory):
    torch.manual_seed(0)
    layer = Conv(4, 6, kernel, stride).double()
    maps = torch.randn(2, 4, frames, height, 5, dtype=torch.float64).contiguous(memory_format=memory).requires_grad_()
    ours, plain = layer(maps), F.conv3d(maps, layer.weight, stride=stride, padding=layer.padding)
    torch.testing.assert_close(ours, plain)
    direction = torch.randn_like(plain)
    for mine, theirs in zip(
        torch.autograd.grad(ours, (maps, layer.weight), direction),
        torch.autograd.grad(plain, (maps, layer.weight), direction),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("make", NARROW)
def test_a_whole_network_gives_the_same_in_three_dimensions(make, monkeypatch):
    torch.manual_seed(0)
    net, batch = make().double(), clips(2, 8, 32).double()
    with torch.no_grad():
        fast = net(batch)
        monkeypatch.setattr(Conv, "forward", nn.Conv3d.forward)
        torch.testing.assert_close(net(batch), fast, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", NARROW)
def test_the_memory_format_changes_nothing(make):
    torch.manual_seed(0)
    net, batch = make().double(), clips(2, 8, 32).double()
    with torch.no_grad():
        plain = net(batch)
        strided = net(batch.transpose(1, 2).contiguous().transpose(1, 2))
        last = net.to(memory_format=torch.channels_last_3d)(batch)
    torch.testing.assert_close(strided, plain, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(last, plain, rtol=1e-6, atol=1e-8)


# --- time


@pytest.mark.parametrize("make", NARROW)
def test_the_order_of_frames_matters(make):
    torch.manual_seed(0)
    net, batch = make().eval(), clips(1, 16, 32)
    with torch.no_grad():
        assert changed(net(batch), net(batch.flip(2)))


def test_only_the_fast_path_sees_the_frames_between():
    torch.manual_seed(0)
    net, batch = SlowFast.narrow().eval(), clips(1, 16, 32)
    shuffled = batch[:, :, [0, 3, 1, 2, 4, 6, 7, 5, 8, 11, 10, 9, 12, 13, 15, 14]]

    def paths_that_change() -> list[bool]:
        with torch.no_grad():
            before, after = net(batch)[0], net(shuffled)[0]
        return [changed(*path) for path in zip(before.split(1024), after.split(1024), strict=True)]

    assert paths_that_change() == [True, True]
    for block in net.blocks[:4]:
        for parameter in block.multipathway_fusion.norm.parameters():
            nn.init.zeros_(parameter)
    assert paths_that_change() == [False, True]


@pytest.mark.parametrize("alpha", [4, 8])
def test_the_slow_path_sees_every_alphath_frame(alpha):
    net, seen = on_meta(SlowFast, alpha=alpha), []
    for path in net.blocks[0].multipathway_blocks:
        path.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[2]))
    net(torch.zeros(1, 3, 32, 32, 32, device="meta"))
    assert seen == [32 // alpha, 32]


@pytest.mark.parametrize(("kind", "without_time", "without_space"), [("A", 0, 0), ("B", 1, 1), ("C", 1, 0)])
def test_p3d_blocks_join_space_and_time_as_their_kind_says(kind, without_time, without_space):
    """Whether anything is left of the one when the other's convolution gives zeros."""
    block = Bottleneck(8, 4, 1, kind).eval()
    maps = clips(2, 4, 6).repeat(1, 2, 1, 1, 1)[:, :4].abs()
    for convolution, left in ((block.time[0], without_time), (block.conv2, without_space)):
        kept = convolution.weight.detach().clone()
        nn.init.zeros_(convolution.weight)
        assert bool(block.space_and_time(maps).any()) == bool(left)
        convolution.weight.data.copy_(kept)


# --- what a wrong request is told


@pytest.mark.parametrize("make", NARROW)
@pytest.mark.parametrize(("frames", "height", "width"), [(7, 64, 64), (16, 31, 64), (16, 64, 20)])
def test_too_few_frames_or_pixels_are_refused(make, frames, height, width):
    with pytest.raises(
        UserError,
        match=rf"^clips of {frames} frames of {height}x{width} pixels are too small .* 8 frames of 32x32 pixels\.$",
    ):
        on_meta(make)(torch.zeros(1, 3, frames, height, width, device="meta"))


@pytest.mark.parametrize("make", [R2Plus1D, P3D, SlowFast])
def test_unknown_depths_are_refused(make):
    with pytest.raises(UserError, match=r"depth 7 is not one of .*: choose one of these\.$"):
        make(7)
