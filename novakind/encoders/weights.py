"""Published weights from a .safetensors file into an encoder."""

from __future__ import annotations

import os
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from novakind.errors import UserError

CLASSIFIERS = ("fc.", "classifier.", "head.", "blocks.5.proj.", "blocks.6.proj.")
STEM = ("conv1.", "bn1.")


def load_weights(encoder: nn.Module, path: str | os.PathLike[str]) -> list[str]:
    """Copy every tensor of the file into the encoder, or raise UserError and change nothing.

    Names are torchvision's (timm's, for a timm encoder). Left out, and named in the list that is returned: a
    classifier, and a 7x7 stem with its BatchNorm where the encoder has a 3x3 one. `num_batches_tracked` may be missing.
    Any other tensor that is missing, left over or of another shape means another network, and is an error.
    """
    encoder = getattr(encoder, "wrapped", encoder)
    ours, theirs, left_out = encoder.state_dict(), read(path), []

    classifier = [key for key in theirs if key.startswith(CLASSIFIERS) and key not in ours]
    if classifier:
        left_out.append(f"{', '.join(classifier)}: a classifier, which an encoder does not have")
    stem = []
    if is_large_stem(theirs.get("conv1.weight")) and is_small_stem(ours.get("conv1.weight")):
        stem = [key for key in ours if key.startswith(STEM)]
        left_out.append("conv1, bn1: a 7x7 stem, where the encoder has a 3x3 one and learns it from scratch")

    for key, tensor in ours.items():
        if key in stem or (key.endswith("num_batches_tracked") and key not in theirs):
            continue
        if key not in theirs:
            raise UserError(f"{path}: tensor {key} is missing; the encoder needs it: give weights of the same network.")
        if theirs[key].shape != tensor.shape:
            raise UserError(
                f"{path}: tensor {key} is {size(theirs[key])} and the encoder's is {size(tensor)}; shapes must agree: "
                "give weights of the same network."
            )
    for key in theirs:
        if key not in ours and key not in classifier:
            raise UserError(
                f"{path}: tensor {key} has no place in the encoder; only a classifier may be left over: give weights "
                "of the same network, with torchvision's names."
            )

    encoder.load_state_dict({key: theirs[key] for key in ours if key in theirs and key not in stem}, strict=False)
    return left_out


def read(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """All tensors of a .safetensors file, or UserError."""
    if not Path(path).is_file():
        raise UserError(f"{path}: there is no such file; weights come from a .safetensors file: check the path.")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(
            f"{path}: the file cannot be read as safetensors ({error}); weights come in that format only: convert them "
            "with safetensors.torch.save_file."
        ) from error


def is_large_stem(kernel: Tensor | None) -> bool:
    return kernel is not None and kernel.shape[2:] == (7, 7)


def is_small_stem(kernel: Tensor | None) -> bool:
    return kernel is not None and kernel.shape[2:] == (3, 3)


def size(tensor: Tensor) -> str:
    """A shape as people write it: 64x3x7x7."""
    return "x".join(map(str, tensor.shape)) or "a scalar"
