"""Snapshot: a folder as the hub of Hugging Face publishes it. Tables and tensors are read; nothing in it is run."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from novakind.errors import UnreadableError, UserError
from novakind.given import MEGABYTE, is_regular, opened, read_whole

PROCESSORS = ("preprocessor_config.json", "processor_config.json")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
FILES = (  # the only ones that are downloaded
    *("config.json", "README.md", "model-*-of-*.safetensors", "merges.txt", "tokenizer_config.json"),
    *("modules.json", "sentence_bert_config.json", "*_Pooling/config.json", "special_tokens_map.json"),
    *PROCESSORS,
    *TOKENIZERS,
    *WEIGHTS,
)
LICENCE = re.compile(r"\A---\s*\n(?:.*\n)*?license:[ \t]*['\"]?(?P<name>[^\s'\"]+)")
BLOCK = 1 << 20
TABLE = 64 * MEGABYTE  # the largest


@dataclass(frozen=True)
class Snapshot:
    """One published model; `name` is what its user called it, and what refusals call it."""

    name: str
    path: Path

    def table(self, file: str) -> dict[str, Any]:
        """A file of JSON; empty where there is none."""
        path = self.path / file
        if not path.is_file():
            return {}
        try:
            found = json.loads(read_whole(path, TABLE).decode())
        except (ValueError, RecursionError, UnreadableError) as error:
            raise self.refused(f"{path} is not JSON ({error})", "download it again") from error
        return found if isinstance(found, dict) else {"": found}

    def kind(self) -> str:
        """What it reads: pictures where it says how they are prepared, else texts where it says how they are cut."""
        if self.processor():
            return "image"
        if any(any(self.path.glob(pattern)) for pattern in TOKENIZERS):
            return "text"
        raise self.refused(
            f"{self.path} holds neither a preprocessor_config.json (pictures) nor a tokenizer.json (texts)",
            "give the whole folder of an encoder of pictures or texts",
        )

    def processor(self) -> dict[str, Any]:
        """How pictures are prepared; empty for a model that reads none."""
        first, second = (self.table(file) for file in PROCESSORS)
        return first or second.get("image_processor", {})

    def refuse_code(self) -> None:
        """A model that brings its own code would run it here: none is taken, not even where transformers could do
        without. Nor is a pipe waited for, where a file should be."""
        for place in self.path.iterdir():
            if place.exists() and not place.is_dir() and not is_regular(place):
                raise self.refused(f"{place} is no file", "download it again")
        for file in ("config.json", "tokenizer_config.json", *PROCESSORS):
            if "auto_map" in self.table(file):
                raise self.refused(
                    f"its {file} names code of its own (auto_map), and code that comes with weights is never run",
                    "choose a model that transformers itself knows",
                )

    def weights(self) -> list[Path]:
        """The files of tensors, in order."""
        whole, shards = (self.path / file for file in WEIGHTS)
        if whole.is_file():
            return [whole]
        parts = self.table(shards.name).get("weight_map")
        named = sorted({str(name) for name in parts.values()}) if isinstance(parts, dict) else []
        if not named:
            raise self.refused(
                f"{self.path} has no model.safetensors, and weights are read from that format only, since a "
                "pytorch_model.bin can run code when it is opened",
                "choose a model with model.safetensors, or convert it where you trust it, with save_pretrained of "
                "transformers",
            )
        files = [self.path / Path(name).name for name in named]
        for file in files:
            if not file.is_file():
                raise self.refused(f"{file} is missing", "download the whole model again")
        return files

    def digest(self) -> str:
        """sha256 of the tensors' files, one after the other."""
        found = hashlib.sha256()
        for path in self.weights():
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    found.update(block)
        return found.hexdigest()

    def tensor(self, name: str) -> Tensor | None:
        """One tensor by its published name, or None."""
        for path in self.weights():
            try:
                with safe_open(path, "pt") as file:
                    if name in file.keys():  # noqa: SIM118 it is no dict
                        return file.get_tensor(name).to(torch.float32)
            except SafetensorError as error:
                raise self.refused(f"{path} cannot be read as safetensors ({error})", "download it again") from error
        return None

    def licence(self) -> str:
        """As the front matter of its README names it, or ""."""
        path = self.path / "README.md"
        found = LICENCE.match(self.beginning(path)) if path.is_file() else None
        return found["name"] if found else ""

    def beginning(self, path: Path) -> str:
        with opened(path) as file:
            return file.read(BLOCK).decode(errors="replace")

    def refused(self, why: str, fix: str) -> UserError:
        return UserError(f"encoder {self.name}: {why}: {fix}.")
