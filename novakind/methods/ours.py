"""The paper: constraints on the statistics of predictions (Hasan et al., "Novel Categories Discovery Via Constraints
on Empirical Prediction Statistics").

Labeled items learn their class. Unlabeled ones have no target, but their predictions, as a collection, must look like
draws from the prior: the right mean (kl) and covariance (var), and the same decisive answer for two views of an item.

Departures: by default a sharpened, stopped target in the swapped prediction stands in for the entropy term
(experiments/LOG.md compares them). Every form of the paper is a weight away; `--preset paper` sets them. With `--heads`
above 1 several heads, each with an embedding of its own, learn side by side on the encoder that they share. The head
with the lowest loss over the last epoch is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.finer import FinerHead, is_finer, new_finer, settle
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.start import place, place_again
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.heads import HEADS
from novakind.objective.prior import Prior

# The terms that trust the model's own predictions, and so may be ramped up as it improves. The terms on the batch's
# statistics need full weight from the start: without them, cross-entropy silences the novel neurons for good.
SELF_TAUGHT = {"entropy", "novel_entropy", "sharpened", "norm", "mse", "swapped", "swapped_sharpened"}


# From so many novel classes on, k-means nearly always joins some and splits others; a second look mends it.
MANY = 10
BOLDER = 30  # times the learning rate, where labels alone are learnt: a hundred steps must take them in


class Siblings(nn.Module):
    """Further pairs of embedding and head, and the loss of each head in this epoch, the model's own first."""

    loss: Tensor
    heads: Any  # a list of modules loses their type

    def __init__(self, heads: list[nn.Sequential]) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads)
        self.register_buffer("loss", torch.zeros(1 + len(heads)))


class Began(nn.Module):
    """Where training began, how unlabeled items spread over the clusters there, and how far it may go from there; kept
    by checkpoints."""

    mean: Tensor
    weight: Tensor
    bias: Tensor
    far: Tensor

    def __init__(self, mean: Tensor, embed: nn.Linear) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("weight", embed.weight.detach().clone())
        self.register_buffer("bias", embed.bias.detach().clone())
        self.register_buffer("far", torch.ones(()))


class Ours(Method):
    """One stage, one loss (eq. 18-19)."""

    weighable = True

    def __init__(self, config: Config, prior: Prior) -> None:
        self.objective, self.heads = config.objective, config.heads
        self.clustered, self.seed = config.clustered, config.seed
        self.decided = config.start == "decided"  # items that nobody decided about would drift by their own answers
        self.prior, self.known = prior, prior.known
        self.mean = prior.mean()
        # which items lean to known classes says something only where clusters tell from the start
        self.border = config.objective.novel_mass if self.clustered or not prior.mixed else 0.0
        self.follows = self.clustered and config.prior == "auto"
        self.config, self.finer = config, is_finer(config)
        self.adapted: dict[str, float] = {}

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        if self.clustered and len(self.prior.novel) >= MANY and epochs > 1:
            return (Stage("discover", epochs // 2), Stage("again", epochs - epochs // 2))
        return (Stage("discover", epochs, lr=BOLDER if self.decided else 1.0),)

    def begin(self, model: Model, stage: Stage) -> None:
        self.mean = self.mean.to(model.device)
        if self.clustered and "began" not in model.extra:
            model.extra["began"] = Began(self.prior.mean(), model.embed).to(model.device)
        if self.finer:
            model.head = new_finer(model.card, self.config, self.prior).to(model.device)
        if self.heads > 1:
            model.extra["siblings"] = Siblings([self.new_head(model) for _ in range(self.heads - 1)]).to(model.device)

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        if epoch == 0 and self.clustered:
            self.start(model, stage, embed)
        if self.follows:
            self.mean = began_of(model).mean
        if self.objective.weighting == "adaptive":
            self.adapted = dynamic_weights(history)
        if "siblings" in model.extra:
            siblings_of(model).loss.zero_()

    @torch.no_grad()
    def start(self, model: Model, stage: Stage, embed: Callable[..., Embedded]) -> None:
        """Set embedding and prototypes by clusters; where the first ones cannot be bettered, they stay."""
        began = began_of(model)
        if stage.name == "again" and not began.far:
            return
        if stage.name == "again":
            mean = place_again(model, embed, self.prior, self.seed)
        else:
            mean, far = place(model, embed, self.prior, self.seed)
            alone = not any(weight.requires_grad for weight in model.encoder.parameters())
            began.far.fill_(far if alone else 1.0)  # where the encoder learns too, the embedding follows it
        for kept, now in zip((began.mean, began.weight, began.bias), (mean, *model.embed.parameters()), strict=True):
            kept.copy_(now)

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        if "siblings" not in model.extra:
            embedding = model.embedding(batch.x)
            return self.terms(*self.answers(model.head, embedding, batch), batch)
        siblings, features = siblings_of(model), model.encoder(batch.x)
        if self.finer:
            return self.loss_of_each(model, siblings, features, batch)
        answers = [model.head(model.embed(features)), *(head(features) for head in siblings.heads)]
        found = torch.vmap(lambda logp: self.terms(logp, self.mean, batch))(torch.stack(answers))  # all heads in one go
        siblings.loss += sum(found.values(), torch.zeros_like(siblings.loss)).detach()
        return {name: values.mean() for name, values in found.items()}

    def loss_of_each(self, model: Model, siblings: Siblings, features: Tensor, batch: Batch) -> dict[str, Tensor]:
        """The same head by head, as each merges its own outputs."""
        pairs = [(model.head, model.embed(features)), *((pair[1], pair[0](features)) for pair in siblings.heads)]
        found = [self.terms(*self.answers(head, embedding, batch), batch) for head, embedding in pairs]
        siblings.loss += torch.stack([torch.stack(list(terms.values())).sum() for terms in found]).detach()
        return {name: torch.stack([terms[name] for terms in found]).mean() for name in found[0]}

    def answers(self, head: nn.Module, embedding: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """What a head says of the items, and how the unlabeled ones must spread over that."""
        if not isinstance(head, FinerHead):
            return head(embedding), self.mean
        return head.learn(embedding, batch)

    def terms(self, logp: Tensor, mean: Tensor, batch: Batch) -> dict[str, Tensor]:
        """The weighted terms of one head's answers."""
        labeled, first, second = batch.split(logp)
        terms: dict[str, Tensor] = {}
        if len(labeled) and self.objective.ce:
            terms["ce"] = self.objective.ce * losses.cross_entropy(labeled, batch.labels, self.objective.smoothing)
        if len(first):
            terms |= self.unlabeled_terms(first, second, mean, batch.progress)
        if batch.barred is not None:
            terms["kept_out"] = losses.kept_out(torch.cat([first, second]), batch.barred.repeat(2, 1))
        return terms

    def unlabeled_terms(self, first: Tensor, second: Tensor, mean: Tensor, progress: float) -> dict[str, Tensor]:
        """Every term with a weight above 0; the batch statistics are over both views together."""
        o, both = self.objective, torch.cat([first, second])
        recipe: dict[str, tuple[float, Callable[[], Tensor]]] = {
            "entropy": (o.entropy, lambda: losses.entropy(both)),
            "sharpened": (o.sharpened, lambda: losses.sharpened(both, o.sharpness)),
            "norm": (o.norm, lambda: losses.consistency_norm(first, second)),
            "mse": (o.mse, lambda: losses.consistency_mse(first, second)),
            "swapped": (o.swapped, lambda: losses.swapped(first, second)),
            "swapped_sharpened": (
                o.swapped_sharpened,
                lambda: losses.swapped_sharpened(first, second, self.target_sharpness(progress)),
            ),
            "kl": (o.kl, lambda: losses.mean_kl(both, mean)),
            "kl_one_sided": (o.kl_one_sided, lambda: losses.mean_kl_one_sided(both, mean)),
            "var": (o.var, lambda: losses.covariance_norm(both, multinoulli(mean))),
            "var_diagonal": (o.var_diagonal, lambda: losses.variance_diagonal(both, mean, self.known)),
            "novel_entropy": (o.novel_entropy, lambda: losses.novel_entropy(both, self.known, o.novel_temperature)),
            "novel_mass": (self.border, lambda: losses.novel_mass(both, self.known, self.prior.mixed)),
        }
        if self.decided:
            recipe = {"novel_mass": recipe["novel_mass"]}
        ramp = ramp_up(progress / o.ramp) if o.weighting == "ramp" and o.ramp > 0 else 1.0
        return {
            name: weight * (ramp if name in SELF_TAUGHT else 1.0) * self.adapted.get(name, 1.0) * term()
            for name, (weight, term) in recipe.items()
            if weight
        }

    def target_sharpness(self, progress: float) -> float:
        """s of the swapped targets: from 1, which takes predictions as they are, to its final value."""
        o = self.objective
        done = min(1.0, progress / o.soft_start) if o.soft_start else 1.0
        return 1 + (o.target_sharpness - 1) * done

    def noted(self, model: Model) -> dict[str, float]:
        return model.head.noted() if isinstance(model.head, FinerHead) else {}

    def adopt(self, average: Model, model: Model) -> None:
        if "siblings" in model.extra:
            siblings_of(average).loss.copy_(siblings_of(model).loss)
        if self.clustered:
            began_of(average).load_state_dict(began_of(model).state_dict())

    @torch.no_grad()
    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        if "siblings" in model.extra and (best := int(siblings_of(model).loss.argmin())):
            chosen = siblings_of(model).heads[best - 1]
            model.embed.load_state_dict(chosen[0].state_dict())
            model.head.load_state_dict(chosen[1].state_dict())
        elif self.clustered:
            began = began_of(model)
            model.embed.weight.copy_(began.weight.lerp(model.embed.weight, began.far))
            model.embed.bias.copy_(began.bias.lerp(model.embed.bias, began.far))
        if self.finer:
            settle(model)

    def new_head(self, model: Model) -> nn.Sequential:
        card = model.card
        head = HEADS[card.head](card.dim, len(card.categories), card.tau)
        if self.finer:
            head = new_finer(card, self.config, self.prior)
        return nn.Sequential(nn.Linear(model.embed.in_features, card.dim), head)


def began_of(model: Model) -> Began:
    began = model.extra["began"]
    assert isinstance(began, Began)
    return began


def siblings_of(model: Model) -> Siblings:
    siblings = model.extra["siblings"]
    assert isinstance(siblings, Siblings)
    return siblings


def multinoulli(mean: Tensor) -> Tensor:
    """The covariance of one-hot draws with this mean (eq. 4)."""
    return torch.diag(mean) - torch.outer(mean, mean)


def ramp_up(progress: float) -> float:
    """The field's sigmoid ramp exp(-5 (1 - t)^2), from 0.007 at t = 0 to 1 at t = 1 and beyond."""
    return math.exp(-5 * (1 - min(progress, 1.0)) ** 2)


def dynamic_weights(history: list[dict], temperature: float = 2.0) -> dict[str, float]:
    """Dynamic weight averaging (Liu et al., 2019): a term that falls more slowly than the others gains weight.

    The weights average 1. The log holds weighted terms, so it is replayed from the start to divide the weights out.
    The paper says "adaptive weights" and leaves them undefined; this is our reading.
    """
    weights: dict[str, float] = {}
    before: dict[str, float] = {}
    for line in history:
        logged = {key.removeprefix("loss/"): value for key, value in line.items() if key.startswith("loss/")}
        raw = {name: value / weights.get(name, 1.0) for name, value in logged.items() if name not in ("total", "ce")}
        if before:
            rates = [raw[name] / before[name] if before[name] > 0 else 1.0 for name in raw]
            shares = torch.softmax(torch.tensor(rates, dtype=torch.float64) / temperature, 0) * len(rates)
            weights = dict(zip(raw, shares.tolist(), strict=True))
        before = raw
    return weights
