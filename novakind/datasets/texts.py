"""Data sets of texts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from novakind.data.collection import Collection, from_arrays
from novakind.data.files import Watch, quiet
from novakind.errors import UnreadableError, UserError
from novakind.given import read_whole
from novakind.modality.display import Texts
from novakind.modality.text import TextReading


def clinc150(root: Path, reading: TextReading, watch: Watch = quiet) -> Collection:
    """CLINC150 (Larson et al., 2019): what people say to an assistant, 150 intents of 150 sentences each.

    The official file `clinc150/data_full.json`: its parts train and val to train on, test to test. Sentences that are
    out of scope have no intent and are left out.
    """
    file = root / "clinc150" / "data_full.json"
    parts = read_parts(file)
    said = [(part, number, *pair) for part, pairs in parts.items() for number, pair in enumerate(pairs)]
    texts = np.array([text for _, _, text, _ in said], dtype=object)
    collection = from_arrays(texts, [intent for *_, intent in said], "clinc150", reading)
    names = tuple(f"{part}/{number}" for part, number, *_ in said)
    return replace(collection, paths=names, official_test=np.array([part == "test" for part, *_ in said]))


def read_parts(file: Path) -> dict[str, list[tuple[str, str]]]:
    """The sentences of each part with their intents."""
    try:
        content = json.loads(read_whole(file))
        return {part: [(str(text), str(intent)) for text, intent in content[part]] for part in ("train", "val", "test")}
    except UnreadableError as error:
        if os.path.lexists(file):
            raise UserError(f"{file} cannot be read ({error}): put the official file there again") from None
        raise UserError(
            f"clinc150 is not in {file.parent.parent} (no {file.parent.name}/{file.name}): put the official file "
            "data_full.json there, or name another folder with --data-root"
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{file} cannot be read ({reason}): put the official file there again") from None


def said(name: str, root: Path) -> dict[str, str]:
    """What the items of a data set of texts say, by their names; nothing for any other data set."""
    if name not in TEXTS:
        return {}
    collection = TEXTS[name](root, TextReading())
    texts = collection.modality.display(lambda item: collection.items[item])
    assert isinstance(texts, Texts)
    return {path: texts.text(item) for item, path in enumerate(collection.paths)}


TEXTS: dict[str, Callable[..., Collection]] = {"clinc150": clinc150}
