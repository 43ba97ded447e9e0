"""Published encoders: found by name, equal to transformers' own output, and nothing of theirs is run."""

import copy
import json
import socket

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("transformers")
from published import PROCESSOR, carried, publish, publish_pictures, tokenizer

from novakind.encoders import hub
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")
KINDS = ["dinov2", "vit", "resnet", "swin", "clip", "siglip"]


@pytest.fixture
def no_network(monkeypatch):
    def connect(*arguments, **options):
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder of each kind, and the network that was saved there."""
    place = tmp_path_factory.mktemp("models")
    return {kind: (place / kind, publish_pictures(kind, place / kind)) for kind in KINDS}


def theirs(kind: str, network: torch.nn.Module, images: torch.Tensor) -> torch.Tensor:
    """What transformers computes."""
    if kind in ("clip", "siglip"):
        found = network.get_image_features(pixel_values=images)
        return found if isinstance(found, torch.Tensor) else found.pooler_output
    output = network(pixel_values=images)
    return output.last_hidden_state[:, 0] if kind in ("dinov2", "vit") else output.pooler_output.flatten(1)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_embedded_as_transformers_does(models, kind):
    folder, network = models[kind]
    origin = hub.origin(f"hf:{folder}")
    encoder = hub.network(origin)
    images = torch.randn(3, 3, 32, 32)
    with torch.no_grad():
        vectors, expected = encoder(images), theirs(kind, network, images)
    assert (origin.kind, origin.size, origin.interpolation) == ("image", 32, "bicubic")
    assert (origin.mean, origin.std) == ((0.5,) * 3, (0.25,) * 3)
    assert vectors.shape == (3, encoder.dim) == (3, origin.dim)
    assert vectors.dtype == torch.float32
    assert not any(module.training for module in encoder.modules())
    torch.testing.assert_close(vectors, F.normalize(expected, dim=1), atol=1e-6, rtol=0)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("kind", KINDS)
def test_blank_takes_a_saved_state(models, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    images, random = torch.randn(2, 3, 32, 32), torch.random.get_rng_state()
    origin = hub.origin(f"hf:{models[kind][0]}")
    encoder = hub.network(origin)
    monkeypatch.setattr(hub, "located", None)
    built = hub.blank(carried(origin))
    assert torch.equal(random, torch.random.get_rng_state())
    assert not torch.equal(built(images), encoder(images))
    built.load_state_dict(encoder.state_dict())
    assert torch.equal(built(images), encoder(images))


def test_a_state_of_another_transformers_says_which(models):
    origin = carried(hub.origin(f"hf:{models['vit'][0]}"))
    origin.architecture["config"]["transformers_version"] = "9.0.0"
    state = hub.blank(origin).state_dict()
    copy.deepcopy(hub.blank(origin)).load_state_dict(state)
    with pytest.raises(UserError, match=r"pip install transformers==9\.0\.0"):
        hub.blank(origin).load_state_dict({key.replace("layernorm", "norm"): tensor for key, tensor in state.items()})


@pytest.mark.parametrize(
    ("kind", "count", "first", "last"),
    [
        ("dinov2", 5, "Dinov2Embeddings", "LayerNorm"),
        ("resnet", 3, "ResNetEmbeddings", "ResNetStage"),
        ("clip", 7, "CLIPVisionEmbeddings", "Linear"),
    ],
)
def test_parts_from_the_first_layer_to_the_last(models, kind, count, first, last):
    encoder = hub.blank(hub.origin(f"hf:{models[kind][0]}"))
    parts = encoder.parts()
    names = [type(part).__name__ for part in parts]
    assert (len(parts), names[0], names[-1]) == (count, first, last)
    assert sum(p.numel() for part in parts for p in part.parameters()) == sum(p.numel() for p in encoder.parameters())


def test_clip_and_siglip_leave_their_texts_behind(models):
    for kind in ("clip", "siglip"):
        encoder = hub.network(hub.origin(f"hf:{models[kind][0]}"))
        assert not any("text" in name for name in encoder.state_dict())


@pytest.mark.parametrize(
    ("processor", "size", "interpolation"),
    [
        ({"size": 32, "resample": 2}, 32, "bilinear"),
        ({"size": {"shortest_edge": 32}, "resample": 3, "do_center_crop": False}, 32, "bicubic"),
        (
            {"size": {"shortest_edge": 40}, "do_center_crop": True, "crop_size": {"height": 32, "width": 32}},
            32,
            "bilinear",
        ),
        ({"size": 40, "do_center_crop": True, "crop_size": 32, "resample": 1}, 32, "bicubic"),
    ],
)
def test_how_pictures_are_prepared(models, processor, size, interpolation):
    folder = models["vit"][0]
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    origin = hub.origin(f"hf:{folder}")
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    assert (origin.size, origin.interpolation) == (size, interpolation)
    assert (origin.mean, origin.std) == ((0.0,) * 3, (1.0,) * 3)


def test_newer_folders_hold_both_halves_of_the_processor_in_one_file(tmp_path):
    publish("clip", tmp_path, {"processor_config.json": {"image_processor": PROCESSOR}, "tokenizer.json": tokenizer()})
    origin = hub.origin(f"hf:{tmp_path}")
    assert (origin.kind, origin.interpolation, origin.architecture["pooling"]) == ("image", "bicubic", "features")


def test_pixels_of_another_range_are_folded_into_mean_and_std(tmp_path):
    publish_pictures("vit", tmp_path, PROCESSOR | {"rescale_factor": 1 / 127.5})
    origin = hub.origin(f"hf:{tmp_path}")
    assert (origin.mean, origin.std) == ((0.25,) * 3, (0.125,) * 3)


def test_relative_names_licence_and_digest(tmp_path, monkeypatch):
    readme = "---\ntags:\n- vision\nlicense: apache-2.0\n---\n# A model\n"
    publish_pictures("vit", tmp_path / "whole")
    publish(
        "vit", tmp_path / "cut", {"preprocessor_config.json": PROCESSOR, "README.md": readme}, max_shard_size="20KB"
    )
    assert len(list((tmp_path / "cut").glob("*.safetensors"))) > 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    whole, cut = hub.origin("hf:./whole"), hub.origin("hf:~/cut")
    assert (whole.licence, cut.licence) == ("", "apache-2.0")
    assert whole.digest != cut.digest
    assert hub.origin("hf:whole").digest == whole.digest
    images = torch.randn(1, 3, 32, 32)
    assert torch.equal(hub.network(whole)(images), hub.network(cut)(images))


def test_nothing_is_printed_and_the_settings_of_transformers_stay(models, capfd):
    from transformers.utils import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub.network(hub.origin(f"hf:{models['clip'][0]}"))
    hub.network(hub.origin(f"hf:{models['vit'][0]}"))
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
