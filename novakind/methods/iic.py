"""IIC: UNO with two constraints (Li et al., 2023, "Modeling Inter-Class and Intra-Class Constraints in Novel Class
Discovery").

Labeled and unlabeled items share no class, so their predictions must lie far apart; two views of an item are of one
class, so theirs must agree. Both are measured by the symmetric Kullback-Leibler divergence, half of either direction.

The authors': both terms and their weights; agreement is divided by the number of novel classes, as in their code. Ours:
what is ours in UNO; and as labeled items have one view here, agreement is asked of unlabeled items only.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from novakind.methods.protocol import Batch
from novakind.methods.uno import UNO, Cosines
from novakind.objective.batch import mean


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
        return divergence(first, second) / first.shape[1]

    def distance(self, cosines: Cosines, batch: Batch) -> Float[Tensor, ""]:
        """How far labeled items are from unlabeled ones, over all classes and all pairs."""
        logp = torch.log_softmax(cosines / self.tau, 1)
        return divergence_of_pairs(logp[: len(batch.labels)], logp[len(batch.labels) :])


def divergence(first: Float[Tensor, "items classes"], second: Float[Tensor, "items classes"]) -> Float[Tensor, ""]:
    """Mean symmetric divergence of log-probabilities, row by row: KL(p, q) + KL(q, p) = sum (p - q)(ln p - ln q)."""
    return mean(((first.exp() - second.exp()) * (first - second)).sum(1)) / 2


def divergence_of_pairs(
    some: Float[Tensor, "some classes"], others: Float[Tensor, "others classes"]
) -> Float[Tensor, ""]:
    """Mean symmetric divergence of every row with every other row, from sums: no table of pairs is made."""
    p, q = some.exp(), others.exp()
    within = mean((p * some).sum(1)) + mean((q * others).sum(1))
    across = mean(p) @ mean(others) + mean(q) @ mean(some)
    return (within - across) / 2
