"""novakind finds the new kinds in half-labeled data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from novakind.app.discover import discover
    from novakind.estimator import Discoverer
    from novakind.runs.discovery import Discovery
    from novakind.runs.recut import recut

__version__ = "0.1.0"
__all__ = ["Discoverer", "Discovery", "__version__", "discover", "recut"]

PLACES = {
    "Discoverer": "novakind.estimator",
    "Discovery": "novakind.runs.discovery",
    "discover": "novakind.app.discover",
    "recut": "novakind.runs.recut",
}


def __getattr__(name: str) -> Any:
    """What is imported when asked for: `import novakind` stays quick."""
    if name in PLACES:
        return getattr(import_module(PLACES[name]), name)
    raise AttributeError(f"module novakind has no attribute {name}")
