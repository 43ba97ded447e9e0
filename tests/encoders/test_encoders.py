"""Encoders: published sizes and names, shapes, gradients, and what a wrong request is told."""

import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from novakind.encoders import ENCODERS, build
from novakind.encoders.convnet import ConvNet
from novakind.encoders.fastnet import FastNet
from novakind.encoders.mlp import MLP
from novakind.encoders.mobilenet import MobileNetV2
from novakind.encoders.r2plus1d import R2Plus1D
from novakind.encoders.resnet import ResNet
from novakind.encoders.series import SeriesNet
from novakind.errors import UserError

IMAGE_ENCODERS = [name for name, spec in ENCODERS.items() if spec.axes == 3]
LIGHT = ["convnet", "resnet18", "resnet18-cifar-pool", "mobilenetv2-cifar"]


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def resnet18() -> ResNet:
    return ResNet(18)


def batchnorm_keys(name: str) -> list[str]:
    return [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]


def resnet18_keys() -> set[str]:
    """Torchvision's names, written by rule: two blocks a layer, a projection in the first block of layers 2 to 4."""
    keys = ["conv1.weight", *batchnorm_keys("bn1")]
    for layer in (1, 2, 3, 4):
        for block in (0, 1):
            here = f"layer{layer}.{block}"
            for number in (1, 2):
                keys += [f"{here}.conv{number}.weight", *batchnorm_keys(f"{here}.bn{number}")]
            if layer > 1 and block == 0:
                keys += [f"{here}.downsample.0.weight", *batchnorm_keys(f"{here}.downsample.1")]
    return set(keys)


# --- sizes and names, against the published networks


@pytest.mark.parametrize(
    ("name", "total", "classifier", "tensors"),
    [
        ("resnet18", 11_689_512, 513_000, 120),
        ("resnet34", 21_797_672, 513_000, 216),
        ("resnet50", 25_557_032, 2_049_000, 318),
        ("mobilenetv2", 3_504_872, 1_281_000, 312),
    ],
)
def test_parameter_counts_are_the_published_ones(name, total, classifier, tensors):
    with torch.device("meta"):
        encoder = build(name, (3, 224, 224))
    assert sum(p.numel() for p in encoder.parameters()) == total - classifier
    assert len(encoder.state_dict()) == tensors


def test_resnet18_names():
    with torch.device("meta"):
        assert set(ResNet(18).state_dict()) == resnet18_keys()


def test_other_names_and_shapes():
    with torch.device("meta"):
        resnet50, mobilenet = ResNet(50).state_dict(), MobileNetV2().state_dict()
    shapes = {
        "conv1.weight": (64, 3, 7, 7),
        "layer1.0.conv3.weight": (256, 64, 1, 1),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer1.0.downsample.1.running_var": (256,),
        "layer3.5.conv2.weight": (256, 256, 3, 3),
        "layer4.2.bn3.weight": (2048,),
    }
    assert {key: tuple(resnet50[key].shape) for key in shapes} == shapes
    shapes = {
        "features.0.0.weight": (32, 3, 3, 3),
        "features.0.1.running_mean": (32,),
        "features.1.conv.0.0.weight": (32, 1, 3, 3),
        "features.1.conv.1.weight": (16, 32, 1, 1),
        "features.1.conv.2.weight": (16,),
        "features.2.conv.0.0.weight": (96, 16, 1, 1),
        "features.2.conv.1.0.weight": (96, 1, 3, 3),
        "features.2.conv.2.weight": (24, 96, 1, 1),
        "features.17.conv.3.bias": (320,),
        "features.18.0.weight": (1280, 320, 1, 1),
        "features.18.1.num_batches_tracked": (),
    }
    assert {key: tuple(mobilenet[key].shape) for key in shapes} == shapes


def test_stems():
    with torch.device("meta"):
        image = torch.zeros(1, 3, 64, 64)
        sides = {
            stem: net.layer1(net.pool(net.conv1(image))).shape[-1]
            for stem in ("imagenet", "cifar", "cifar-pool")
            for net in [ResNet(18, stem)]
        }
        maps = [MobileNetV2(small).features(image).shape[-1] for small in (False, True)]
    assert sides == {"imagenet": 16, "cifar": 64, "cifar-pool": 32}
    assert maps == [2, 8]


def test_he_initialisation():
    weight = ResNet(18).layer4[1].conv2.weight
    assert weight.std().item() == pytest.approx((2 / (512 * 9)) ** 0.5, rel=0.02)


# --- shapes, gradients, seeds


@pytest.mark.parametrize("name", IMAGE_ENCODERS)
def test_every_image_encoder_gives_its_dim(name):
    with torch.device("meta"):  # shapes without arithmetic
        encoder = build(name, (3, 32, 32)).eval()
        for size in (32, 45):
            assert encoder(torch.zeros(2, 3, size, size)).shape == (2, encoder.dim)


@pytest.mark.parametrize(("name", "dim"), [("resnet18", 512), ("resnet34-cifar", 512), ("resnet50", 2048)])
def test_resnet_dim(name, dim):
    with torch.device("meta"):
        assert build(name, (3, 32, 32)).dim == dim


def test_convnet_takes_every_size():
    with torch.no_grad():
        sides = [ConvNet(size=size).layers(torch.zeros(1, 3, size, size)).shape[-1] for size in range(8, 129)]
    assert min(sides) == 2
    assert max(sides) == 5


@pytest.mark.parametrize("size", [8, 16, 17, 28, 47, 48, 64, 100, 128])
def test_convnet_trains_at_size(size):
    encoder = ConvNet(size=size)
    output = encoder(torch.randn(4, 3, size, size))
    output.square().mean().backward()
    assert output.shape == (4, encoder.dim)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


def test_convnet_widths_and_oblong_images():
    assert ConvNet((8, 16, 24, 40), size=32).dim == 40
    assert build("convnet", (3, 40, 100))(torch.randn(2, 3, 40, 100)).shape == (2, 128)


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", LIGHT)
def test_a_training_step_reaches_every_parameter(name, memory_format):
    torch.manual_seed(0)
    encoder = build(name, (3, 32, 32)).to(memory_format=memory_format)
    images = torch.randn(8, 3, 32, 32).to(memory_format=memory_format)
    encoder(images).square().mean().backward()
    for key, parameter in encoder.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key
        assert parameter.grad.abs().sum() > 0, key


@pytest.mark.parametrize("name", [*LIGHT, "mlp"])
def test_same_seed_same_network(name):
    shape = (20,) if name == "mlp" else (3, 32, 32)
    items, outputs = torch.randn(4, *shape), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        encoder = build(name, shape)
        outputs.append(encoder(items))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_mlp(depth):
    encoder = MLP(12, width=32, depth=depth, dropout=0.1)
    features = 1e3 * torch.randn(16, 12)
    output = encoder(features)
    output.square().mean().backward()
    assert output.shape == (16, encoder.dim) == (16, 32)
    assert len([layer for layer in encoder.layers if isinstance(layer, nn.Linear)]) == depth
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


def test_convnet_learns_digits():
    """8x8 digits in about a second: at least 98 % of 450 held-out ones."""
    torch.manual_seed(0)
    pixels, labels = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    images = (pixels.float() / 16 - 0.3).reshape(-1, 1, 8, 8).repeat(1, 3, 1, 1)
    order = torch.randperm(len(images))
    test, train = order[:450], order[450:]
    net = nn.Sequential(build("auto", (3, 8, 8)), nn.Linear(64, 10))
    steps = 120
    optimiser = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    for _ in range(steps):
        batch = train[torch.randint(len(train), (128,))]
        optimiser.zero_grad()
        F.cross_entropy(net(images[batch]), labels[batch]).backward()
        optimiser.step()
        schedule.step()
    net.eval()
    with torch.no_grad():
        accuracy = (net(images[test]).argmax(1) == labels[test]).float().mean().item()
    assert accuracy >= 0.98


# --- build


def test_auto_goes_by_the_shape():
    assert isinstance(build("auto", (3, 32, 32)), ConvNet)
    assert isinstance(build("auto", (100,)), MLP)
    assert isinstance(build("auto", (3, 100)), SeriesNet)
    assert isinstance(build("auto", (3, 16, 64, 64)), R2Plus1D)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("resnet19", (3, 32, 32), "resnet18, .*mobilenetv2.*mlp"),
        ("resnet18", (100,), "takes images.*choose mlp"),
        ("timm:resnet18", (100,), "takes images.*choose mlp"),
        ("mlp", (3, 32, 32), "takes feature vectors.*choose convnet"),
        ("auto", (1, 28, 28), "3, height, width"),
        ("auto", (1, 16, 32, 32), "3, frames, height, width"),
        ("auto", (3, 2, 16, 32, 32), "3, height, width"),
        ("resnet18", (3, 100), "takes images, and these are series: choose seriesnet"),
        ("seriesnet", (3, 16, 32, 32), "takes series, and these are videos: choose r2plus1d-narrow"),
        ("auto", (), "3, height, width"),
        ("auto", (0,), "length"),
        ("convnet", (3, 7, 7), "7 px.*enlarge"),
    ],
)
def test_wrong_requests(name, shape, message):
    with pytest.raises(UserError, match=message):
        build(name, shape)


def test_wrong_arguments():
    with pytest.raises(UserError, match="depth 101"):
        ResNet(101)
    with pytest.raises(UserError, match="stem 'tiny'"):
        ResNet(18, "tiny")
    with pytest.raises(UserError, match="depth 0"):
        MLP(3, depth=0)
    with pytest.raises(UserError, match="fewer widths"):
        ConvNet((8, 8, 8, 8), size=8)


def test_fastnet_whitens_patches():
    torch.manual_seed(0)
    images = torch.randn(40, 3, 32, 32).cumsum(2) * torch.tensor([1.0, 2.0, 0.5]).view(3, 1, 1)  # correlated pixels
    encoder = build("fastnet", (3, 32, 32))
    assert isinstance(encoder, FastNet)
    encoder.whiten(images)
    outputs = encoder.stem(images).movedim(1, 0).flatten(1)[:12]
    second_moments = outputs @ outputs.T / outputs.shape[1]
    torch.testing.assert_close(second_moments, torch.eye(12), atol=0.02, rtol=0)
    assert torch.equal(encoder.stem.weight[:12], -encoder.stem.weight[12:])
    assert encoder(images).shape == (40, encoder.dim)
    with pytest.raises(UserError, match="too small"):
        encoder.whiten(images[..., :8, :8])
