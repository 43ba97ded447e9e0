"""The items of a batch, wherever they lie: sums over them, exact and with exact gradients.

In one process these are plain sums and means. Under torchrun every process holds some of the items, and a sum is over
all of them: each process gets the same sum, so each computes the same loss.

Why the gradients are exact: a sum that W processes share is used by W equal losses, so its gradient is that of W
losses, added up (`Shared.backward`); DistributedDataParallel takes the mean over the processes of what each adds to a
weight, which divides by W again. A plain all_reduce gives the right loss and a gradient that is W times too small.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float, Shaped
from torch import Tensor

Rows = Float[Tensor, "items *features"]
Items = Shaped[Tensor, "items *features"]


def processes() -> int:
    """How many processes hold the batch."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class Reduced(torch.autograd.Function):
    """What the processes have, as one: its sum, whose gradient is the sum of theirs, or the largest.

    Several heads go through it together: where they are a further axis of `torch.vmap`, inside which no message can be
    sent, one message is sent for all of them.
    """

    @staticmethod
    def forward(tensor: Tensor, how: Any) -> Tensor:
        return all_reduced(tensor, how)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        """Nothing of the forward pass is needed."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return all_reduced(gradients[0], dist.ReduceOp.SUM), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any) -> tuple[Tensor, int | None]:
        return reduced(*args), in_dims[0]


def all_reduced(tensor: Tensor, how: Any) -> Tensor:
    """The same in every process; the tensor itself stays as it is."""
    copy = tensor.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(copy, how)
    return copy


def reduced(tensor: Tensor, how: Any) -> Tensor:
    found: Any = Reduced.apply(tensor, how)
    return found


def shared(tensor: Tensor) -> Tensor:
    """The sum over the processes, which gradients pass."""
    return reduced(tensor, dist.ReduceOp.SUM)


def total(rows: Rows) -> Float[Tensor, "*features"]:
    """The sum over all items."""
    return rows.sum(0) if processes() == 1 else shared(rows.sum(0))


def count(rows: Items) -> int:
    """How many items there are."""
    if processes() == 1:
        return len(rows)
    return int(shared(torch.tensor(float(len(rows)), dtype=torch.float64, device=rows.device)))


def mean(rows: Rows) -> Float[Tensor, "*features"]:
    """The mean over all items; their number travels with their sum."""
    if processes() == 1:
        return rows.mean(0)
    here = rows.sum(0)
    sums = shared(torch.cat([here.reshape(-1), here.new_tensor([len(rows)])]))
    return (sums[:-1] / sums[-1]).reshape(here.shape)


def covariance(rows: Float[Tensor, "items features"]) -> Float[Tensor, "features features"]:
    """E[x x^T] - E[x] E[x]^T, from the number of items, their sum and the sum of their products: one message."""
    if processes() == 1:
        centred = rows - rows.mean(0)
        return centred.T @ centred / len(rows)
    beside = torch.cat([rows, torch.ones_like(rows[:, :1])], 1)
    sums = shared(beside.T @ beside)
    products, average = sums[:-1, :-1] / sums[-1, -1], sums[-1, :-1] / sums[-1, -1]
    return products - torch.outer(average, average)


def variance(rows: Rows) -> Float[Tensor, "*features"]:
    """The mean square of the distance from the mean."""
    return rows.var(0, correction=0) if processes() == 1 else mean((rows - mean(rows)).square())


def norm(rows: Float[Tensor, "items features"]) -> Float[Tensor, ""]:
    """The Frobenius norm of all rows; where they are zero, so is its gradient."""
    if processes() == 1:
        return torch.linalg.matrix_norm(rows)
    square = total(rows.square()).sum()
    return torch.where(square > 0, square, torch.ones_like(square)).sqrt() * (square > 0)


def log_total(logs: Float[Tensor, "items classes"]) -> Float[Tensor, " classes"]:
    """The logarithm of the sum of exp(logs) over all items; the largest is taken out first, so nothing overflows."""
    if processes() == 1:
        return torch.logsumexp(logs, 0)
    largest = reduced(logs.detach().amax(0), dist.ReduceOp.MAX)
    return total((logs - largest).exp()).log() + largest


def log_mean(logs: Float[Tensor, "items classes"]) -> Float[Tensor, " classes"]:
    """The logarithm of the mean of exp(logs) over all items."""
    return log_total(logs) - math.log(count(logs))


def gathered(rows: Items) -> Tensor:
    """All items, those of the first process first; for losses of pairs, which no sum of single items gives.

    Each process puts its rows into a table of zeros, and the tables are added up: gradients pass as through any sum.
    """
    if processes() == 1:
        return rows
    sizes = torch.zeros(processes(), dtype=torch.int64, device=rows.device)
    sizes[dist.get_rank()] = len(rows)
    sizes = shared(sizes).tolist()
    before = rows.new_zeros(sum(sizes[: dist.get_rank()]), *rows.shape[1:])
    after = rows.new_zeros(sum(sizes[dist.get_rank() + 1 :]), *rows.shape[1:])
    return shared(torch.cat([before, rows, after]))
