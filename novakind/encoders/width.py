"""How many numbers an encoder gives for an item: a module of a user's is asked, and refused where it does not fit."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from novakind.errors import UserError


def width(encoder: nn.Module, shape: tuple[int, ...]) -> int:
    """How many numbers the encoder gives for an item of this shape, found out with two blank ones."""
    outputs = blank_outputs(encoder, shape)
    dim = getattr(encoder, "dim", None)
    if not isinstance(outputs, Tensor):
        raise UserError(
            f"the encoder returns a {type(outputs).__name__}, but a tensor with one vector per item is needed: "
            "wrap it in a module that returns the vectors alone"
        )
    if outputs.ndim != 2 or len(outputs) != 2:
        raise UserError(
            f"the encoder gives outputs of shape {tuple(outputs.shape)} for two items, but one vector per item is "
            "needed: pool or flatten them"
        )
    if outputs.dtype != torch.float32:
        raise UserError(f"the encoder gives {outputs.dtype}, but torch.float32 is needed: convert it with .float()")
    if isinstance(dim, int) and dim != outputs.shape[1]:
        raise UserError(
            f"the encoder has dim = {dim} but gives {outputs.shape[1]} numbers per item: set its dim to "
            f"{outputs.shape[1]}, or leave it out"
        )
    return outputs.shape[1]


@torch.no_grad()
def blank_outputs(encoder: nn.Module, shape: tuple[int, ...]) -> Any:
    """What the encoder makes of two blank items, in eval mode; neither its modes nor its statistics change."""
    modes = {module: module.training for module in encoder.modules()}
    weight = next(encoder.parameters(), torch.empty(0))
    try:
        return encoder.eval()(torch.zeros(2, *shape, device=weight.device))
    except UserError:
        raise
    except Exception as error:  # whatever a module of the user's may raise
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(
            f"the encoder does not take a batch of items of shape {shape} ({reason}): give one that does"
        ) from error
    finally:
        for module, mode in modes.items():
            module.training = mode
