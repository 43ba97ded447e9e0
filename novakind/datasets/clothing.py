"""Clothing: 3,781 photographs of clothes in ten classes, uneven as a person's own folder is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from novakind.data.collection import Collection
from novakind.data.files import Watch, quiet
from novakind.datasets.stores import decode_below
from novakind.errors import UserError
from novakind.modality.image import Image, ImageReading

PARTS = ("train", "validation", "test")
SIDE = 64  # unless the user asks else


def clothing(root: Path, reading: ImageReading, watch: Watch = quiet) -> Collection:
    """The official layout `clothing/{train,validation,test}/<class>/*.jpg`; the last is the test part.

    What was decoded is kept, once for each size: see `novakind.datasets.stores`.
    """
    folder = root / "clothing"
    found = [(part, file) for part in PARTS for file in sorted((folder / part).glob("*/*"))]
    names = [file.relative_to(folder).as_posix() for _, file in found if file.suffix.lower() in Image.endings]
    missing = [part for part in PARTS if not any(name.startswith(f"{part}/") for name in names)]
    if missing:
        raise UserError(
            f"clothing is not in {root} (no picture in clothing/{missing[0]}/<class>): put the folders train, "
            "validation and test of clothing-dataset-small there, or name another folder with --data-root"
        )
    modality = Image(reading.size or SIDE, flips=reading.flips)
    stored = decode_below(folder, names, modality, watch)
    paths = [names[number] for number in stored.kept]
    classes, labels = np.unique([path.split("/")[1] for path in paths], return_inverse=True)
    test = np.array([path.startswith("test/") for path in paths])
    train = np.flatnonzero(~test) if not test.all() else np.arange(len(paths))
    return Collection(
        "clothing",
        stored.rows,
        labels,
        tuple(classes.tolist()),
        modality.fitted(stored.rows[train[:: max(1, len(train) // 500)]]),
        tuple(paths),
        labels,
        tuple(classes.tolist()),
        tuple((names[number], reason) for number, reason in stored.skipped),
        test,
    )
