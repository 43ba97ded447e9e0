"""KCL, the constrained clustering loss (Hsu, Lv and Kira, "Learning to cluster in order to transfer across domains and
tasks", ICLR 2018).

A network that has learnt "same class or not" from labeled pairs judges the unlabeled ones (see similarity.py). Similar
items should have the same distribution p over the novel classes, with d = KL(p_j, p_i) as the loss and p_j held fixed;
dissimilar ones should differ by a margin: max(0, 2 - d). The two orders of a pair are averaged.

Hyper-parameters: MARGIN 2; SHARE 0.5 of the epochs for the similarity network, PAIRED 128, PSEUDO 0.05 and RAMP 0.25.

The authors': the loss, the margin, the similarity network. Ours: pairs are of a first and a second view, where the
paper has one view; views, encoder and optimiser are those that all methods here share. The paper clusters unlabeled
items alone, so it has no task-agnostic answer: what joins known classes and novel outputs here (see similarity.py) is
ours, lets `discover` sort all items, and is not scored in a comparison.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from novakind.methods.similarity import PairClustering

LogProbs = Float[Tensor, "batch novel"]
Divergences = Float[Tensor, "batch batch"]


class KCL(PairClustering):
    """Hinge loss on the divergence of pairs."""

    MARGIN = 2.0

    def pair_loss(self, first: LogProbs, second: LogProbs, similar: Bool[Tensor, "batch batch"]) -> Float[Tensor, ""]:
        forth, back = divergences(second.detach(), first), divergences(first.detach(), second).T
        return torch.stack([hinge(d, similar, self.MARGIN) for d in (forth, back)]).mean()


def divergences(fixed: LogProbs, moved: LogProbs) -> Divergences:
    """KL(fixed_j, moved_i) in row i and column j."""
    probs = fixed.exp()
    return (probs * fixed).sum(1) - moved @ probs.T


def hinge(d: Divergences, similar: Bool[Tensor, "batch batch"], margin: float) -> Divergences:
    """d where items are similar, the distance from d to the margin where they are not."""
    return torch.where(similar, d, (margin - d).clamp(min=0))
