"""Sentences: a published encoder of texts, with its tokenizer inside, so that bytes go in and vectors come out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from novakind.encoders.origin import Origin
from novakind.encoders.snapshot import Snapshot
from novakind.encoders.transformer import expect_names, first_line, parts, quiet, settings

LONGEST = 512
TOGETHER = 64
POOLINGS = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class Sentences(nn.Module):
    """Texts as UTF-8 bytes, padded with zeros, to unit vectors. The tokenizer is a buffer: weights carry it along."""

    tokenizer: Tensor

    def __init__(self, body: nn.Module, origin: Origin) -> None:
        super().__init__()
        built = origin.architecture
        self.dim, self.most, self.pooling, self.lower = origin.dim, origin.size, built["pooling"], built["lower"]
        self.pad = built["config"].get("pad_token_id") or 0
        self.body, self.origin = body, origin
        self.register_load_state_dict_pre_hook(expect_names)
        if getattr(body, "pooler", None) is not None:
            body.register_module("pooler", None)
        self.register_buffer("tokenizer", torch.zeros(built["tokenizer"], dtype=torch.uint8))

    def take(self, folder: Snapshot) -> None:
        """What does not belong to the body: the tokenizer."""
        found = np.frombuffer(tokenizer_of(folder), dtype=np.uint8)
        self.tokenizer.copy_(torch.from_numpy(found.copy()))

    def forward(self, texts: UInt8[Tensor, "batch length"]) -> Float[Tensor, "batch {self.dim}"]:
        tokens = self.tokens(texts)
        order = sorted(range(len(tokens)), key=lambda item: len(tokens[item]))  # like lengths together: little padding
        vectors = [
            self.together([tokens[item] for item in order[start : start + TOGETHER]])
            for start in range(0, len(order), TOGETHER)
        ]
        places = torch.empty(len(order), dtype=torch.long)
        places[order] = torch.arange(len(order))
        return torch.cat(vectors)[places.to(self.tokenizer.device)]

    def tokens(self, texts: UInt8[Tensor, "batch length"]) -> list[list[int]]:
        """The numbers of each text's tokens, never none; half a letter at the end, where a text was cut, is dropped."""
        written = [bytes(row).rstrip(b"\0").decode(errors="ignore") for row in texts.cpu().numpy()]
        if self.lower:
            written = [text.lower() for text in written]
        cut = parsed(self.tokenizer.cpu().numpy().tobytes(), self.most).encode_batch(written)
        return [found.ids or [self.pad] for found in cut]

    def together(self, tokens: list[list[int]]) -> Float[Tensor, "batch {self.dim}"]:
        """The vectors of texts that are padded to the longest of them."""
        longest = max(map(len, tokens))
        padded = [found + [self.pad] * (longest - len(found)) for found in tokens]
        seen = torch.tensor([[1] * len(found) + [0] * (longest - len(found)) for found in tokens])
        device = self.tokenizer.device
        seen = seen.to(device)
        last = self.body(input_ids=torch.tensor(padded, device=device), attention_mask=seen).last_hidden_state.float()
        if self.pooling == "cls":
            return F.normalize(last[:, 0], dim=1)
        weight = seen.unsqueeze(2).to(last.dtype)
        return F.normalize((last * weight).sum(1) / weight.sum(1), dim=1)

    def parts(self) -> list[nn.Module]:
        """From the first layer to the last, for those who train only some of them."""
        return parts(self.body)


@lru_cache(maxsize=4)
def parsed(text: bytes, most: int) -> Any:
    """The tokenizer that is written there, which cuts off after `most` tokens; by content, so it is never stale."""
    from tokenizers import Tokenizer  # pyright: ignore[reportMissingImports]

    found = Tokenizer.from_str(text.decode())
    found.no_padding()
    found.enable_truncation(most)
    return found


def tokenizer_of(folder: Snapshot) -> bytes:
    """The folder's tokenizer.json, or what transformers makes of older files."""
    from transformers import AutoTokenizer  # pyright: ignore[reportMissingImports]

    path = folder.path / "tokenizer.json"
    if path.is_file():
        return path.read_bytes()
    with quiet():
        try:
            found = AutoTokenizer.from_pretrained(folder.path, trust_remote_code=False, local_files_only=True)
            return found.backend_tokenizer.to_str().encode()
        except Exception as error:  # whatever the reader of an old format raises
            raise folder.refused(
                f"its tokenizer cannot be read ({first_line(error)})", "choose a model with a tokenizer.json"
            ) from error


def described(folder: Snapshot) -> dict[str, Any]:
    """What the origin says of it, but for where it comes from."""
    config, sentences = settings(folder), folder.table("sentence_bert_config.json")
    if config.get("is_encoder_decoder") or "hidden_size" not in config:
        raise folder.refused(f"models of kind {config['model_type']} are no encoders of texts", "choose another")
    return {
        "dim": config["hidden_size"],
        "size": sentences.get("max_seq_length") or min(LONGEST, config.get("max_position_embeddings") or LONGEST),
        "architecture": {
            "config": config,
            "pooling": pooling(folder),
            "lower": bool(sentences.get("do_lower_case")),
            "tokenizer": len(tokenizer_of(folder)),
        },
    }


def pooling(folder: Snapshot) -> str:
    """How tokens become one vector: as the model was trained, or the mean where it does not say."""
    modules = folder.table("modules.json").get("", [])
    for module in modules:
        kind = module.get("type", "").rpartition(".")[2]
        if kind == "Pooling":
            table = folder.table(f"{module['path']}/config.json")
            modes = [mode for mode, used in table.items() if mode.startswith("pooling_mode_") and used]
            names = [POOLINGS.get(mode, mode) for mode in modes] or [table.get("pooling_mode", "mean")]
            if names not in (["cls"], ["mean"]):
                raise folder.refused(
                    f"it pools its tokens by {' and '.join(map(str, names))}, not by cls or mean", "choose another"
                )
            return names[0]
        if kind not in ("Transformer", "Normalize"):
            raise folder.refused(f"its part {kind} (modules.json) is not known here", "choose another encoder of texts")
    return "mean"
