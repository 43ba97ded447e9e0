"""The methods: each one file behind the protocol. Nothing else in the package asks which one runs."""

from __future__ import annotations

from novakind.config import Config
from novakind.errors import UserError
from novakind.methods.ours import Ours
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.supervised import Supervised
from novakind.prior import Prior

METHODS = {"ours": Ours, "supervised": Supervised}

__all__ = ["METHODS", "Batch", "Embedded", "Method", "Stage", "make_method"]


def make_method(config: Config, prior: Prior) -> Method:
    """The method that the settings name."""
    if config.method not in METHODS:
        raise UserError(f'--method "{config.method}" is unknown: choose from {", ".join(METHODS)}')
    return METHODS[config.method](config, prior)
