"""What a training is watched by: scores on validation items, the line of an epoch, how sure the model is."""

from __future__ import annotations

from typing import Any

import numpy as np

from novakind.data.collection import Collection
from novakind.data.split import Split
from novakind.methods import Method, Stage
from novakind.model import Model, predict
from novakind.objective import metrics
from novakind.objective.prior import Prior
from novakind.training.collapse import check_answers, diagnose

MOST = 10_000  # validation items, so that an epoch of very many items is not spent on watching it


def watch(
    model: Model, collection: Collection, split: Split, prior: Prior, method: Method
) -> tuple[dict[str, float], str | None]:
    """Scores on the validation part, or some of it, where truth is known; a warning if predictions have collapsed."""
    part = (
        split.val[:: -(-len(split.val) // MOST)] if len(split.val) else split.train[:: max(1, len(split.train) // 1000)]
    )
    embedding, logp = predict(model, collection.items[part])
    unlabeled = collection.labels[part] < 0
    check_answers(logp)
    known = (prior.known, "val", model.aware(embedding))
    line = metrics.scores(collection.truth[part], logp, *known) if len(split.val) else {}
    probs = np.exp(logp[unlabeled])
    if len(probs):
        line["novel_confidence/val"] = float(probs.max(1).mean())
        line["novel_share/val"] = float((probs.argmax(1) >= prior.known).mean())
    line |= method.noted(model)
    return line, diagnose(logp[unlabeled], prior, method.weighable)


def confidences(model: Model, collection: Collection, split: Split) -> list[np.ndarray]:
    """How sure the model is of unlabeled items, of some that it was trained on and of those held out."""
    free = (rows[collection.labels[rows] < 0] for rows in (split.train, split.val))
    some = (rows[:: -(-len(rows) // 1000) or 1] for rows in free)
    return [np.exp(predict(model, collection.items[rows])[1].max(1, initial=-np.inf)) for rows in some]


def log_line(
    epoch: int,
    stage: Stage,
    lr: float,
    seconds: float,
    sums: dict[str, float],
    scores: dict[str, float],
    warning: str | None,
) -> dict[str, Any]:
    """What an epoch came to; it warns of a collapse only in stages that train on unlabeled items."""
    head = {"epoch": epoch, "stage": stage.name, "lr": lr, "seconds": seconds}
    losses = {f"loss/{name}": value for name, value in sums.items()} | {"loss/total": sum(sums.values())}
    return head | losses | scores | ({"warning": warning} if warning and stage.unlabeled else {})
