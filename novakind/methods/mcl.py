"""MCL, the meta classification likelihood (Hsu, Lv, Schlosser, Odom and Kira, "Multi-class classification without
multi-class labels", ICLR 2019).

As KCL, with a likelihood in place of the hinge: s = p_i . p_j is the probability that two independent draws from the
items' distributions over the novel classes agree; the loss is -log s if the items are judged similar and -log(1 - s) if
not. There is no margin to choose, and equal but undecided predictions are no solution, as s is 1 for one-hot ones only.

Hyper-parameters: EPS 1e-7 inside the logarithms; SHARE 0.5 of the epochs for the similarity network, PAIRED 128,
PSEUDO 0.05 and RAMP 0.25 (see similarity.py).

The authors': the loss and the similarity network. Ours: as in KCL; nor has MCL a task-agnostic answer.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from novakind.methods.similarity import PairClustering

LogProbs = Float[Tensor, "batch novel"]

EPS = 1e-7


class MCL(PairClustering):
    """Likelihood of the verdicts on pairs."""

    def pair_loss(self, first: LogProbs, second: LogProbs, similar: Bool[Tensor, "batch batch"]) -> Float[Tensor, ""]:
        return pair_likelihood(first, second, similar)


def pair_likelihood(first: LogProbs, second: LogProbs, similar: Bool[Tensor, "batch batch"]) -> Float[Tensor, ""]:
    """Mean over all pairs of the binary cross-entropy between "similar" and the chance that two draws agree."""
    agree = first.exp() @ second.exp().T
    differ = (1 - agree).clamp(min=0)  # rounding may leave a sum of products just above 1
    return -torch.where(similar, agree + EPS, differ + EPS).log().mean()
