"""DTC, deep transfer clustering (Han, Vedaldi and Zisserman, "Learning to discover novel visual categories via deep
transfer clustering", ICCV 2019), and its estimate of the number of novel classes.

Stage "supervised" is cross-entropy on known classes. Stage "discover" sees unlabeled items alone: their embeddings are
projected to U dimensions, at first by PCA, with centres at first by k-means; all of it is learnt further. An item's
assignment is q ~ 1 / (1 + |z - c|^2). Every few epochs sharpened assignments over the whole training part, q^2 over the
clusters' sizes, become the targets; the loss is KL(target, q) plus a ramped mean squared error between the views' q.

The authors': both losses (KL is divided by the number of items and by U, as their code does), UPDATES: the targets are
found anew twenty times in the stage (before each epoch where it has fewer), CONSISTENCY 10 at the end of a ramp over
RAMP 0.1 of the stage, RATE 0.5 as factor on the learning rate while clusters form (0.05 after 0.1). Nothing trains the
known classes in the second stage.

Ours: SHARE 0.5 of the epochs for known classes; views, encoder and optimiser are those that all methods here share, but
projection and centres are points and take plain steps where the optimiser makes matrices orthogonal; embeddings, in the
place of the encoder's last features, are brought to one length, the mean of those at the start: at length 1, distances
are so small that all assignments are nearly even (experiments/LOG.md); there is no warm-up with fixed centres. DTC has
no task-agnostic answer: what joins known classes and clusters here is ours and is not scored in a comparison. An item
goes to the nearest mean, of the known classes by their labels and of the clusters by their targets, as learnt centres
drift away from their items. Where an average of the weights is kept, that of projection and centres excludes the time
before placement.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from novakind.config import Config
from novakind.methods.clusters import Assigner, Clusters, Embedding, Labels, kmeans, seen, show_clusters, silhouette_of
from novakind.methods.ours import ramp_up
from novakind.methods.protocol import Batch, Embedded, Stage
from novakind.methods.supervised import Supervised
from novakind.model import Model
from novakind.objective import losses
from novakind.objective.batch import mean
from novakind.objective.metrics import clustering_acc
from novakind.objective.prior import Prior


class DTC(Supervised):
    """Known classes, then deep embedded clustering."""

    joint = False
    SHARE = 0.5
    UPDATES = 20
    CONSISTENCY = 10.0
    RAMP = 0.1
    RATE = 0.5

    def __init__(self, config: Config, prior: Prior) -> None:
        super().__init__(config, prior)
        self.stage = ""
        self.targets: Tensor | None = None

    def stages(self, epochs: int) -> tuple[Stage, ...]:
        first = int(min(0.9, self.SHARE * self.config.pretraining) * epochs)
        discover = Stage("discover", epochs - first, labeled=False, lr=self.RATE)
        return (Stage("supervised", first, unlabeled=False), discover) if first else (discover,)

    def begin(self, model: Model, stage: Stage) -> None:
        self.stage = stage.name
        model.replace_head("linear" if stage.name == "supervised" else "direction")
        if stage.name == "discover":
            model.extra["clusters"] = Clusters(model.card.dim, len(self.prior.novel)).to(model.device)
            model.extra["past"] = copy.deepcopy(assigner(model)).requires_grad_(False)

    def before_epoch(
        self, model: Model, stage: Stage, epoch: int, history: list[dict], embed: Callable[..., Embedded]
    ) -> None:
        """Targets are not saved, but the weights that made them are: a run that resumes computes them again."""
        if stage.name == "supervised":
            return
        if epoch == 0:
            embedding, labels, _ = embed()
            free = embedding[labels < 0]
            scale = float(np.linalg.norm(free, axis=1).mean())
            assigner(model).clusters.place(seen(model, free), self.config.seed, scale)
        due = epoch == 0 or epoch * self.UPDATES // stage.epochs > (epoch - 1) * self.UPDATES // stage.epochs
        if due:
            model.extra["past"].load_state_dict(assigner(model).state_dict())
        if due or self.targets is None:
            self.refresh(model, embed)

    def refresh(self, model: Model, embed: Callable[..., Embedded]) -> None:
        """Targets by item number, from the past weights."""
        now, past = assigner(model), model.extra["past"]
        assert isinstance(past, Assigner)
        model.encoder, model.embed = past.encoder, past.embed
        embedding, labels, items = embed()
        model.encoder, model.embed = now.encoder, now.embed
        targets = show_clusters(model, past.clusters, embedding, labels)
        self.targets = targets.new_zeros(items.max() + 1, targets.shape[1])
        self.targets[torch.from_numpy(items[labels < 0])] = targets

    def loss(self, model: Model, batch: Batch) -> dict[str, Tensor]:
        if self.stage == "supervised":
            return super().loss(model, batch)
        assert self.targets is not None
        points = F.normalize(model.embedding(batch.x), dim=1)
        _, first, second = batch.split(assigner(model).clusters(points).log())
        targets = self.targets[batch.items].repeat(2, 1)
        ramp = ramp_up(batch.progress / self.RAMP)
        return {
            "kl": mean((targets * (targets.log() - torch.cat([first, second]))).mean(1)),
            "mse": self.CONSISTENCY * ramp * losses.consistency_mse(first, second),
        }

    def finish(self, model: Model, embed: Callable[..., Embedded]) -> None:
        clusters = assigner(model).clusters
        clusters.settle()
        model.extra.clear()
        embedding, labels, _ = embed()
        show_clusters(model, clusters, embedding, labels)


def assigner(model: Model) -> Assigner:
    """What assigns items now."""
    clusters = model.extra["clusters"]
    assert isinstance(clusters, Clusters)
    return Assigner(model.encoder, model.embed, clusters)


def estimate_novel(embedding: Embedding, labels: Labels, most: int = 20, seed: int = 0) -> int:
    """How many classes the unlabeled items (-1) seem to have, from 1 to `most`.

    Half of the known classes are held out and clustered with them. Of the cluster counts tried, one is best for the
    held-out classes (ACC) and one for all of these items (silhouette). The answer is their mean minus the number of
    held-out classes. Of counts with equal ACC the one nearest to the silhouette's choice is taken. The published form
    constrains k-means by the labels of the other known classes; here those are not used.
    """
    held_out = max(1, (labels.max() + 1) // 2)
    chosen, truth = embedding[labels < held_out], labels[labels < held_out]
    counts = np.arange(held_out + 1, held_out + most + 1)
    found = [kmeans(chosen, int(count), seed).labels_ for count in counts]
    acc = np.array([clustering_acc(truth[truth >= 0], clusters[truth >= 0]) for clusters in found])
    silhouette = [silhouette_of(chosen, clusters, seed) for clusters in found]
    by_silhouette = counts[np.argmax(silhouette)]
    best = counts[acc == acc.max()]
    by_acc = best[np.abs(best - by_silhouette).argmin()]
    return int(np.clip(round((by_acc + by_silhouette) / 2) - held_out, 1, most))
