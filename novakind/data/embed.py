"""embed(): a frozen encoder turns the items of a collection into vectors, once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.data.cache import Cache, content_key
from novakind.data.collection import Collection
from novakind.data.split import Split, standardise
from novakind.disk import cache_folder
from novakind.encoders.front import Front, origin_of
from novakind.encoders.origin import Origin
from novakind.modality import Modality, from_array
from novakind.rows import Items

CHUNK = 256  # items between two signs of progress, and lost when the process dies

Watch = Callable[[int, int], None]


def seen(collection: Collection, split: Split, published: Mapping[str, Any], watch: Watch) -> Collection:
    """As training sees it: normalised by the training part, as a published encoder expects it, or its vectors."""
    if not published.get("name"):
        return standardise(collection, split)
    origin = origin_of(published["name"])
    if not published["frozen"]:
        return replace(collection, modality=collection.modality.for_encoder(origin), origin=origin)
    return standardise(embed(collection, origin, watch), split)


def embed(collection: Collection, origin: Origin, watch: Watch) -> Collection:
    """The same collection as unit vectors; what it was is still there `before` it, to look at."""
    vectors, unkept = looked_at(collection.items, collection.modality, origin, watch)
    items, modality = from_array(vectors)
    now = replace(collection, items=items, modality=modality.fitted(items), before=collection, origin=origin)
    return replace(now, unkept=unkept)


def vectors_of(rows: Items, modality: Modality, origin: Origin, watch: Watch) -> Float[np.ndarray, "items dim"]:
    """The vectors of all rows: those that the cache has, and the others computed."""
    return looked_at(rows, modality, origin, watch)[0]


def looked_at(rows: Items, modality: Modality, origin: Origin, watch: Watch) -> tuple[np.ndarray, str]:
    """The same, and why the cache could not keep them, or ""."""
    way = way_of(modality, origin)
    front: Front | None = None
    found = np.empty((len(rows), origin.dim), np.float32)
    with closing(Cache(embeddings_folder(), way, origin.dim)) as cache:
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            keys = [content_key(row) for row in part]
            known = cache.get(keys)
            missing = [number for number, key in enumerate(keys) if key not in known]
            if missing:
                watch(start, len(rows))
                front = front or Front.opened(origin, modality)
                fresh = front(part[missing])
                cache.put([keys[number] for number in missing], fresh)
                known |= {keys[number]: vector for number, vector in zip(missing, fresh, strict=True)}
            found[start : start + len(part)] = [known[key] for key in keys]
    watch(len(rows), len(rows))
    return found, cache.unkept


def known_vectors(rows: Items, modality: Modality, origin: Origin) -> Float[np.ndarray, "items dim"] | None:
    """The vectors of all rows, where the cache has them; None where it lacks one."""
    way = way_of(modality, origin)
    keys = [content_key(row) for row in rows]
    with closing(Cache(embeddings_folder(), way, origin.dim)) as cache:
        known = cache.get(keys)
    return np.stack([known[key] for key in keys]) if all(key in known for key in keys) else None


def way_of(modality: Modality, origin: Origin) -> dict[str, Any]:
    """All that decides about the vector of an item beside what is in its row."""
    return {"origin": asdict(origin), "modality": modality.for_encoder(origin).looking()}


def embeddings_folder() -> Path | None:
    """Where vectors are kept; None for a user without a home."""
    try:
        return cache_folder() / "embeddings"
    except RuntimeError:
        return None
