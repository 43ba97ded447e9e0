"""How a training runs the encoder: in bfloat16 where the device has it, compiled where that is asked for.

Whatever comes after the encoder, and all predictions, are in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from novakind.config import Config
from novakind.errors import UserError
from novakind.methods import Batch
from novakind.model import Model

Loss = Callable[[Batch], dict[str, Tensor]]
Run = Callable[[Tensor], Tensor]


def has_bf16(device: torch.device) -> bool:
    """Whether it can be asked to multiply in bfloat16."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return device.type in ("cpu", "mps")


def is_narrow(asked: str, device: torch.device) -> bool:
    """Whether the encoder runs in bfloat16; where it is not faster, only if it is asked for."""
    if asked == "bf16" and not has_bf16(device):
        raise UserError(f"--precision bf16 is asked for, but this {device.type} has none: give --precision float32")
    return asked == "bf16" or (asked == "auto" and device.type == "cuda" and has_bf16(device))


def runner(model: Model, config: Config) -> Run:
    """What the encoder of the model gives, as these settings want it."""
    run: Any = compiled(model.encoder) if config.compile else model.encoder
    return narrowed(run) if is_narrow(config.precision, model.device) else run


def narrowed(run: Run) -> Run:
    def cast(x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, torch.bfloat16):
            return run(x).float()

    return cast


def compiled(encoder: Any) -> Run:
    """It is compiled when it is first used, for each size of a batch; that may fail."""
    from torch._dynamo.exc import TorchDynamoException  # here, since its import takes long

    fast = torch.compile(encoder)

    def run(x: Tensor) -> Tensor:
        try:
            return fast(x)
        except TorchDynamoException as error:
            reason = " ".join(str(error).split())[:120]
            raise UserError(f"the encoder cannot be compiled ({reason}): leave --compile out") from None

    return run


@contextmanager
def standing_in(model: Model, run: Run) -> Iterator[None]:
    """For a while the model asks `run` in place of its encoder, which stays where weights are looked up."""
    model.__dict__["encoder"] = run
    try:
        yield
    finally:
        del model.__dict__["encoder"]


def through(loss: Loss, model: Model, run: Run) -> Loss:
    """The same loss, of what `run` gives."""
    if run is model.encoder:
        return loss

    def of(batch: Batch) -> dict[str, Tensor]:
        with standing_in(model, run):
            return loss(batch)

    return of
