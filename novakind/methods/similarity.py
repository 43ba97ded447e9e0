"""What KCL and MCL share: a network that decides whether two items are of one class, and training in two stages.

Stage "similarity": network and encoder learn same or different from labeled pairs. The two answers are weighted by how
often they are expected of unlabeled pairs: two unlabeled items are of one class with probability sum_j p_j^2, for
shares p of the novel classes. Stage "discover": a frozen copy of both judges the pairs of unlabeled items, a first view
of one and a second view of the other. The model learns from its verdicts, and by cross-entropy on labeled items.

How known and novel outputs are joined: all K are one linear layer. The pair terms read a softmax over the novel outputs
alone; cross-entropy reads all K and keeps labeled items off the novel ones. Unlabeled items are kept off the known ones
as in AutoNovel's incremental form: with their best novel output as pseudo-label over all K, at a small, ramped weight.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.ours import ramp_up
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import gathered
from novakind.objective.prior import Prior

LogProbs = Float[Tensor, "batch classes"]
Pairs = Bool[Tensor, "first second"]


class Similarity(nn.Module):
    """Scores of "different" and "same" for every pair of two batches: 2F -> 4F, BatchNorm, ReLU -> 2.

    The first layer is a sum of two halves, so it is computed once per item and not once per pair.
    """

    sees_all = True  # the pairs of all processes' items, so that its batch normalisation needs no other process

    def __init__(self, width: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * width, 4 * width)
        self.norm = nn.BatchNorm1d(4 * width)
        self.score = nn.Linear(4 * width, 2)

    def forward(
        self, first: Float[Tensor, "first width"], second: Float[Tensor, "second width"]
    ) -> Float[Tensor, "first second 2"]:
        left, right = self.hidden.weight.chunk(2, 1)
        pairs = F.linear(first, left, self.hidden.bias)[:, None] + F.linear(second, right)
        hidden = F.relu(self.norm(pairs.flatten(0, 1)), inplace=True)
        return self.score(hidden).view(len(first), len(second), 2)


class PairClustering(Method):
    """The two stages; a method adds the loss of a pair."""

    in_parts = False  # another encoder judges the items
    joint = False
    SHARE = 0.5  # of the epochs, for the similarity network
    PAIRED = 128  # labeled items of a batch whose pairs are learnt: all of them would take too much memory
    PSEUDO = 0.05  # weight of the pseudo-labels, at the end of the ramp
    RAMP = 0.25  # share of the stage after which the ramp is complete

    def __init__(self, config: Config, prior: Prior) -> None:
        self.config, self.known = config, prior.known
        self.expected = sum(share**2 for share in prior.novel)
        self.stage = ""

    @abstractmethod
    def pair_loss(self, first: LogProbs, second: LogProbs, similar: Pairs) -> Float[Tensor, ""]:
        """The loss of novel log-probabilities of first and second views, given which pairs are similar."""
        ...

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        first = int(min(0.9, self.SHARE * self.config.pretraining) * epochs)
        both = Stage("similarity", first, unlabeled=False), Stage("discover", epochs - first)
        return tuple(stage for stage in both if stage.epochs)

    def begin(self, model: Model, stage: Stage) -> None:
        self.stage = stage.name
        if "similarity" not in model.extra:
            model.extra["similarity"] = Similarity(model.embed.in_features).to(model.device)
        if stage.name == "discover":
            model.replace_head("linear")
            model.extra["encoder"] = copy.deepcopy(model.encoder)
            model.extra.requires_grad_(False)

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        if stage.name == "discover":
            if epoch == 0:
                model.extra["encoder"].load_state_dict(model.encoder.state_dict())
            model.extra.eval()

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        if self.stage == "similarity":
            features = gathered(model.encoder(batch.x))[: self.PAIRED]
            labels = gathered(batch.labels)[: self.PAIRED]
            return {"pairs": same_or_different(model.extra["similarity"](features, features), labels, self.expected)}
        labeled, first, second = batch.split(model(batch.x))
        terms: dict[str, Tensor] = {}
        if len(labeled):
            terms["ce"] = losses.cross_entropy(labeled, batch.labels, self.config.objective.smoothing)
        if len(first):
            novel, other = (gathered(novel_only(view, self.known)) for view in (first, second))
            pair = self.pair_loss(novel, other, judge(model, batch))
            pseudo = pseudo_labels(torch.cat([first, second]), torch.cat([first, second])[:, self.known :], self.known)
            terms |= {"pairs": pair, "pseudo": self.PSEUDO * ramp_up(batch.progress / self.RAMP) * pseudo}
        return terms

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        model.extra.clear()


def same_or_different(
    scores: Float[Tensor, "items items 2"], labels: Int[Tensor, " items"], expected: float
) -> Float[Tensor, ""]:
    """Cross-entropy of the pairs of two items, as if a share of `expected` of them were similar."""
    same = labels[:, None] == labels
    others = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
    each = F.cross_entropy(scores.flatten(0, 1), same.flatten().long(), reduction="none").view_as(same)
    kinds = ((expected, each[same & others]), (1 - expected, each[~same]))
    return torch.stack([weight * kind.mean() for weight, kind in kinds if len(kind)]).sum()


@torch.no_grad()
def judge(model: Model, batch: Batch) -> Pairs:
    """Which first view (row) and second view (column) are of one class, according to the frozen network."""
    first, second = map(gathered, batch.split(model.extra["encoder"](batch.x))[1:])
    parts = [model.extra["similarity"](part, second).argmax(2) for part in first.split(64)]  # to bound the memory
    return torch.cat(parts) == 1


def novel_only(logp: LogProbs, known: int) -> Float[Tensor, "batch novel"]:
    """Log-probabilities given that the item is of a novel class."""
    return torch.log_softmax(logp[:, known:], 1)


def pseudo_labels(logp: LogProbs, novel: Float[Tensor, "batch novel"], known: int) -> Float[Tensor, ""]:
    """Cross-entropy over all K against the best novel output: it moves unlabeled items off the known outputs."""
    return losses.cross_entropy(logp, known + novel.detach().argmax(1))
