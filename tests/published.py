"""Small published models, as transformers writes them, with random weights."""

import json
import os
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from novakind.encoders.origin import Origin

VIT = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}
LOOK = VIT | {"image_size": 32, "patch_size": 8}
READ = VIT | {"vocab_size": 40, "max_position_embeddings": 24}
SETTINGS: dict[str, dict[str, Any]] = {
    "dinov2": LOOK,
    "vit": LOOK,
    "resnet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "layer_type": "basic"},
    "swin": {"image_size": 32, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    "clip": {"vision_config": LOOK, "text_config": READ, "projection_dim": 20},
    "siglip": {"vision_config": LOOK, "text_config": READ},
    "bert": READ,
}
PROCESSOR = {"size": {"height": 32, "width": 32}, "resample": 3, "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
WORDS = "[PAD] [UNK] [CLS] [SEP] the a cat dog sits runs bank lends money ##s old"


def network_of(kind: str) -> torch.nn.Module:
    """A random network; no weight is left at the zero or one that it starts with."""
    from transformers import AutoConfig, AutoModel

    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        network = AutoModel.from_config(AutoConfig.for_model(kind, **SETTINGS[kind])).eval()
        for weight in network.parameters():
            weight.data += torch.randn_like(weight) * 0.1
    return network


def publish(kind: str, folder: Path, files: dict[str, Any], **options: Any) -> torch.nn.Module:
    """Writes the network and those tables into the folder, and gives it back."""
    network = network_of(kind)
    network.save_pretrained(folder, **options)
    for name, table in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(table if isinstance(table, str) else json.dumps(table), encoding="utf-8")
    return network


def publish_pictures(kind: str, folder: Path, processor: dict[str, Any] = PROCESSOR, **options: Any) -> torch.nn.Module:
    return publish(kind, folder, {"preprocessor_config.json": processor}, **options)


def tokenizer() -> str:
    """A tokenizer.json that cuts texts at white space and into pieces of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = {word: number for number, word in enumerate(WORDS.split())}
    found = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.Whitespace()
    found.post_processor = processors.BertProcessing(("[SEP]", words["[SEP]"]), ("[CLS]", words["[CLS]"]))
    return found.to_str()


def carried(origin: Origin) -> Origin:
    """The origin after its way through the header of a model file."""
    read = json.loads(json.dumps(asdict(origin)))
    return Origin(**read | {"mean": tuple(read["mean"]), "std": tuple(read["std"])})


def as_bytes(*texts: str) -> torch.Tensor:
    """Texts as encoders take them."""
    written = [text.encode() for text in texts]
    longest = max(map(len, written)) + 1
    return torch.tensor([list(text.ljust(longest, b"\0")) for text in written], dtype=torch.uint8)


class Hostile:
    """A pickle that leaves a file behind when it is opened."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)
