"""finish(): what a trained model found, written into the run folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from novakind import __version__
from novakind.data.collection import Collection, Labels
from novakind.data.decided import Decisions
from novakind.data.split import Split
from novakind.disk import write_atomic
from novakind.model import Model, to_bytes
from novakind.objective import metrics
from novakind.objective.heads import JoinedHead
from novakind.objective.number import Estimate
from novakind.runs.answers import Answers, write_answers
from novakind.runs.folder import Run
from novakind.runs.rounds import round_of
from novakind.training.memory import let_go


def finish(
    run: Run,
    collection: Collection,
    split: Split,
    model: Model,
    warnings: list[str],
    history: list[dict],
    decisions: Decisions | None = None,
    estimate: Estimate | None = None,
) -> dict[str, Any]:
    """Write model, predictions, embeddings and results into the run folder."""
    leaves = partial(leaves_of, model, split=split, estimate=estimate)
    found = write_answers(run.path / "embeddings.npz", collection, model, leaves)
    let_go()
    splits = split.names(len(collection))
    scored = {name: np.array([place == name for place in splits]) for name in ("train", "val", "test")}
    results = {
        "metrics": {
            key: value
            for name, chosen in scored.items()
            if chosen.any() and (name != "train" or (collection.truth[chosen] >= model.card.known).any())
            for key, value in metrics.judged(
                collection.truth[chosen],
                metrics.Chosen(*(best[chosen] for best in found.best)),
                model.card.known,
                name,
            ).items()
        },
        "minutes": round(sum(line["seconds"] for line in history) / 60, 2),
        "warnings": warnings,
        "classes": list(model.card.categories),
        "known": model.card.known,
        "truth_classes": list(collection.truth_classes) if (collection.truth >= model.card.known).any() else None,
        "data": collection.name,
        "items": len(collection),
        "split": split.by,
        "skipped": len(collection.skipped),
        "version": __version__,
        "estimate": estimate.plain() if estimate else None,
        "merging": {"tree": model.head.tree} if isinstance(model.head, JoinedHead) and model.head.tree else None,
    }
    free = split.train[(collection.labels[split.train] < 0) & (collection.truth[split.train] >= 0)]
    if estimate and len(free):
        results["metrics"] |= open_scores(collection.truth[free], found.category[free], model.card.known, estimate)
    if decisions:
        results["round"] = round_of(decisions, collection, found.category)
    write_atomic(run.model_file, to_bytes(model))
    run.write_csv(
        "predictions.csv",
        ["path", "split", "label", "truth", "id", "category", "probability"],
        prediction_rows(collection, splits, model, found),
    )
    run.write_json("results.json", results)
    return results


def leaves_of(
    model: Model, embedding: Float[np.ndarray, "items dim"], split: Split, estimate: Estimate | None
) -> Int[np.ndarray, " items"] | None:
    """The leaf of the run's merge tree that each item is in, -1 for none: an output, or a cluster that was counted."""
    if isinstance(model.head, JoinedHead) and model.head.tree:
        with torch.inference_mode():
            outputs = model.head.inner(torch.from_numpy(embedding).to(model.device))[:, model.card.known :]
        return outputs.argmax(1).cpu().numpy()
    if estimate is None or estimate.rows is None or estimate.leaves is None:
        return None
    leaves = np.full(len(embedding), -1)
    leaves[split.train[estimate.rows]] = estimate.leaves
    return leaves


def open_scores(truth: Labels, predicted: Labels, known: int, estimate: Estimate) -> dict[str, float]:
    """Of the unlabeled items trained on, where number and shares had to be found: one matching over all of them."""
    found = metrics.one_matching(truth, predicted, known)
    named = {f"{name}_acc/train/matched": value for name, value in found.items() if not np.isnan(value)}
    sizes = np.bincount(truth[truth >= known] - known)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return named
    distance = metrics.share_distance(estimate.shares, (sizes / sizes.sum()).tolist())
    return named | {
        "number_error/train/estimated": estimate.novel - len(sizes),
        "share_distance/train/estimated": distance,
    }


def prediction_rows(collection: Collection, splits: list[str], model: Model, found: Answers) -> Iterator[list[Any]]:
    """One row per item, in the order of the collection."""
    taught = collection.decided.taught if collection.decided else np.zeros(len(collection), dtype=bool)
    for number, path in enumerate(collection.paths):
        label, truth, category = (
            int(collection.labels[number]),
            int(collection.truth[number]),
            int(found.category[number]),
        )
        yield [
            path,
            splits[number],
            model.card.categories[label] if label >= 0 and not taught[number] else "",
            collection.truth_classes[truth] if truth >= 0 else "",
            category,
            model.card.categories[category],
            f"{found.probability[number]:.6f}",
        ]
