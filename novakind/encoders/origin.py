"""Origin: what a published encoder expects of its items, and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Origin:
    """Travels into the model's card: enough to build the network again without its source, and to say what it was."""

    name: str
    """As the user gives it: efficientnet-lite0, minilm, hf:facebook/dinov2-small, timm:NAME."""
    kind: str
    """The kind of data that it reads: image or text."""
    dim: int
    """How many numbers it makes of an item."""
    size: int
    """Side of the pictures in pixels; of texts, the most tokens that it reads."""
    interpolation: str = ""
    """How pictures are scaled to that size: bilinear or bicubic."""
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    licence: str = ""
    """"" where its source does not say."""
    source: str = ""
    """The package, the hub's repository or the folder."""
    digest: str = ""
    """sha256 of the file of weights."""
    architecture: dict[str, Any] = field(default_factory=dict)
    """What builds the network, in plain JSON."""
