"""Sinkhorn-Knopp: soft assignment of items to clusters of equal or given size (Cuturi, 2013; as targets, Caron et al.,
2020)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from novakind.objective import batch


@torch.no_grad()
def sinkhorn(
    scores: Float[Tensor, "items clusters"],
    eps: float = 0.05,
    iterations: int = 3,
    shares: Float[Tensor, " clusters"] | None = None,
) -> Float[Tensor, "items clusters"]:
    """The assignment nearest to exp(scores / eps) in which clusters share all items evenly, or as `shares` say.

    Each row sums to 1.

    Fixed shares are what keeps one cluster from taking everything. After few iterations they are near, not exact. On
    logarithms, so that a small eps neither overflows nor leaves an item without any cluster.
    """
    log_q = scores / eps
    for _ in range(iterations):
        log_q = log_q - batch.log_total(log_q)  # over all items, also those of other processes
        log_q = log_q if shares is None else log_q + shares.log()
        log_q = torch.log_softmax(log_q, 1)
    return log_q.exp()
