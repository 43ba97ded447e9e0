"""Kinds of data: each one class in one file, which knows its endings, options, presets, reading, views and showing.

A new kind is a class with the members of `Modality` and one line in KINDS. Nothing outside this package asks which kind
it has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from novakind.errors import UserError
from novakind.modality.display import Display
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.numbers import numeric
from novakind.modality.series import Series
from novakind.modality.strings import as_texts
from novakind.modality.text import Text
from novakind.modality.video import Video
from novakind.structure import misfit_fields


@runtime_checkable
class Modality(Protocol):
    """An item is one row of an array: decoded once, kept compact, turned into floats a batch at a time."""

    kind: str
    noun: str
    """What its items are called, in the plural."""
    example: str
    """Files that can be given, for advice."""
    arrays: str
    """Arrays that can be given, for advice; "" where there are none."""
    endings: frozenset[str]
    """Of its files, in lower case, with the point."""
    dtype: str
    """Of a row as it is kept, as numpy names it."""
    Reading: type
    """The options of how items are read and seen: a dataclass of settings."""
    Views: type
    """How an item may vary without leaving its class: a dataclass of settings, with `at(progress)`."""
    presets: dict[str, dict[str, Any]]
    """Settings that belong together, by dotted name; the first preset is the default one."""

    trainable: bool
    """Whether a network can learn from the rows themselves, or only from vectors of them."""
    shown: str
    """What `display` gives: pictures, clips, signals or texts; "" where there is nothing to see of the items."""

    @classmethod
    def recognises(cls, file: Path) -> bool:
        """Whether a file with one of its endings, which another kind has too, looks like its own."""
        ...

    @classmethod
    def survey(cls, files: Sequence[Path], reading: Any, origin: Any = None) -> Modality:
        """How these files are read: as asked for, and else as most of them and the published encoder suggest."""
        ...

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        """The published encoder for items like these, by name, and why; without a reason there is no other way. "" and
        the reason where a network that is trained from scratch is better."""
        ...

    @classmethod
    def from_array(cls, X: np.ndarray, reading: Any) -> tuple[np.ndarray, Modality] | None:
        """The rows of an array and how they are seen; None for an array of another kind."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row, as it is kept."""
        ...

    def reading(self) -> Any:
        """The `Reading` by which further arrays give rows like these."""
        ...

    def for_encoder(self, origin: Any) -> Modality:
        """The same, as a published encoder of this origin wants to see its items."""
        ...

    def decoding(self) -> dict[str, Any]:
        """What decides about the bytes of a decoded row, as plain JSON: rows decoded otherwise are not valid."""
        ...

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Modality:
        """The same kind of data, normalised by the statistics of these rows, of which some are labeled (-1: not)."""
        ...

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """Decode a file: the row of each item in it, and what to add to the file's name to tell the items apart.

        Raises `UnreadableError` with the reason for whatever it cannot read.
        """
        ...

    def check(self, views: Any, rows: Iterable[np.ndarray]) -> None:
        """Refuse views that do not go with how items are seen, or items (some rows) of which nothing would be seen."""
        ...

    def collate(self, rows: np.ndarray) -> Tensor:
        """Rows as a float batch, not yet normalised."""
        ...

    def augment(self, batch: Tensor, policy: Any, generator: torch.Generator) -> Tensor:
        """Vary each item at random in ways that keep its class: by the views at this point of the training."""
        ...

    def normalise(self, batch: Tensor) -> Tensor:
        """The batch as the encoder wants it: centred, scaled, in the fastest memory layout."""
        ...

    def faces(self, x: Tensor) -> list[Tensor]:
        """The normalised batches over which a prediction is the mean: the items, and perhaps their mirror images."""
        ...

    def display(self, row: Callable[[int], np.ndarray]) -> Display:
        """What there is to see of the items: pictures, courses of series, clips or texts; `row(i)` is item i."""
        ...

    def plain(self, rows: np.ndarray) -> np.ndarray | None:
        """Rows as vectors that lie close together where items are alike; None where they do not, number by number."""
        ...

    def caution(self, about: str) -> str:
        """Advice of this kind of data about "weights" or "doubt", to be added to a message; "" where there is none."""
        ...

    def looking(self) -> dict[str, Any]:
        """What decides about what an encoder sees of an item beside the bytes of its row, zeros at their end left out;
        as plain JSON."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that is needed to build the same modality again, as plain JSON."""
        ...


if TYPE_CHECKING:
    Kind = type[Modality]
else:
    Kind = type  # a protocol with attributes cannot be checked while running

KINDS: dict[str, Kind] = {"image": Image, "video": Video, "series": Series, "text": Text, "features": Features}
VECTORS: Kind = Features  # what frozen encoders make of all the others
FALLBACK = Image  # for files of which most have an ending that nobody claims: reading them says what is wrong
LARGEST_ROW = 2**28  # numbers
TRIED = 9  # files that are looked at where several kinds claim the ending of most


def kind_of_files(files: Iterable[Path]) -> Kind:
    """The kind of data that has the endings of more than half of the files; of several, the first that knows them.

    Files that end in .txt are recordings if they are mostly digits, and else texts.
    """
    given = list(files)
    endings = Counter(file.suffix.lower() for file in given)
    claiming = [
        kind for kind in KINDS.values() if 2 * sum(endings[ending] for ending in kind.endings) > endings.total()
    ]
    if len(claiming) < 2:
        return claiming[0] if claiming else FALLBACK
    shared = [file for file in given if all(file.suffix.lower() in kind.endings for kind in claiming)]
    some = shared[:: max(1, len(shared) // TRIED)][:TRIED]
    knowing = (kind for kind in claiming if 2 * sum(kind.recognises(file) for file in some) >= len(some))
    return next(knowing, claiming[0])


def from_array(X: np.ndarray, reading: Any = None) -> tuple[np.ndarray, Modality]:
    """Rows and modality of an array, by its shape and type; `reading` is that of its kind, None its default."""
    texts = as_texts(X)
    X = numeric(X) if texts is None else texts[:, None]
    if X.ndim < 2:
        raise UserError(
            f"X of shape {X.shape} has no columns: Reshape your data with X.reshape(-1, 1) if they are items of one "
            "feature, or with X.reshape(1, -1) if they are one item"
        )
    if len(X) == 0:
        raise UserError("X holds no item, but some are needed: give an array with at least one row")
    if X.ndim == 2 and X.shape[1] == 0:
        raise UserError(
            f"X has 0 feature(s) (shape={X.shape}) while a minimum of 1 is required: give at least one column"
        )
    for kind in KINDS.values():
        found = kind.from_array(X, reading if isinstance(reading, kind.Reading) else kind.Reading())
        if found is not None:
            return found
    known = [kind.arrays for kind in KINDS.values() if kind.arrays]
    raise UserError(f"X of shape {X.shape} and type {X.dtype} is neither {', nor '.join(known)}: reshape or convert it")


def from_settings(settings: dict[str, Any]) -> Modality:
    """The modality that wrote these settings; what no modality can have written is a UserError."""
    arguments = {
        key: tuple(value) if isinstance(value, list) else value for key, value in settings.items() if key != "kind"
    }
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(f"{kind!r} is no kind of data: choose from {', '.join(KINDS)}")
    wrong = misfit_fields(KINDS[kind], arguments)
    if not wrong:
        found = KINDS[kind](**arguments)
        numbers = [one for value in arguments.values() for one in (value if isinstance(value, tuple) else (value,))]
        finite = all(math.isfinite(one) for one in numbers if isinstance(one, float))
        shape = found.shape
        if finite and all(side > 0 for side in shape) and math.prod(shape) <= LARGEST_ROW:
            return found
        wrong = f"rows of shape {shape} cannot be"
    raise UserError(f"{wrong}: a modality has not written these settings")
