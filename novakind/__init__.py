"""novakind finds the new kinds in half-labeled data."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from novakind.estimator import Discoverer

__version__ = "0.1.0"
__all__ = ["Discoverer", "__version__"]


def __getattr__(name: str) -> type:
    """`novakind.Discoverer`, imported when asked for: `import novakind` stays quick."""
    if name == "Discoverer":
        from novakind.estimator import Discoverer

        return Discoverer
    raise AttributeError(f"module novakind has no attribute {name}")
