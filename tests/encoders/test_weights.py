"""Weights from files, and networks of timm: what fits is loaded, what does not is named."""

import copy
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from novakind.encoders import build
from novakind.encoders.convnet import ConvNet
from novakind.encoders.front import blank_of, is_published, network_of, origin_of
from novakind.encoders.mobilenet import MobileNetV2
from novakind.encoders.resnet import ResNet
from novakind.encoders.weights import load_weights
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def resnet18() -> ResNet:
    return ResNet(18)


def file_of(encoder: nn.Module, path, drop=(), **extra: torch.Tensor) -> str:
    """The encoder's tensors in a .safetensors file, some dropped, some added or replaced ("__" stands for ".")."""
    tensors = {key: tensor for key, tensor in encoder.state_dict().items() if key not in drop}
    tensors |= {key.replace("__", "."): tensor for key, tensor in extra.items()}
    save_file(tensors, path)
    return str(path)


def test_weights_round_trip_without_the_classifier(tmp_path, resnet18):
    source, target = copy.deepcopy(resnet18), ResNet(18)
    source.bn1.running_mean.fill_(3.0)
    path = file_of(source, tmp_path / "w.safetensors", fc__weight=torch.zeros(1000, 512), fc__bias=torch.zeros(1000))
    left_out = load_weights(target, path)
    assert len(left_out) == 1
    assert left_out[0].startswith("fc.")
    for key, tensor in source.state_dict().items():
        assert torch.equal(target.state_dict()[key], tensor), key


def test_weights_of_mobilenet_fit_both_stems(tmp_path):
    source = MobileNetV2()
    extra = {"classifier__1__weight": torch.zeros(10, 1280)}
    without_counts = [key for key in source.state_dict() if key.endswith("num_batches_tracked")]
    path = file_of(source, tmp_path / "w.safetensors", without_counts, **extra)
    target = MobileNetV2(small=True).to(memory_format=torch.channels_last)
    left_out = load_weights(target, path)
    assert [line.split(":")[0] for line in left_out] == ["classifier.1.weight"]
    assert all(torch.equal(a, b) for a, b in zip(source.parameters(), target.parameters(), strict=True))


def test_large_stem_is_left_out_of_a_small_one(tmp_path):
    source, target = ResNet(18, "imagenet"), ResNet(18, "cifar")
    nn.init.constant_(source.bn1.weight, 5.0)
    stem = target.conv1.weight.clone()
    left_out = load_weights(target, file_of(source, tmp_path / "w.safetensors"))
    assert len(left_out) == 1
    assert "7x7" in left_out[0]
    assert torch.equal(target.conv1.weight, stem)
    assert torch.equal(target.bn1.weight, torch.ones(64))
    assert torch.equal(target.layer4[1].conv2.weight, source.layer4[1].conv2.weight)


def test_half_precision_weights_load(tmp_path):
    source, target = ConvNet(size=8), ConvNet(size=8)
    save_file({key: tensor.half() for key, tensor in source.state_dict().items()}, tmp_path / "w.safetensors")
    assert load_weights(target, tmp_path / "w.safetensors") == []
    assert torch.allclose(target.layers[0].weight, source.layers[0].weight, atol=1e-3)
    assert target.layers[0].weight.dtype == torch.float32


@pytest.mark.parametrize(
    ("drop", "extra", "named"),
    [
        (["layer2.0.conv1.weight"], {}, ["layer2.0.conv1.weight", "missing"]),
        (["bn1.running_mean"], {}, ["bn1.running_mean", "missing"]),
        ([], {"layer2__0__conv1__weight": torch.zeros(3, 3)}, ["layer2.0.conv1.weight", "3x3", "128x64x3x3"]),
        ([], {"conv1__weight": torch.zeros(64, 3, 5, 5)}, ["conv1.weight", "64x3x5x5", "64x3x7x7"]),
        ([], {"layer1__2__conv1__weight": torch.zeros(64, 64, 3, 3)}, ["layer1.2.conv1.weight", "no place"]),
    ],
)
def test_weights_of_another_network_change_nothing(tmp_path, resnet18, drop, extra, named):
    path = file_of(resnet18, tmp_path / "w.safetensors", drop, **extra)
    target = copy.deepcopy(resnet18)
    nn.init.zeros_(target.layer1[0].conv1.weight)
    before = {key: tensor.clone() for key, tensor in target.state_dict().items()}
    with pytest.raises(UserError) as error:
        load_weights(target, path)
    for part in [path, *named]:
        assert part in str(error.value)
    assert all(torch.equal(before[key], tensor) for key, tensor in target.state_dict().items())


def test_small_stem_in_the_file_is_an_error_for_a_large_one(tmp_path, resnet18):
    with pytest.raises(UserError, match=r"conv1\.weight is 64x3x3x3"):
        load_weights(resnet18, file_of(ResNet(18, "cifar"), tmp_path / "w.safetensors"))


def test_weights_that_are_no_safetensors_file(tmp_path):
    encoder = ConvNet(size=8)
    with pytest.raises(UserError, match="no such file"):
        load_weights(encoder, tmp_path / "none.safetensors")
    with pytest.raises(UserError, match="no such file"):
        load_weights(encoder, tmp_path)
    torch.save(encoder.state_dict(), tmp_path / "w.pt")
    (tmp_path / "empty.safetensors").touch()
    for name in ("w.pt", "empty.safetensors"):
        with pytest.raises(UserError, match=f"{re.escape(name)}: the file cannot be read as safetensors"):
            load_weights(encoder, tmp_path / name)


# --- timm, which cannot be installed everywhere: a stand-in with the same call


class FakeModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 24, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[-1] == 32, "expected 32 px"
        return self.drop(self.conv1(x).mean((2, 3)))


WEIGHED = {"input_size": (3, 32, 32), "interpolation": "bicubic", "mean": (0.5,) * 3, "std": (0.25,) * 3}


@pytest.fixture
def fake_timm(monkeypatch):
    def create_model(name: str, pretrained: bool, num_classes: int) -> nn.Module:
        assert num_classes == 0
        if name not in ("small", "weighed") or (pretrained and name == "small"):
            raise RuntimeError(f"Unknown model ({name})")
        model = FakeModel()
        if pretrained:
            model.pretrained_cfg = {**WEIGHED, "license": "mit", "hf_hub_id": "timm/weighed"}
            nn.init.constant_(model.conv1.weight, 0.5)
        return model

    stub = SimpleNamespace(create_model=create_model, is_model_pretrained=lambda name: name == "weighed")
    monkeypatch.setitem(sys.modules, "timm", stub)


@pytest.mark.usefixtures("fake_timm")
def test_published_weights_of_timm():
    assert is_published("timm:weighed")
    assert not is_published("timm:small")  # learns from scratch
    origin = origin_of("timm:weighed")
    assert (origin.kind, origin.dim, origin.size, origin.interpolation) == ("image", 24, 32, "bicubic")
    assert (origin.mean, origin.std) == (WEIGHED["mean"], WEIGHED["std"])
    assert (origin.licence, origin.source) == ("mit", "timm/weighed")
    network = network_of(origin)
    assert not network.training
    assert (network.wrapped.conv1.weight == 0.5).all()
    blank = blank_of(origin)
    blank.load_state_dict(network.state_dict())
    pictures = torch.rand(2, 3, 32, 32)
    torch.testing.assert_close(blank(pictures), network(pictures))
    assert network.parts() == [network.wrapped.conv1]  # what has weights
    with pytest.raises(UserError, match=r"timm:large cannot be loaded.*Unknown model"):
        origin_of("timm:large")


@pytest.mark.usefixtures("fake_timm")
def test_timm(tmp_path):
    encoder = build("timm:small", (3, 32, 32))
    assert encoder.dim == 24
    assert all(module.training for module in encoder.modules())
    assert encoder(torch.randn(5, 3, 32, 32)).shape == (5, 24)
    source = FakeModel()
    path = file_of(source, tmp_path / "w.safetensors", head__fc__weight=torch.zeros(2, 24))
    assert load_weights(encoder, path) == ["head.fc.weight: a classifier, which an encoder does not have"]
    assert torch.equal(encoder.wrapped.conv1.weight, source.conv1.weight)


@pytest.mark.usefixtures("fake_timm")
def test_timm_errors():
    with pytest.raises(UserError, match="Unknown model"):
        build("timm:large", (3, 32, 32))
    with pytest.raises(UserError, match="expected 32 px"):
        build("timm:small", (3, 64, 64))


def test_timm_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(UserError, match=re.escape("pip install 'novakind[timm]'")):
        build("timm:resnet18", (3, 32, 32))
    with pytest.raises(UserError, match=re.escape("needs timm, and that needs torchvision")):
        origin_of("timm:resnet18")
