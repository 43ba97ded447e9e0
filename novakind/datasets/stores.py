"""Stores of data sets by name that have to be decoded first, such as videos.

The data root may be read-only, so what was decoded is kept in the folder `stores` of
novakind's cache: once for each folder of files and each way to decode them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from novakind.data.files import Watch
from novakind.data.store import Stored, decode
from novakind.disk import UnwritableError, cache_folder
from novakind.errors import UserError
from novakind.modality import Modality


def decode_below(folder: Path, names: Sequence[str], modality: Modality, watch: Watch) -> Stored:
    """The files of these names below a folder, decoded once and for all; at least one of them can be read."""
    store = store_of(folder, modality)
    try:
        stored = decode([folder / name for name in names], names, store, modality, watch)
    except UnwritableError as error:
        raise error.or_by(f"name a folder for decoded {modality.noun} by NOVAKIND_CACHE") from None
    if not stored.kept:
        raise UserError(
            f"none of the {len(names)} {modality.noun} in {folder} can be read (the first, {names[0]}: "
            f"{stored.skipped[0][1]}): put the official files there again"
        )
    return stored


def store_of(folder: Path, modality: Modality) -> Path:
    """Where the decoded files of a folder are kept."""
    what = repr((str(folder.resolve()), modality.decoding()))
    return cache_folder() / "stores" / hashlib.sha256(what.encode(errors="surrogateescape")).hexdigest()[:16]
