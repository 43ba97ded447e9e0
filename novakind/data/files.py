"""Items on disk become a Collection: files are decoded once into a store, arrays are taken as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from novakind.data.collection import Collection, encode_labels, from_arrays
from novakind.data.paths import Listing, list_items
from novakind.data.store import decode
from novakind.encoders.origin import Origin
from novakind.errors import UserError
from novakind.modality import Kind, Modality, kind_of_files
from novakind.rows import sample

Watch = Callable[[int, int], None]


def quiet(done: int, total: int) -> None:
    """Nobody hears of progress."""


def load(
    given: Path,
    store: Path,
    reading: Any = None,
    watch: Watch = quiet,
    kind: Kind | None = None,
    origin: Origin | None = None,
) -> Collection:
    """A folder tree, a table or arrays as a Collection; files are decoded into the folder `store`.

    The kind of data is found by the files' endings where it is not given; `reading` holds its options. Files
    are decoded as a published encoder of this `origin` wants to see them.
    """
    listing = list_items(given)
    if listing.arrays is not None:
        X, y = listing.arrays["X"], listing.arrays["y"]
        return replace(from_arrays(X, y, given.stem, reading, listing.names), skipped=listing.skipped)
    kind = kind or kind_of_files(listing.files)
    name = given.resolve().name if given.is_dir() else given.stem
    modality = kind.survey(listing.files, reading or kind.Reading(), origin)
    return from_files(name, listing, modality, store, watch, measured=origin is None)


def from_files(
    name: str, listing: Listing, modality: Modality, store: Path, watch: Watch, measured: bool = True
) -> Collection:
    """The files decoded, and normalised as they measure; not where a published encoder has its own idea of that."""
    stored = decode(listing.files, listing.names, store, modality, watch)
    if not stored.kept:
        raise UserError(
            f"none of the {len(listing.names)} files in {listing.root} can be read as {modality.noun} "
            f"(the first, {listing.names[0]}: {stored.skipped[0][1]}): give {modality.example}"
        )
    names = [listing.names[number] + suffix for number, suffix in zip(stored.kept, stored.suffixes, strict=True)]
    if 2 * len(listing.windows.keys() & set(names)) < len(listing.windows):
        raise UserError(
            f"{name} lists windows such as {next(iter(listing.windows))}, but the recordings are cut otherwise, e.g. "
            f"{names[0]}: give the --window and --hop of the run that wrote it"
        )
    labels = [listing.windows.get(item, listing.labels[file]) for item, file in zip(names, stored.kept, strict=True)]
    numbers, classes = encode_labels(np.array(labels))
    skipped = tuple((listing.names[number], reason) for number, reason in stored.skipped)
    return Collection(
        name,
        stored.rows,
        numbers,
        classes,
        modality.fitted(stored.rows[sample(stored.rows, np.arange(len(names)))]) if measured else modality,
        tuple(names),
        numbers,
        classes,
        (*skipped, *listing.skipped),
        groups={"file": np.array(stored.kept)} if any(stored.suffixes) else {},
    )
