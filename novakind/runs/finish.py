"""finish(): what a trained model found, written into the run folder."""

from __future__ import annotations

from typing import Any

import numpy as np

from novakind import __version__
from novakind.data.collection import Collection
from novakind.data.split import Split
from novakind.disk import write_atomic
from novakind.model import Model, predict, to_bytes
from novakind.objective import metrics
from novakind.runs.folder import Run


def finish(
    run: Run, collection: Collection, split: Split, model: Model, warnings: list[str], history: list[dict]
) -> dict[str, Any]:
    """Write model, predictions, embeddings and results into the run folder."""
    embedding, logp = predict(model, collection.items)
    splits = split.names(len(collection))
    scored = {name: np.array([place == name for place in splits]) for name in ("train", "val", "test")}
    results = {
        "metrics": {
            key: value
            for name, chosen in scored.items()
            if chosen.any() and (name != "train" or (collection.truth[chosen] >= model.card.known).any())
            for key, value in metrics.scores(collection.truth[chosen], logp[chosen], model.card.known, name).items()
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
    }
    write_atomic(run.model_file, to_bytes(model))
    run.write_csv(
        "predictions.csv",
        ["path", "split", "label", "truth", "id", "category", "probability"],
        prediction_rows(collection, splits, model, logp),
    )
    run.write_arrays("embeddings.npz", embedding=embedding, logp=logp)
    run.write_csv("skipped.csv", ["path", "reason"], collection.skipped)
    run.write_json("results.json", results)
    return results


def prediction_rows(collection: Collection, splits: list[str], model: Model, logp: np.ndarray):
    """One row per item, in the order of the collection."""
    best = logp.argmax(1)
    for number, path in enumerate(collection.paths):
        label, truth, category = int(collection.labels[number]), int(collection.truth[number]), int(best[number])
        yield [
            path,
            splits[number],
            collection.classes[label] if label >= 0 else "",
            collection.truth_classes[truth] if truth >= 0 else "",
            category,
            model.card.categories[category],
            f"{np.exp(logp[number, category]):.6f}",
        ]
