"""NEV-NCD: negative learning, entropy and variance (Hasan et al., 2023, "NEV-NCD: Negative Learning, Entropy, and
Variance regularization based novel action categories discovery"), the predecessor of our method.

Labeled items learn their class. Unlabeled ones learn which classes they are not: the known ones. Among the novel
classes each must decide for one, while every class must vary over the batch as much as one that takes its fair share.
Two views of an item must have similar embeddings. All in one stage.

The authors': the terms, and a temperature of 0.005 in the softmax whose unbiased variance is asked for. Ours: encoder,
head, optimiser and views are those of all methods here; the published experiments are on videos. The weight of entropy
is ours (experiments/LOG.md says how): at 1, it wins before the classes have parted, and all items end in one.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from novakind.config import Config
from novakind.methods.protocol import Batch, Method, Stage
from novakind.methods.supcon import contrast
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import count, gathered, mean, variance
from novakind.objective.losses import LogProbs
from novakind.objective.prior import Prior


class NEV(Method):
    """One stage; the head that the settings name."""

    negative = 1.0
    entropy = 0.1
    variance = 1.0
    views = 1.0
    temperature = 0.1  # of the contrast between views
    hard = 0.005  # temperature of the softmax whose variance is asked for

    def __init__(self, config: Config, prior: Prior) -> None:
        self.known = prior.known

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("discover", epochs),)

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        embedding = model.embedding(batch.x)
        logp = model.head(embedding)
        labeled, unlabeled = logp[: len(batch.labels)], logp[len(batch.labels) :]
        terms: dict[str, Tensor] = {}
        if len(labeled):
            terms["ce"] = losses.cross_entropy(labeled, batch.labels)
        if len(unlabeled):
            views = contrast(gathered(embedding[len(batch.labels) :]), gathered(twins(batch)), self.temperature)
            terms["negative"] = self.negative * negative_learning(unlabeled, self.known)
            terms["entropy"] = self.entropy * losses.novel_entropy(unlabeled, self.known)
            terms["variance"] = self.variance * lacking_variance(unlabeled, self.known, self.hard)
            terms["views"] = self.views * views
        return terms


def twins(batch: Batch) -> Tensor:
    """One number for each view, the same for the two views of an item."""
    return batch.items.repeat(2)


def negative_learning(logp: LogProbs, known: int) -> Float[Tensor, ""]:
    """Minus the sum over known classes of ln(1 - p), averaged over items.

    1 - p is summed from the other classes, so that an item whose confidence in a known class is 1 still learns to leave
    it.
    """
    left_out = torch.eye(logp.shape[1], dtype=torch.bool, device=logp.device)[:known]
    others = logp[:, None].masked_fill(left_out, -torch.inf)
    return -mean(torch.logsumexp(others, 2).sum(1))


def lacking_variance(logp: LogProbs, known: int, temperature: float) -> Float[Tensor, ""]:
    """How far each novel class's unbiased variance over the batch, among novel classes alone, is below (U - 1) / U^2.

    That is the variance of one-hot predictions in equal shares: neither can all items get the same undecided answer,
    nor can one class take all of them.
    """
    probs = torch.softmax(logp[:, known:] / temperature, 1)
    novel = probs.shape[1]
    unbiased = variance(probs) * (items := count(probs)) / max(1, items - 1)
    return torch.relu((novel - 1) / novel**2 - unbiased).mean()
