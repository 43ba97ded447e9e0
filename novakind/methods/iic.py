"""IIC: UNO with two constraints (Li et al., 2023, "Modeling Inter-Class and Intra-Class Constraints in Novel Class
Discovery").

Labeled and unlabeled items share no class, so their predictions must lie far apart; two views of an item are of one
class, so theirs must agree. Both are measured by the symmetric Kullback-Leibler divergence, half of either direction.

Departures: those of UNO; and as labeled items have one view here, agreement is asked of unlabeled items only. It is a
mean over items; the authors' code also divides it by the number of classes.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from novakind.methods.protocol import Batch
from novakind.methods.uno import UNO, Cosines


class IIC(UNO):
    """UNO's stages and loss, and the constraints averaged over its heads."""

    inter = 0.05
    intra = 0.01

    def constraints(self, joined: list[Cosines], batch: Batch) -> dict[str, Tensor]:
        if not len(batch.items):
            return {}
        agreement = torch.stack([self.agreement(cosines, batch) for cosines in joined]).mean()
        if not len(batch.labels):  # steps of one kind of items at a time
            return {"intra": self.intra * agreement}
        distance = torch.stack([self.distance(cosines, batch) for cosines in joined]).mean()
        return {"intra": self.intra * agreement, "inter": -self.inter * distance}

    def agreement(self, cosines: Cosines, batch: Batch) -> Float[Tensor, ""]:
        """How far two views differ among the novel classes alone."""
        _, first, second = batch.split(torch.log_softmax(cosines[:, self.known :] / self.tau, 1))
        return divergence(first, second)

    def distance(self, cosines: Cosines, batch: Batch) -> Float[Tensor, ""]:
        """How far labeled items are from unlabeled ones, over all classes and all pairs."""
        logp = torch.log_softmax(cosines / self.tau, 1)
        return divergence_of_pairs(logp[: len(batch.labels)], logp[len(batch.labels) :])


def divergence(first: Float[Tensor, "items classes"], second: Float[Tensor, "items classes"]) -> Float[Tensor, ""]:
    """Mean symmetric divergence of log-probabilities, row by row: KL(p, q) + KL(q, p) = sum (p - q)(ln p - ln q)."""
    return ((first.exp() - second.exp()) * (first - second)).sum(1).mean() / 2


def divergence_of_pairs(
    some: Float[Tensor, "some classes"], others: Float[Tensor, "others classes"]
) -> Float[Tensor, ""]:
    """Mean symmetric divergence of every row with every other row, from sums: no table of pairs is made."""
    p, q = some.exp(), others.exp()
    within = (p * some).sum(1).mean() + (q * others).sum(1).mean()
    across = p.mean(0) @ others.mean(0) + q.mean(0) @ some.mean(0)
    return (within - across) / 2
