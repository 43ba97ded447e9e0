"""Networks of timm, with its published weights where it has some, which it downloads from its own places."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.encoders.origin import Origin
from novakind.encoders.transformer import first_line, parts
from novakind.errors import UserError

PREFIX = "timm:"


class Timm(nn.Module):
    """A network of timm without its classifier. `dim` is measured on one blank picture, which also proves the size."""

    def __init__(self, name: str, shape: tuple[int, ...], pretrained: bool = False) -> None:
        super().__init__()
        self.wrapped = created(name, pretrained)
        try:
            with torch.no_grad():
                self.dim = self.wrapped.eval()(torch.zeros(1, *shape)).shape[1]
        except (AssertionError, RuntimeError) as error:
            raise UserError(
                f"encoder timm:{name} does not take images of shape {shape} ({error}): resize them or choose another."
            ) from error
        self.wrapped.train()

    def forward(self, images: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch {self.dim}"]:
        return self.wrapped(images)

    def parts(self) -> list[nn.Module]:
        """From the first layer to the last, for those who train only some of them."""
        return parts(self.wrapped)


def library(name: str) -> Any:
    """timm, or the sentence that says how to get it."""
    try:
        import timm  # pyright: ignore[reportMissingImports]
    except (ImportError, RuntimeError) as error:  # RuntimeError: a torchvision that does not fit torch
        raise UserError(
            f"encoder timm:{name} needs timm, and that needs torchvision ({first_line(error)}): "
            "pip install 'novakind[timm]'."
        ) from error
    return timm


def created(name: str, pretrained: bool) -> nn.Module:
    """The network of that name."""
    timm = library(name)
    try:
        return timm.create_model(name, pretrained=pretrained, num_classes=0)
    except Exception as error:  # the network's, the hub's and timm's own
        raise UserError(
            f"encoder timm:{name} cannot be {'loaded' if pretrained else 'built'} ({first_line(error)}): choose a name "
            "from timm.list_models()" + (", or download it on a machine with network." if pretrained else ".")
        ) from error


def has_weights(name: str) -> bool:
    """Whether timm has published weights of a network; where timm is missing they are asked for, and that is said."""
    try:
        return bool(library(name).is_model_pretrained(name))
    except UserError:
        return True


def origin(full: str) -> Origin:
    """What the network expects of its pictures, and where its weights come from; downloads them where that is due."""
    name = full.removeprefix(PREFIX)
    body = created(name, True)
    told: dict[str, Any] = dict(getattr(body, "pretrained_cfg", None) or {})
    size = int(told.get("input_size", (3, 224, 224))[-1])
    summary = hashlib.sha256()
    for key, tensor in body.state_dict().items():
        summary.update(key.encode() + tensor.contiguous().cpu().numpy().tobytes())
    return Origin(
        name=full,
        kind="image",
        dim=int(getattr(body, "num_features", 0)) or Timm(name, (3, size, size)).dim,
        size=size,
        interpolation="bilinear" if told.get("interpolation") == "bilinear" else "bicubic",
        mean=tuple(told.get("mean", (0.485, 0.456, 0.406))),
        std=tuple(told.get("std", (0.229, 0.224, 0.225))),
        licence=str(told.get("license") or ""),
        source=str(told.get("hf_hub_id") or told.get("url") or "timm"),
        digest=summary.hexdigest(),
        architecture={"timm": name},
    )


def network(origin: Origin) -> Timm:
    """The network with its published weights."""
    return made(origin, True)


def blank(origin: Origin) -> Timm:
    """The same network without weights: those of a model file make it equal."""
    return made(origin, False)


def made(origin: Origin, pretrained: bool) -> Timm:
    with torch.random.fork_rng(devices=[]):  # numbers that are overwritten must not change those of a run
        return Timm(str(origin.architecture["timm"]), (3, origin.size, origin.size), pretrained).eval()
