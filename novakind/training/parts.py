"""A step in parts: more items than fit into memory at once, with the gradient of all of them.

Losses on the statistics of a batch are not sums over items, so gradients of small batches do not add up to that of a
large one. Here the encoder looks at a step part by part and keeps nothing but its vectors; the loss is that of all of
them; on the way back each part is looked at again, with the same random views. So the gradient is exact, at the price
of a second look. Batch normalisation inside the encoder sees the items of a part, not those of the step: networks that
have it are another function in parts than as a whole, and the gradient is exactly that function's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from novakind.methods import Batch
from novakind.model import Model
from novakind.training.running import Loss, Run, standing_in

Look = Callable[[Tensor, float], Tensor]


def in_parts(loss: Loss, model: Model, run: Run, look: Look, parts: int) -> Loss:
    """The same loss for batches whose `x` are the numbers of items: `look(numbers, progress)` gives their views, and
    `run` what the encoder makes of them."""

    def of(batch: Batch) -> dict[str, Tensor]:
        there = torch.empty(0, device=model.device)
        see = partial(_see, model.encoder, run, lambda numbers: look(numbers, batch.progress), parts, there)
        with standing_in(model, see):
            return loss(batch)

    return of


def _see(
    encoder: Any, run: Run, look: Callable[[Tensor], Tensor], parts: int, there: Tensor, numbers: Tensor
) -> Tensor:
    """The vectors of all items; each part has a share of every kind of them, as the whole has. What is `there` tells
    torch on which device randomness has to be the same at the second look."""
    places = [torch.arange(start, len(numbers), parts) for start in range(min(parts, len(numbers)))]
    seen = [
        checkpoint(
            lambda some, _: run(look(some)),
            numbers[place],
            there,
            use_reentrant=False,
            preserve_rng_state=True,
            context_fn=lambda: (nullcontext(), _unmoved(encoder)),
        )
        for place in places
    ]
    return torch.cat(seen)[torch.cat(places).argsort()]


@contextmanager
def _unmoved(encoder: Any) -> Iterator[None]:
    """The second look leaves running averages as the first one left them."""
    before = [buffer.clone() for buffer in encoder.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(encoder.buffers(), before, strict=True):
            buffer.data.copy_(value)  # not a change that gradients have to know of
