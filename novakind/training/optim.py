"""Optimisers and the schedule of the learning rate."""

from __future__ import annotations

import math
from collections import defaultdict
from inspect import unwrap

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.config import Optim


def lr_factor(optim: Optim, progress: float) -> float:
    """Share of the highest learning rate after `progress` (0 to 1) of the training."""
    if progress < optim.warmup:
        return progress / optim.warmup
    left = (1 - progress) / (1 - optim.warmup) if optim.warmup < 1 else 0.0
    if optim.schedule == "linear":
        return left
    if optim.schedule == "cosine":
        return 0.5 - 0.5 * math.cos(math.pi * left)
    return 1.0


def set_lr(optimizer: torch.optim.Optimizer, optim: Optim, progress: float, scale: float = 1.0) -> float:
    """Give every parameter its learning rate at this point of the training."""
    lr = scale * optim.lr * lr_factor(optim, progress)
    for group in optimizer.param_groups:
        group["lr"] = lr * group["scale"]
    return lr


def make_optimizer(model: nn.Module, optim: Optim) -> torch.optim.Optimizer:
    """Filters and matrices are decayed; biases and normalisation are not, nor are points in space, such as centres. The
    encoder may learn more slowly."""
    groups = []
    points = {id(w) for m in model.modules() if getattr(m, "points", False) for w in m.parameters(recurse=False)}
    for inside in (True, False) if optim.encoder_lr != 1 else (None,):
        trained = [
            weight
            for name, weight in model.named_parameters()
            if weight.requires_grad and inside in (None, name.startswith("encoder."))
        ]
        scale = float(optim.encoder_lr) if inside else 1.0
        matrices = [weight for weight in trained if weight.ndim > 1 and id(weight) not in points]
        others = [weight for weight in trained if weight.ndim <= 1 or id(weight) in points]
        groups += [
            {"params": matrices, "weight_decay": optim.weight_decay, "scale": scale},
            {"params": others, "weight_decay": 0.0, "scale": scale, "plain": True},
        ]
    if optim.name == "adamw":
        return torch.optim.AdamW(groups, lr=optim.lr, betas=(float(optim.momentum), 0.999))
    if optim.name == "muon":
        return Muon(groups, optim.lr, optim.momentum, optim.nesterov)
    return torch.optim.SGD(groups, lr=optim.lr, momentum=optim.momentum, nesterov=optim.nesterov and optim.momentum > 0)


class Muon(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal before each step: all directions move equally far (Jordan, 2024).

    Filters count as matrices of (out, in * height * width). Each matrix moves by lr, times the square root of rows /
    columns where above 1, whatever its gradient's size; vectors take plain momentum steps at a tenth of the rate.
    """

    # torch shields these from its compiler, and imports it for that: more than a second, and nothing is compiled here
    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)

    def __init__(self, groups: list[dict], lr: float, momentum: float, nesterov: bool) -> None:
        super().__init__(
            groups, {"lr": lr, "momentum": momentum, "nesterov": nesterov, "weight_decay": 0.0, "plain": False}
        )

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            lr, kept = group["lr"], 1 - group["lr"] * group["weight_decay"]
            alike: defaultdict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum"] = torch.zeros_like(weight)
                momentum = state["momentum"]
                torch.add(weight.grad, momentum, alpha=group["momentum"], out=momentum)
                change = weight.grad.add(momentum, alpha=group["momentum"]) if group["nesterov"] else momentum
                if (
                    weight.ndim > 1 and not group["plain"]
                ):  # as filters lie in memory: with channels last, no copy is made
                    alike[weight.shape].append((weight.movedim(1, -1), change.movedim(1, -1)))
                else:
                    weight.mul_(kept).add_(change, alpha=-0.1 * lr)
            for pairs in alike.values():
                several = [change.reshape(1, len(change), -1) for _, change in pairs]
                flat = torch.cat(several) if len(several) > 1 else several[0]
                size = math.sqrt(max(1.0, flat.shape[1] / flat.shape[2]))
                for (weight, _), move in zip(pairs, orthogonalise(flat, -lr * size), strict=True):
                    torch.add(move.view_as(weight), weight, alpha=kept, out=weight)


def orthogonalise(
    matrices: Float[Tensor, "n rows columns"], scale: float = 1.0, steps: int = 5
) -> Float[Tensor, "n rows columns"]:
    """Roughly U V^T of U S V^T, times `scale`, by a quintic Newton-Schulz iteration: it ends at singular values between
    about 0.7 and 1.2.

    Each round multiplies a matrix by a polynomial of its Gram matrix, from the left. The polynomials commute, so the
    rounds are spent on the small Gram matrix, and the wide matrix is multiplied once, by the product of them.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if tall else matrices
    gram = x @ x.mT
    norm = gram.diagonal(dim1=1, dim2=2).sum(1)[:, None, None].sqrt() + 1e-7
    gram = gram / norm.square()  # the rounds start from x / norm
    factor = polynomial(gram)
    whole = factor * (scale / norm)
    for _ in range(steps - 1):
        gram = factor @ gram @ factor
        factor = polynomial(gram)
        whole = factor @ whole
    x = whole @ x
    return x.mT if tall else x


def polynomial(gram: Float[Tensor, "n rows rows"]) -> Float[Tensor, "n rows rows"]:
    """a + b G + c G^2, with the coefficients of Jordan that drive small singular values up fastest."""
    factor = torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
    factor.diagonal(dim1=1, dim2=2).add_(3.4445)
    return factor
