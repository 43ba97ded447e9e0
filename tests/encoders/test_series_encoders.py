"""Encoders of time series: sizes, shapes, gradients, what the layout may not change, and that they can learn."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from novakind.encoders.series import Pair, ResNet1d, SensorCNN, SeriesNet, convolution
from novakind.errors import UserError

ENCODERS = [SensorCNN, ResNet1d, SeriesNet]
DIMS = {SensorCNN: 64, ResNet1d: 128, SeriesNet: 128}


pytestmark = pytest.mark.usefixtures("one_thread")


def test_sensor_cnn_has_53_thousand_parameters():
    stem = 3 * 128 * 9 + 128 + 2 * 128
    separable = (128 * 9 + 128 + 2 * 128) + (128 * 128 + 128 + 2 * 128)
    head = (128 * 64 + 64 + 2 * 64) + (64 * 64 + 64)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in SensorCNN(3).parameters())
    assert count == stem + 2 * separable + head == 52_992


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(("count", "channels", "length"), [(1, 3, 150), (2, 1, 8), (2, 6, 9), (3, 4, 131), (2, 45, 30)])
def test_any_channels_and_any_length(encoder, count, channels, length):
    net = encoder(channels).eval()
    with torch.no_grad():
        vectors = net(torch.randn(count, channels, length))
    assert net.dim == DIMS[encoder]
    assert vectors.shape == (count, net.dim)
    assert vectors.isfinite().all()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_memory_format_changes_nothing_but_the_time(encoder):
    torch.manual_seed(0)
    net, series = encoder(3).eval(), torch.randn(2, 3, 40)
    with torch.no_grad():
        plain = net(series)
        strided = net(series.transpose(1, 2).contiguous().transpose(1, 2))
        last = net.to(memory_format=torch.channels_last)(series)
    torch.testing.assert_close(strided, plain, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, plain, rtol=1e-4, atol=1e-5)


def test_a_convolution_runs_over_time():
    layer, _ = convolution(3, 5, 7, stride=2)
    assert isinstance(layer, nn.Conv2d)
    series = torch.randn(2, 3, 31)
    literal = F.conv1d(series, layer.weight[:, :, 0], stride=2, padding=3)
    torch.testing.assert_close(layer(series.unsqueeze(2))[:, :, 0], literal, rtol=1e-4, atol=1e-5)


def test_the_second_of_a_pair_adds_to_the_first():
    pair = Pair(4, 8, pool=2).eval()
    for parameter in pair.second.parameters():
        nn.init.zeros_(parameter)
    strip = torch.randn(2, 4, 1, 10)
    torch.testing.assert_close(pair(strip), F.gelu(pair.first(strip)))
    assert pair(strip).shape == (2, 8, 1, 5)


def test_series_net_holds_means_and_maxima():
    net = SeriesNet(2).eval()
    with torch.no_grad():
        mean, maximum = net(torch.randn(4, 2, 60)).chunk(2, 1)
    assert (maximum >= mean).all()
    assert (maximum > mean).any()


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_parameter_gets_a_gradient_and_a_few_steps_tell_speeds_apart(encoder):
    torch.manual_seed(0)
    fast = torch.arange(64) % 2
    phase = torch.rand(64, 1, 1) * 6.28
    angle = torch.arange(48) * (0.3 + 0.3 * fast[:, None, None]) + phase + torch.arange(3)[:, None]
    series = angle.sin() + 0.3 * torch.randn(64, 3, 48)
    net, head = encoder(3), nn.Linear(DIMS[encoder], 2)
    optimiser = torch.optim.AdamW([*net.parameters(), *head.parameters()], 2e-3)
    for _ in range(12):
        optimiser.zero_grad()
        F.cross_entropy(head(net(series)), fast).backward()
        optimiser.step()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in net.parameters())
    assert (head(net(series)).argmax(1) == fast).float().mean() > 0.9


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("length", [1, 7])
def test_too_short_series_are_refused(encoder, length):
    with pytest.raises(
        UserError, match=rf"^series of {length} samples are too short to encode: make .* 8 or longer\.$"
    ):
        encoder(3)(torch.randn(2, 3, length))
