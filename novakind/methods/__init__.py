"""The methods: each one file behind the protocol. Nothing else in the package asks which one runs."""

from __future__ import annotations

from novakind.config import Config
from novakind.data.sampler import check_batch
from novakind.errors import UserError
from novakind.methods.autonovel import AutoNovel
from novakind.methods.dtc import DTC
from novakind.methods.iic import IIC
from novakind.methods.kcl import KCL
from novakind.methods.kmeans import Kmeans
from novakind.methods.mcl import MCL
from novakind.methods.nev import NEV
from novakind.methods.oracle import Oracle
from novakind.methods.ours import Ours
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.simgcd import SimGCD
from novakind.methods.spacing import Spacing
from novakind.methods.supcon import SupCon
from novakind.methods.supervised import Supervised
from novakind.methods.uno import UNO, DirectUNO
from novakind.objective.prior import Prior

METHODS = {
    "ours": Ours,
    "supervised": Supervised,
    "uno": UNO,
    "uno-direct": DirectUNO,
    "iic": IIC,
    "simgcd": SimGCD,
    "nev": NEV,
    "supcon": SupCon,
    "kmeans": Kmeans,
    "kcl": KCL,
    "mcl": MCL,
    "dtc": DTC,
    "autonovel": AutoNovel,
    "spacing": Spacing,
    "oracle": Oracle,
}

__all__ = ["METHODS", "Batch", "Embedded", "Method", "Stage", "make_method"]


def make_method(config: Config, prior: Prior) -> Method:
    """The method that the settings name."""
    if config.method not in METHODS:
        raise UserError(f'--method "{config.method}" is unknown: choose from {", ".join(METHODS)}')
    method = METHODS[config.method](config, prior)
    if not method.in_parts:
        check_batch(config.batch, len(prior.novel), config.method)
    return method
