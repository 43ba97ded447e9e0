"""SimGCD: a parametric classifier over known and novel classes (Wen et al., 2023, "Parametric Classification for
Generalized Category Discovery: A Baseline Study").

One classifier over all K classes by cosine to learnt directions. Every item, labeled or not, teaches itself: the answer
for one view, sharpened and held fixed, is what the other view must say. That alone would end in one class, so the mean
answer of the batch must have a high entropy. Labeled items learn their class too. Beside it two contrasts behind a
projection: views of an item belong together, and so do labeled items of one class. Any unlabeled item may be of a known
class: nothing forbids it, and no shares are given.

The authors': terms, the weight 0.35 of what has labels, temperatures (0.1; targets from 0.07 to 0.04 over the first 30
of 200 epochs; contrasts 1 and 0.07), weight 1 of the mean's entropy, as for CIFAR, two views of every item. Ours:
encoder, embedding, optimiser, schedule and views are those of all methods here, and networks learn from scratch where
theirs has seen ImageNet; batches hold labeled and unlabeled items as ours do; the projection has 512 hidden units
instead of 2048 and starts from the embedding.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.protocol import Batch, Method, Stage
from novakind.methods.supcon import contrast
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import gathered
from novakind.objective.losses import LogProbs
from novakind.objective.prior import Prior


class SimGCD(Method):
    """One stage; the head of learnt directions over all classes."""

    together = False  # not shown yet
    labels = 0.35  # weight of what has labels; the rest is that of what all items have
    mean_entropy = 1.0
    first, last, warm = 0.07, 0.04, 0.15  # temperature of the targets, and the share of the training in between
    unsupervised, supervised = 1.0, 0.07  # temperatures of the contrasts
    hidden, projected = 512, 256

    def __init__(self, config: Config, prior: Prior) -> None:
        self.tau = config.tau

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        return (Stage("discover", epochs, labeled_views=2),)

    def begin(self, model: Model, stage: Stage) -> None:
        model.replace_head("cosine")
        layers = [nn.Linear(model.card.dim, self.hidden), nn.GELU(), nn.Linear(self.hidden, self.hidden), nn.GELU()]
        model.extra["projection"] = nn.Sequential(*layers, nn.Linear(self.hidden, self.projected)).to(model.device)

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        embedding = model.embedding(batch.x)
        logp, projected = model.head(embedding), model.extra["projection"](embedding)
        one, other = views(logp, batch)
        terms = {
            "distilled": (1 - self.labels) * distilled(one, other, self.tau, self.target_temperature(batch.progress)),
            "mean_entropy": (1 - self.labels) * self.mean_entropy * lacking_entropy(torch.cat([one, other])),
        }
        rows = [gathered(view) for view in views(projected, batch)]
        same = torch.arange(len(rows[0]), device=logp.device).repeat(2)
        terms["views"] = (1 - self.labels) * contrast(torch.cat(rows), same, self.unsupervised)
        if len(batch.labels):
            labeled = projected[: len(batch.labels)]
            terms["ce"] = self.labels * losses.cross_entropy(logp[: len(batch.labels)], batch.labels)
            classes = contrast(gathered(labeled), gathered(batch.labels), self.supervised)
            terms["classes"] = self.labels * classes
        return terms

    def target_temperature(self, progress: float) -> float:
        return self.first + (self.last - self.first) * min(1.0, progress / self.warm)


def views(rows: Float[Tensor, "rows width"], batch: Batch) -> tuple[Tensor, Tensor]:
    """The rows of the first views of all items, labeled ones first, and those of the second views."""
    labeled, first, second = batch.split(rows)
    one, other = labeled.chunk(2) if len(labeled) else (labeled, labeled)
    return torch.cat([one, first]), torch.cat([other, second])


def distilled(one: LogProbs, other: LogProbs, tau: float, target: float) -> Float[Tensor, ""]:
    """Each view must say what the other says at a lower temperature, which is held fixed; both ways averaged."""
    sharpness = target / tau
    both = losses.soft_cross_entropy(losses.sharpen(one.detach(), sharpness), other)
    return (both + losses.soft_cross_entropy(losses.sharpen(other.detach(), sharpness), one)) / 2


def lacking_entropy(logp: LogProbs) -> Float[Tensor, ""]:
    """How far the entropy of the mean answer is below that of equal shares, ln K."""
    mean = losses.log_mean(logp)
    return math.log(logp.shape[1]) + (mean.exp() * mean).sum()
