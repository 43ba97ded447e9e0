"""Texts: sentences, messages, short documents; a row is the beginning of one in bytes of UTF-8.

No network learns from the bytes themselves: a published sentence encoder turns them into vectors.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from novakind.errors import UnreadableError, UserError
from novakind.modality.display import Texts
from novakind.modality.paper import PAPER
from novakind.modality.strings import as_row, as_texts, encoded, from_row, read_text, tidy
from novakind.settings import BelowOne, Range, check

LONGEST = 2_048  # bytes that are chosen; more has to be asked for
SHORTEST = 16
GLANCE = 20  # of the largest files tell how long texts are

PRESETS: dict[str, dict[str, Any]] = {"default": {}, "paper": PAPER}


@dataclass(frozen=True)
class TextReading:
    """How texts are read."""

    length: Annotated[int, Range(0, 65_536)] = 0
    """So many bytes of a text are kept, its beginning; 0 chooses by the longest text, at most 2,048."""

    def __post_init__(self) -> None:
        check(self)
        if 0 < self.length < SHORTEST:
            raise UserError(
                f"--length {self.length} is out of range, it must be from {SHORTEST} to 65,536: give --length 512, or "
                "leave it out"
            )


@dataclass(frozen=True)
class TextViews:
    """How a text may vary without leaving its class."""

    strength: Literal["strong", "weak", "none"] = "strong"
    """strong: words are left out; weak: half as many; none: the text as it is."""
    drop: BelowOne = 0.1
    """Chance that a word is left out; at least one stays. Of Chinese and Japanese, each sign is a word."""

    def __post_init__(self) -> None:
        check(self, "views.")

    def at(self, progress: float) -> TextViews:
        return self


@dataclass(frozen=True)
class Text:
    """Texts of at most `length` bytes of UTF-8, zeros behind them; longer ones end with a whole character."""

    length: int

    kind = "text"
    noun = "texts"
    example = "text files such as .txt, or a .csv or .jsonl table with a column text"
    arrays = "texts (a list of strings)"
    endings = frozenset({".txt", ".md"})
    dtype = "uint8"
    Reading = TextReading
    Views = TextViews
    presets = PRESETS
    trainable = False
    shown = "texts"

    @classmethod
    def recognises(cls, file: Path) -> bool:
        return True

    @classmethod
    def survey(cls, files: Sequence[Path], reading: TextReading, origin: Any = None) -> Text:
        """As long as the longest of the largest files."""
        if reading.length:
            return cls(reading.length)
        lengths = []
        for file in heapq.nlargest(GLANCE, files, key=size_of):
            try:
                lengths.append(len(encoded(read_text(file, LONGEST), LONGEST)))
            except UnreadableError:
                continue
        return cls(max(SHORTEST, *lengths) if lengths else LONGEST)

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        """A sentence encoder: nothing learns from bytes."""
        return "minilm", ""

    @classmethod
    def from_array(cls, X: np.ndarray, reading: TextReading) -> tuple[np.ndarray, Text] | None:
        """A text without a word is one like any other, as long as some have words."""
        strings = as_texts(X)
        if strings is None:
            return None
        texts = [tidy(text) for text in strings]
        if not any(texts):
            raise UserError(f"X holds {len(texts)} texts without a single word: give some that say something")
        length = reading.length or max(SHORTEST, *(len(encoded(text, LONGEST)) for text in texts))
        rows = np.zeros((len(texts), length), np.uint8)
        for row, text in zip(rows, texts, strict=True):
            row[:] = as_row(text, length)
        return rows, cls(length)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length,)

    def reading(self) -> TextReading:
        return TextReading(self.length)

    def for_encoder(self, origin: Any) -> Text:
        return self

    def decoding(self) -> dict[str, Any]:
        return {"kind": self.kind, "length": self.length}

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Text:
        """Texts have no statistics."""
        return self

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """A file is one text."""
        return [("", as_row(read_text(path, self.length), self.length))]

    def check(self, views: TextViews, rows: Iterable[np.ndarray]) -> None:
        """All views go with texts."""

    def collate(self, rows: np.ndarray) -> UInt8[Tensor, "batch length"]:
        """Bytes: the encoder has words of its own."""
        return torch.from_numpy(np.array(rows, dtype=np.uint8))

    def augment(self, batch: Tensor, policy: TextViews, generator: torch.Generator) -> Tensor:
        chance = {"strong": policy.drop, "weak": policy.drop / 2, "none": 0.0}[policy.strength]
        return leave_out(batch, chance, generator) if chance > 0 else batch

    def normalise(self, batch: Tensor) -> Tensor:
        return batch

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Texts:
        return Texts(lambda item: from_row(row(item)))

    def plain(self, rows: np.ndarray) -> None:
        """Texts are never alike letter by letter."""

    def caution(self, about: str) -> str:
        return ""

    def looking(self) -> dict[str, Any]:
        """However long the longest text is, the others say the same."""
        return {"kind": self.kind}

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except (OSError, ValueError):  # ValueError: a name with a NUL, from a manifest
        return 0


def leave_out(
    batch: UInt8[Tensor, "batch length"], chance: float, generator: torch.Generator
) -> UInt8[Tensor, "batch length"]:
    """The texts without some of their words, closed up; a text that has words keeps at least one."""
    number = word_numbers(batch)
    count = number.amax(1)
    dice = torch.rand(len(batch), batch.shape[1] + 1, generator=generator)
    stays = dice >= chance
    stays[:, 0] = True  # what stands before the first word
    is_word = torch.arange(1, batch.shape[1] + 1) <= count[:, None]
    bare = torch.nonzero(~(stays[:, 1:] & is_word).any(1) & (count > 0))[:, 0]
    spared = (dice[bare, 0] * count[bare]).long().clamp(max=batch.shape[1] - 1) + 1
    stays[bare, spared] = True
    return close_up(batch, stays.gather(1, number) & (batch > 0))


def word_numbers(batch: UInt8[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """For each byte the number of the word that it is in or behind, from 1; 0 before the first.

    Words stand between white space. Chinese and Japanese signs, of three bytes each, are words of their own.
    """
    blank = (batch <= 32) | (batch == 127)
    own = (batch >= 0xE3) & (batch <= 0xE9)
    begins = ~blank & ((batch & 0xC0) != 0x80)
    after = behind(blank, 1, True) | own | behind(own, 3, False)
    return (begins & after).cumsum(1)


def behind(marks: Bool[Tensor, "batch length"], places: int, first: bool) -> Bool[Tensor, "batch length"]:
    """Each byte gets the mark of the one so many places before it, and the first ones get `first`."""
    lead = torch.full((len(marks), places), first)
    return torch.cat([lead, marks], 1)[:, : marks.shape[1]]


def close_up(batch: UInt8[Tensor, "batch length"], kept: Bool[Tensor, "batch length"]) -> UInt8[Tensor, "batch length"]:
    """The kept bytes one behind the other, zeros behind them."""
    length = batch.shape[1]
    places = torch.where(kept, kept.cumsum(1) - 1, length)
    return torch.zeros(len(batch), length + 1, dtype=torch.uint8).scatter_(1, places, batch)[:, :length].contiguous()
