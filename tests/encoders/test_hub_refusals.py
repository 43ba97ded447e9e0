"""Folders and names that are no encoder are refused in a sentence, and nothing in them is run."""

import errno
import json
import os
import pickle
import re
import socket
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers")
from published import Hostile, publish_pictures

from novakind.encoders import hub
from novakind.errors import UserError

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def no_network(monkeypatch):
    def connect(*arguments, **options):
        raise OSError("no network in tests")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)


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


def test_only_known_files_are_downloaded(monkeypatch, tmp_path):
    import huggingface_hub

    asked = {}
    folder = tmp_path / "vit"
    publish_pictures("vit", folder)
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


def without(folder, file: str, change) -> None:
    (folder / file).unlink()
    change(folder / file)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "config.json").write_bytes(b"[" * 100_000),
        lambda folder: spoilt(folder, "config.json", patch_size="x"),
        lambda folder: spoilt(folder, "config.json", num_hidden_layers=10**12),
        lambda folder: spoilt(folder, "config.json", dtype=[]),
        lambda folder: spoilt(folder, "preprocessor_config.json", image_mean="x"),
        lambda folder: spoilt(folder, "preprocessor_config.json", image_mean=[1, 2]),
        lambda folder: spoilt(folder, "preprocessor_config.json", image_std=[0, 1, 1]),
        lambda folder: spoilt(folder, "preprocessor_config.json", resample=[]),
        lambda folder: spoilt(folder, "preprocessor_config.json", rescale_factor=0),
        lambda folder: spoilt(folder, "preprocessor_config.json", size=10**9),
        lambda folder: without(folder, "model.safetensors", os.mkfifo),
        lambda folder: without(
            folder, "model.safetensors", lambda path: Path(f"{path}.index.json").write_text('{"weight_map": {"a": 5}}')
        ),
        lambda folder: without(
            folder, "model.safetensors", lambda path: Path(f"{path}.index.json").write_text('{"weight_map": 5}')
        ),
    ],
)
def test_whatever_is_in_a_folder_is_refused_in_a_sentence(tmp_path, spoil):
    publish_pictures("vit", tmp_path)
    spoil(tmp_path)
    with pytest.raises(UserError, match=r"encoder hf:.*: .*: (download|choose a)") as told:
        hub.origin(f"hf:{tmp_path}")
    assert "\n" not in str(told.value)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    publish_pictures("vit", tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    name = next(iter(tensors))
    save_file(tensors | {name: tensors[name] * torch.nan}, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(UserError, match="its weights hold what is no number"):
        hub.network(hub.origin(f"hf:{tmp_path}"))


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
