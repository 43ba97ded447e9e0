"""AutoNovel, or ranking statistics (Han, Rebuffi, Ehrhardt, Vedaldi and Zisserman, "Automatically discovering and
learning new visual categories with ranking statistics", ICLR 2020; "AutoNovel", TPAMI 2021), in its incremental form.

Stage "rotations" learns by how many quarter-turns a picture was turned, from all items, without labels. Stage
"supervised" is cross-entropy on known classes. Stage "discover" freezes the encoder except its last layers. Two
unlabeled items count as similar if the *sets* of their strongest features are equal. These pairs are the targets of
a binary cross-entropy on p_i . p'_j, for p from a head of U novel outputs. One head of all K outputs learns known
classes by cross-entropy and novel ones with the other head's predictions as pseudo-labels. The views of an item must
agree.

The authors': the losses; CONSISTENCY 5 times exp(-5 (1 - t / RAMP)^2) with RAMP 0.25 of the stage (50 of 200 epochs);
PSEUDO 0.05 with the same ramp; 128 items in a step, of which BATCH 64 are unlabeled, and weak views in the last stage;
ranks of averages over the last maps after ReLU, whatever the encoder ends with. The head of novel outputs is kept:
task-aware answers are its own, as published, and those of the head over all classes are the task-agnostic ones.
LEARNING 2/3: the last layers that hold this share of the encoder's weights keep learning, which is the fourth stage of
a ResNet-18 and the last group of convnet and fastnet.

Ours: the TOP 5 features are those of 512, and of narrower encoders proportionately fewer, at least one: five of 64 are
hardly ever the same five, and without similar pairs equal answers for all items are the optimum. SHARES of the epochs;
the published 200, 100 and 200 would spend most of a short training on rotations, of which each step costs four. Encoder
and optimiser are those that all methods here share; the early layers learn from known classes too, and are frozen in
the last stage only; heads stand on the embedding. Where items are series, the four tasks are as is, reversed in time,
negated, and both; and views are never weak, or this method alone would not be told at what angles a sensor may be worn.
Feature vectors have nothing to turn: the first stage is cross-entropy on known classes, like the second.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from novakind.config import Config
from novakind.methods.mcl import pair_likelihood
from novakind.methods.ours import ramp_up
from novakind.methods.protocol import Batch, Embedded, Method, Stage
from novakind.methods.similarity import pseudo_labels
from novakind.modality.warp import SeriesViews
from novakind.model import AWARE, Model
from novakind.objective import losses
from novakind.objective.batch import gathered, mean
from novakind.objective.heads import LinearHead
from novakind.objective.prior import Prior

WIDTH = 512  # of the published encoder's features


class AutoNovel(Method):
    """Self-supervision, known classes, then pairs by ranking statistics."""

    in_parts = False  # it turns the items themselves
    SHARES = (0.05, 0.3, 0.65)
    TOP = 5
    BATCH = 64
    CONSISTENCY = 5.0
    PSEUDO = 0.05
    RAMP = 0.25
    LEARNING = 2 / 3

    def __init__(self, config: Config, prior: Prior) -> None:
        self.smoothing, self.prior = config.objective.smoothing, prior
        self.factor = min(config.pretraining, 0.9 / sum(self.SHARES[:2]))
        self.weak = not isinstance(config.views, SeriesViews)
        self.stage = ""

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        turning, naming = (int(self.factor * share * epochs) for share in self.SHARES[:2])
        every = (
            Stage("rotations", turning),
            Stage("supervised", naming, unlabeled=False),
            Stage("discover", epochs - turning - naming, batch=self.BATCH, weak=self.weak),
        )
        return tuple(stage for stage in every if stage.epochs)

    def begin(self, model: Model, stage: Stage) -> None:
        self.stage = stage.name
        if model.card.head != "linear":
            model.replace_head("linear")
        model.extra.clear()
        if stage.name == "rotations":
            model.extra["turns"] = nn.Linear(model.embed.in_features, 4).to(model.device)
        if stage.name == "discover":
            model.extra[AWARE] = LinearHead(model.card.dim, len(self.prior.novel)).to(model.device)
            for layer in early_layers(model.encoder, self.LEARNING):
                layer.requires_grad_(False)

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        if stage.name == "discover":
            for layer in early_layers(model.encoder, self.LEARNING):
                layer.eval()

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        if self.stage == "rotations" and batch.x.ndim > 2:
            return self.rotation_terms(model, batch)
        if self.stage == "discover":
            return self.discovery_terms(model, batch)
        if not len(batch.labels):
            return {}
        logp = torch.log_softmax(model(batch.x[: len(batch.labels)])[:, : self.prior.known], 1)
        return {"ce": losses.cross_entropy(logp, batch.labels, self.smoothing)}

    def rotation_terms(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the four turns of each item, in one view."""
        labeled, first, _ = batch.split(batch.x)
        turned = four_turns(torch.cat([labeled, first]))
        which = torch.arange(4, device=model.device).repeat_interleave(len(labeled) + len(first))
        answers = model.extra["turns"](model.encoder(torch.cat(turned)))
        return {"turns": mean(F.cross_entropy(answers, which, reduction="none"))}

    def discovery_terms(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        features, ranked = with_averages(model.encoder, batch.x)
        embedding = model.embed(features)
        labeled, first, second = batch.split(model.head(embedding))
        terms: dict[str, Tensor] = {}
        if len(labeled):
            terms["ce"] = losses.cross_entropy(labeled, batch.labels, self.smoothing)
        if len(first):
            _, novel, other = batch.split(model.extra[AWARE](embedding))
            similar = same_ranks(gathered(batch.split(ranked)[1]), max(1, round(self.TOP * ranked.shape[1] / WIDTH)))
            ramp = ramp_up(batch.progress / self.RAMP)
            apart = losses.consistency_mse(first, second) + losses.consistency_mse(novel, other)
            pseudo = pseudo_labels(torch.cat([first, second]), torch.cat([novel, other]), self.prior.known)
            terms["pairs"] = pair_likelihood(gathered(novel), gathered(other), similar)
            terms |= {"mse": self.CONSISTENCY * ramp * apart, "pseudo": self.PSEUDO * ramp * pseudo}
        return terms


def with_averages(encoder: nn.Module, x: Tensor) -> tuple[Tensor, Float[Tensor, "batch width"]]:
    """The encoder's output, and the averages of its last maps after ReLU; of its output itself where it has no maps."""
    maps: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.ndim > 3 and output[0, 0].numel() > 1:
            maps[:] = [output.detach()]

    listeners = [module.register_forward_hook(keep) for module in encoder.modules()]
    output = encoder(x)
    for listener in listeners:
        listener.remove()
    return output, F.relu(maps[0]).flatten(2).mean(2) if maps else F.relu(output.detach())


def same_ranks(features: Float[Tensor, "batch width"], top: int) -> Bool[Tensor, "batch batch"]:
    """Which pairs have the same strongest features, in any order."""
    top = min(top, features.shape[1])
    strongest = torch.zeros_like(features).scatter(1, features.detach().topk(top, 1).indices, 1.0)
    return strongest @ strongest.T > top - 0.5


def four_turns(x: Tensor) -> list[Tensor]:
    """Four versions of each item that can be distinguished only by content: quarter-turns, or those of a series."""
    if x.ndim == 3:
        return [x, x.flip(2), -x, -x.flip(2)]
    return [x.rot90(quarters, (-2, -1)) for quarters in range(4)]


def early_layers(encoder: nn.Module, learning: float) -> list[nn.Module]:
    """The layers before the last ones that together hold the share `learning` of the weights."""
    layers = [module for module in encoder.modules() if not any(True for _ in module.children())]
    sizes = [sum(weight.numel() for weight in layer.parameters()) for layer in layers]
    return [layer for number, layer in enumerate(layers) if sum(sizes[number + 1 :]) >= learning * sum(sizes)]
