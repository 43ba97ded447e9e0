"""Sentences of four kinds, made up, and an encoder that any test can train: it counts the words."""

import zlib

import numpy as np
import torch
from torch import Tensor, nn

KINDS = {
    "weather": ["will it rain in {}", "how warm is {} today", "is there snow in {} now", "sun or rain in {} tomorrow"],
    "music": ["play a song by {}", "play my {} album", "what song by {} is this", "turn up the {} song"],
    "flights": ["book a flight to {}", "cheap flight from {}", "is my flight to {} late", "change the {} flight"],
    "recipes": ["how do i bake a {} pie", "a pie recipe with {}", "can i bake {} bread", "bake me {} cookies"],
}
NAMES = ["oslo", "rome", "lima", "cairo", "delhi", "perth", "kyoto", "quito", "tunis", "paris", "turin", "basel"]


def sentences(count: int = 160, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sentences and their kinds, in turn."""
    rng = np.random.default_rng(seed)
    kinds = [list(KINDS)[number % 4] for number in range(count)]
    texts = [rng.choice(KINDS[kind]).format(f"{rng.choice(NAMES)} {number}") for number, kind in enumerate(kinds)]
    return texts, kinds


class WordCounts(nn.Module):
    """How often words of 512 kinds occur, after one layer; takes bytes as `Text` gives them."""

    dim = 32

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(512, self.dim)

    def forward(self, batch: Tensor) -> Tensor:
        counts = torch.zeros(len(batch), 512)
        for row, text in enumerate(batch.to(torch.uint8).numpy()):
            for word in text.tobytes().rstrip(b"\0").split():
                counts[row, zlib.crc32(word) % 512] += 1
        return self.layer(counts)
