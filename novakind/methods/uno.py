"""UNO: one objective for known and novel classes (Fini et al., 2021, "A Unified Objective for Novel Class Discovery").

First cross-entropy on labeled items. Then unlabeled items get targets too: Sinkhorn's even assignment of one view is
what the other view must predict, in one softmax over known and novel classes together. Several heads sort the items
independently, and as many sort them into finer categories; the head with the lowest loss over the last epoch is kept.
The temperature is --tau, 0.1 by default as in the paper.

This is the corrected second version: the softmax is over classes. In the first one it ran over the batch by mistake.

The authors': the objective, Sinkhorn's eps and iterations, four heads and four finer ones; how much finer follows their
commands, 10 times for CIFAR-10 and 3 times where there are many classes (--overclustering). Ours: encoder, optimiser,
schedule and views are those of all methods here: labeled items have one view, not two, and there are no small crops.
Projections start from the embedding, not the encoder's output, and have 512 hidden units instead of 2048, for CPUs.
Prototypes are normalised where they are used, not after each step. With --prior auto the shares of Sinkhorn's
assignment are learnt, as BYOP has it (Yang et al., 2023): equal for a fifth of the stage, then the running mean of how
many items each category is the answer for, no share below a fifth of an equal one. The finer heads keep equal shares.

The first stage is part of the published recipe. It does harm where there are few known classes: features learnt from
five digits alone have lost what distinguishes the other five. So a fair comparison also runs `uno-direct`, without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.sinkhorn import sinkhorn
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import mean
from novakind.objective.heads import MLPHead
from novakind.objective.prior import Prior

Cosines = Float[Tensor, "batch classes"]
BEGIN, MEMORY, FLOOR = 0.2, 0.99, 0.2  # of learnt shares
FEW = 10  # novel classes; up to so many, the finer heads have ten categories for each, as published for CIFAR-10


class Rivals(nn.Module):
    """The heads that compete with `model.head`, and the loss in this epoch of each head that may be kept."""

    loss: Tensor
    shares: Tensor
    others: Any  # a list of modules loses their type
    finer: Any

    def __init__(self, others: list[MLPHead], finer: list[MLPHead], novel: int) -> None:
        super().__init__()
        self.others, self.finer = nn.ModuleList(others), nn.ModuleList(finer)
        self.register_buffer("loss", torch.zeros(1 + len(others)))
        self.register_buffer("shares", torch.full((1 + len(others), novel), 1 / novel))


class UNO(Method):
    """Two stages: supervised, then discovery with all heads."""

    supervised = 2 / 7  # share of the epochs: 200 of 700 in the paper
    heads = 4
    eps = 0.05
    iterations = 3

    def __init__(self, config: Config, prior: Prior) -> None:
        self.tau, self.known, self.novel = config.tau, prior.known, len(prior.novel)
        self.learns = config.prior == "auto"
        self.first = min(0.9, self.supervised * config.pretraining)
        self.overclustering = config.overclustering or (10 if self.novel <= FEW else 3)

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        first = round(self.first * epochs)
        both = Stage("supervised", first, unlabeled=False), Stage("discover", epochs - first)
        return tuple(stage for stage in both if stage.epochs)

    def begin(self, model: Model, stage: Stage) -> None:
        if not isinstance(model.head, MLPHead):
            model.replace_head("mlp")
            head_of(model).novel[: self.known] = False
        if stage.name == "discover":
            others = [self.new_head(model, self.novel) for _ in range(self.heads - 1)]
            finer = [self.new_head(model, self.overclustering * self.novel) for _ in range(self.heads)]
            model.extra["rivals"] = Rivals(others, finer, self.novel).to(model.device)

    def new_head(self, model: Model, novel: int) -> MLPHead:
        return MLPHead(model.card.dim, self.known + novel, self.tau)

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        if "rivals" in model.extra:
            rivals_of(model).loss.zero_()

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        embedding = model.embedding(batch.x)
        known = head_of(model).recognise(embedding)[:, : self.known]
        if "rivals" not in model.extra:
            return {"ce": losses.cross_entropy(torch.log_softmax(known / self.tau, 1), batch.labels)}
        rivals = rivals_of(model)
        joined, finer = (
            [torch.cat([known, head.sort(embedding)[:, self.known :]], 1) for head in heads]
            for heads in ([head_of(model), *rivals.others], rivals.finer)
        )
        shares = [self.learnt(each, row, batch) for each, row in zip(joined, rivals.shares, strict=True)]
        unified = torch.stack([self.unified(each, batch, row) for each, row in zip(joined, shares, strict=True)])
        over = torch.stack([self.unified(each, batch) for each in finer])
        rivals.loss += unified.detach()
        return {"unified": unified.mean() / 2, "overclustering": over.mean() / 2} | self.constraints(joined, batch)

    @torch.no_grad()
    def learnt(self, cosines: Cosines, shares: Float[Tensor, " novel"], batch: Batch) -> Float[Tensor, " novel"] | None:
        """Move the shares to how often each novel category is the answer; None stands for equal ones."""
        if not self.learns or batch.progress < BEGIN or not len(batch.items):
            return None
        answers = cosines[len(batch.labels) :, self.known :].argmax(1)
        counted = mean(torch.nn.functional.one_hot(answers, self.novel).to(shares.dtype))
        shares.mul_(MEMORY).add_(counted, alpha=1 - MEMORY)
        held = shares.clamp(min=FLOOR / self.novel)
        return held / held.sum()

    def unified(self, cosines: Cosines, batch: Batch, shares: Tensor | None = None) -> Float[Tensor, ""]:
        """Mean over the batch's items of the cross-entropy with their targets; two views count half each."""
        logp = torch.log_softmax(cosines / self.tau, 1)
        labeled, first, second = batch.split(-(self.targets(cosines, batch, shares) * logp).sum(1))
        return mean(torch.cat([labeled, (first + second) / 2]))

    @torch.no_grad()
    def targets(self, cosines: Cosines, batch: Batch, shares: Tensor | None = None) -> Cosines:
        """Labeled items: their class, nothing novel. Views: how Sinkhorn sorts the other view, nothing known."""
        targets = torch.zeros_like(cosines)
        labeled, first, second = batch.split(targets)  # parts of the same memory
        labeled.scatter_(1, batch.labels[:, None], 1.0)
        if len(first):
            _, *views = batch.split(cosines[:, self.known :])
            sorted_by = (sinkhorn(view, self.eps, self.iterations, shares) for view in views)
            second[:, self.known :], first[:, self.known :] = sorted_by
        return targets

    def constraints(self, joined: list[Cosines], batch: Batch) -> dict[str, Tensor]:
        """Further terms on what the heads say; none here."""
        return {}

    def adopt(self, average: Model, model: Model) -> None:
        if "rivals" in model.extra:
            rivals_of(average).loss.copy_(rivals_of(model).loss)

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        head, rivals = head_of(model), rivals_of(model)
        best = [head, *rivals.others][int(rivals.loss.argmin())]
        head.projection.load_state_dict(best.projection.state_dict())
        head.prototypes.load_state_dict(best.prototypes.state_dict())


class DirectUNO(UNO):
    """The same objective from the first epoch on."""

    supervised = 0.0


def head_of(model: Model) -> MLPHead:
    assert isinstance(model.head, MLPHead)
    return model.head


def rivals_of(model: Model) -> Rivals:
    rivals = model.extra["rivals"]
    assert isinstance(rivals, Rivals)
    return rivals
