"""Showing: what is to be seen of an item by its number, made from the run's data, and kept for a while."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from novakind.data.collection import Collection
from novakind.data.embed import known_vectors
from novakind.datasets.gather import gather_to_look
from novakind.encoders.front import origin_of
from novakind.encoders.origin import Origin
from novakind.errors import UserError
from novakind.modality import KINDS
from novakind.modality.display import Clips, Display, Pictures, Signals, Texts
from novakind.model import load_model
from novakind.results.report import clips, signals, texts, thumbnails
from novakind.runs.folder import Run
from novakind.runs.reviewed import Items
from novakind.runs.rounds import LINEAR

STRIP, LARGE = clips.Size(8, 96, 68), clips.Size(16, 256, 80)
KEPT = 64_000_000  # bytes of pictures
BATCH = 128  # items that the network sees at once
PATIENCE = 60  # seconds that a picture waits for the data to be read
GONE = "the items cannot be shown, because {}"


class Showing:
    """The items of a run as their kind of data shows them; without its data, nothing is seen and all else works."""

    def __init__(self, run: Path, count: int) -> None:
        self.run, self.count = run, count
        self.shown = ""
        self.why = ""
        self.display: Display = Pictures(lambda item: None)
        self.items: Collection | None = None
        self.origin: Origin | None = None  # of a published encoder that stays as it is
        self.is_deep = False  # whether a network has learnt to see the items
        self._pictures: OrderedDict[tuple[int, bool], bytes | None] = OrderedDict()
        self._size = 0
        self._turn = threading.Lock()
        self._ready = threading.Event()
        try:
            source = Run(run).source()
            self.shown = KINDS[source.kind].shown
            self.is_deep = Run(run).settings()["encoder"] != LINEAR
            if source.published.get("frozen"):
                self.origin = origin_of(source.published["name"])
        except UserError as error:
            self.why = str(error)
            self._ready.set()
        else:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            self.items = shown(self.run, self.count)
            self.display = self.items.modality.display(self.row_of)
        except UserError as error:
            self.why = str(error)
        except Exception as error:  # whatever is wrong with the data, the review goes on without
            self.why = f"{type(error).__name__}: {error}"
        finally:
            self._ready.set()

    def row_of(self, item: int) -> np.ndarray:
        assert self.items is not None
        return np.asarray(self.items.items[item])

    def inputs(self, items: Items) -> Float[np.ndarray, "some dims"] | None:
        """What the model saw of some items before it learnt anything, as vectors; None where that says little.

        The vectors of a published encoder count as far as they are still in the cache.
        """
        self.wait()
        if self.items is None:
            return None
        rows = np.stack([self.row_of(item) for item in items.tolist()])
        if self.origin is not None:
            return known_vectors(rows, self.items.modality, self.origin)
        return self.items.modality.plain(rows)

    @torch.no_grad()
    def features(self, items: Items) -> Float[np.ndarray, "some dims"] | None:
        """What a network that learnt from the items makes of them, before the embedding, which training gathers around
        the categories; None without data or weights."""
        self.wait()
        if self.items is None:
            return None
        try:
            model = load_model(self.run / "model.safetensors").eval()
        except (OSError, UserError):
            return None
        parts = np.array_split(items, -(-len(items) // BATCH))
        rows = (np.stack([self.row_of(item) for item in part.tolist()]) for part in parts)
        seen = (model.encoder(model.modality.normalise(model.modality.collate(part))) for part in rows)
        return torch.cat(list(seen)).float().numpy()

    def wait(self, seconds: float = PATIENCE) -> Display:
        """The items, as soon as they are there."""
        self._ready.wait(seconds)
        return self.display

    def remark(self) -> str:
        """Why nothing is to be seen; "" where something is, or may be soon."""
        return GONE.format(self.why) if self.why else ""

    def picture(self, item: int, large: bool = False) -> bytes | None:
        """A small picture of an item, or its film strip; None where there is nothing to see."""
        key, display = (item, large), self.wait()
        with self._turn:
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
        made = draw(display, item, large)
        with self._turn:
            if key not in self._pictures:
                self._size += len(made or b"")
            self._pictures[key] = made
            while self._size > KEPT:
                self._size -= len(self._pictures.popitem(last=False)[1] or b"")
        return made

    def row(self, item: int) -> dict[str, Any]:
        """What a row of the page has in addition: a text, a signal, or the facts about a clip."""
        display = self.wait()
        if isinstance(display, Texts):
            return {"text": texts.short(texts.read(display, item))}
        if isinstance(display, Signals):
            found = signals.read(display, item)
            return {} if found is None else {"signal": [found.shape[1], *signals.pack(signals.outline(found))]}
        if isinstance(display, Clips):
            found = clips.read(display, item)
            if found is None:
                return {}
            wide, tall = found.shape[3], found.shape[2]
            frames = clips.picked(found.shape[1], STRIP.frames)
            return {"clip": [frames, found.shape[1], round(wide / tall, 4)]}
        return {}

    def about(self, category: np.ndarray) -> dict[str, Any]:
        """What the page must know of all items together: channels and scales, words, frames a second."""
        display = self.display if self.shown in ("", "pictures") else self.wait()  # pictures are asked for one by one
        found: dict[str, Any] = {"signals": None, "texts": None, "clips": None}
        found["pictured"] = self.shown in ("pictures", "clips")
        if isinstance(display, Signals):
            found["signals"] = signals.gather_signals(display, category, ())
        elif isinstance(display, Texts):
            found["texts"] = texts.gather_texts(display, category, ())
        elif isinstance(display, Clips):
            found["clips"] = clips.gather_clips(display, (), ())[1]
        return found


def draw(display: Display, item: int, large: bool) -> bytes | None:
    """An item as PNG or WebP."""
    try:
        if isinstance(display, Clips):
            row = clips.read(display, item)
            size = LARGE if large else STRIP
            return None if row is None else clips.draw(row[:, clips.picked(row.shape[1], size.frames)], size)[0]
        if not isinstance(display, Pictures):
            return None
        picture = display.thumbnail(item)
        return picture if large or picture is None or len(picture) <= thumbnails.SMALL else thumbnails.shrink(picture)
    except (OSError, ValueError, SyntaxError):  # what Pillow raises for damaged files
        return None


def shown(run: Path, count: int) -> Collection:
    """A run's data as they were when it was trained."""
    folder = Run(run)
    settings = folder.settings()
    collection = gather_to_look(folder.source(), run / "store", settings["val"])
    if len(collection) != count or collection.digest() != settings["data"]["digest"]:
        raise UserError("the data have changed since the run")
    return collection
