"""What the unlabeled items really are, from a table: used to score, never to train."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from novakind.data.collection import Collection
from novakind.data.paths import Listing, list_items
from novakind.errors import UserError


def with_truth(collection: Collection, path: Path) -> Collection:
    """The same items with what a manifest (path,label) or a table of texts (text,label) says of them."""
    listing = list_items(path)
    if not listing.labels:
        raise UserError(f"--truth {path} holds arrays, but a truth is a table: give a .csv with path and label")
    if not any(listing.labels):
        raise UserError(f"{path} labels no item, but a truth says what items are: fill in its column label")
    matched = (by_name if listing.arrays is None else by_text)(collection, listing, path)
    known = collection.classes
    novel = sorted(
        {label for label, number in zip(matched, collection.labels, strict=True) if number < 0 and label} - set(known)
    )
    classes = (*known, *novel)
    number = {name: index for index, name in enumerate(classes)}
    truth = np.array(
        [
            label if label >= 0 else number.get(name, -1)
            for name, label in zip(matched, collection.labels.tolist(), strict=True)
        ]
    )
    return replace(collection, truth=truth, truth_classes=classes)


def by_name(collection: Collection, listing: Listing, path: Path) -> list[str]:
    """The label of each item's path; a window of a recording is called FILE@START, and what is said of the file holds
    for all its windows."""
    given = {os.path.normpath(name): label for name, label in zip(listing.names, listing.labels, strict=True)}
    paths = [os.path.normpath(item) for item in collection.paths]
    matched = [given.get(item) or given.get(item.rpartition("@")[0], "") for item in paths]
    if not any(matched):
        first = f'its first path is "{listing.names[0]}", the data have "{collection.paths[0]}"'
        raise UserError(f"{path} names no item of the data ({first}): write paths relative to the data folder")
    return matched


def by_text(collection: Collection, listing: Listing, path: Path) -> list[str]:
    """The label of each item's text: rows of a table have only numbers for names, which are others in another table.

    Of a text that has several labels, the row of the same name tells which it is.
    """
    assert listing.arrays is not None
    made = collection.modality.from_array(listing.arrays["X"], collection.modality.reading())
    if made is None:
        raise UserError(f"{path} tells of texts, but the data are not texts: give a .csv with path and label")
    told = list(zip([row.tobytes() for row in made[0]], listing.labels, strict=True))
    rows = dict(zip(listing.names, told, strict=True))
    labels: dict[bytes, set[str]] = {}
    for text, label in told:
        labels.setdefault(text, set()).add(label)
    matched = []
    for number, name in enumerate(collection.paths):
        text = np.asarray(collection.items[number]).tobytes()
        same, (one, *others) = rows.get(name, (b"", "")), labels.get(text, {""})
        matched.append(same[1] if same[0] == text else "" if others else one)
    if not any(matched):
        raise UserError(f"{path} has none of the texts of the data: give them as they are there, with their labels")
    return matched
