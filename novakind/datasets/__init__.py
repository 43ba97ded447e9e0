"""Benchmark data by name, completely labeled, in their official layouts: which classes are novel is said by --known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from novakind.data.collection import Collection
from novakind.data.files import Watch
from novakind.datasets import images, sensors, texts, videos
from novakind.datasets.clothing import clothing
from novakind.modality import Kind
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.modality.text import Text
from novakind.modality.video import Video


class Named(NamedTuple):
    """A data set: what its items are, which preset goes with it, and how it is loaded from the data root."""

    kind: Kind
    preset: str
    load: Callable[[Path, Any, Watch], Collection]
    """From the data root, the `Reading` of its kind, and who hears of progress."""
    balanced: Callable[[Path, Any, Watch], Collection] | None = None
    """The same with classes made alike in size by what is known of them, where benchmarks do so."""


DATASETS: dict[str, Named] = {
    "digits": Named(Image, "default", images.digits),
    **{name: Named(Image, "default", partial(images.load, name)) for name in images.PLACES},
    "clothing": Named(Image, "default", clothing),
    **{name: Named(Series, "sensors", load, sensors.BALANCED.get(name)) for name, load in sensors.SENSORS.items()},
    **{name: Named(Video, "videos", load) for name, load in videos.VIDEOS.items()},
    **{name: Named(Text, "default", load) for name, load in texts.TEXTS.items()},
}


def is_named(data: str, root: Path) -> bool:
    """Whether `data` names a data set: a file or folder of that name goes first, unless it is the data set's own."""
    return data in DATASETS and (not Path(data).exists() or Path(data).resolve() == (root / data).resolve())
