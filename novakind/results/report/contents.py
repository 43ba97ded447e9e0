"""What the page shows, as plain JSON: the page itself only draws."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from novakind.modality.display import Clips, Display, Signals, Texts
from novakind.objective.metrics import matched_confusion
from novakind.results.report.clips import gather_clips
from novakind.results.report.layout import Map, placed
from novakind.results.report.signals import gather_signals
from novakind.results.report.texts import gather_texts
from novakind.results.report.thumbnails import gather
from novakind.runs.categories import Category
from novakind.runs.discovery import Discovery
from novakind.runs.folder import Run
from novakind.runs.record import read_history, read_results
from novakind.runs.recut import tree_of

MAP_PICTURES = 1_500
MAP_BYTES = 3_000_000  # of pictures that only the map shows
CARD_PICTURES = 720  # over all categories; with more than 30 of them each shows fewer
EPOCHS = 1_000  # points of a curve

MEASURES = {
    "known_acc": ("Accuracy on known classes", "share of the items of known classes that were given the right class"),
    "novel_acc": (
        "Accuracy on novel classes",
        "share of the items of novel classes that are in the right new category; "
        "each new category stands for one novel class, matched as well as possible",
    ),
    "novel_nmi": (
        "NMI on novel classes",
        "normalized mutual information of categories and novel classes: 0 = unrelated, 1 = the same groups",
    ),
    "novel_ari": (
        "ARI on novel classes",
        "adjusted Rand index, how many pairs of items are rightly together or apart: 0 = by chance, 1 = all of them",
    ),
}
SPLITS = {"train": "training items", "val": "validation items", "test": "test items, never trained on"}
PROTOCOLS = {
    "agnostic": "task-agnostic: each item may go to any known class or new category",
    "joint": "as task-agnostic, but known classes may stand for novel ones in the matching, as some publications count",
    "aware": "task-aware: items of known classes may go to known classes only, the others to new categories only",
}


def contents(run: Path, shown: Display) -> dict[str, Any]:
    """Everything the page shows of a finished run."""
    discovery = Discovery.load(run)
    examples = max(2, min(12, CARD_PICTURES // (2 * max(len(discovery.names), 1))))
    categories = [describe(category, examples) for category in discovery.categories]
    on_cards = [item for category in categories for item in (*category["typical"], *category["doubtful"])]
    drawn = placed(run, discovery)
    on_map = drawn.items
    # not every point of the map can have a picture: leave out random ones, not one category or the last items
    shuffled = np.random.default_rng(0).permutation(on_map).tolist()
    items = sorted({*on_cards, *on_map.tolist()})
    pictures, films, signals, texts = {}, None, None, None
    if isinstance(shown, Clips):
        pictures, films = gather_clips(shown, on_cards, shuffled)
    elif isinstance(shown, Signals):
        signals = gather_signals(shown, discovery.category, items)
    elif isinstance(shown, Texts):
        texts = gather_texts(shown, discovery.category, items)
    else:
        pictures = gather(shown.thumbnail, on_cards, shuffled, MAP_PICTURES, MAP_BYTES)
    return {
        **facts(run, discovery, drawn),
        "categories": categories,
        "rows": {item: describe_item(discovery, item) for item in items},
        "pictures": pictures,
        "signals": signals,
        "clips": films,
        "texts": texts,
    }


def facts(run: Path, discovery: Discovery, drawn: Map) -> dict[str, Any]:
    """What the page says of the run as a whole."""
    results = read_results(run)
    return {
        "name": str(results.get("data", run.name)),
        "version": results.get("version"),
        "items": len(discovery.paths),
        "unlabeled": discovery.labels.count(""),
        "skipped": results.get("skipped", 0),
        "minutes": results.get("minutes"),
        "warnings": list(discovery.warnings),
        "known": discovery.known,
        "truth": discovery.truth_classes if any(discovery.truth) else None,
        "metrics": [
            explain(name, value, results.get("split", "")) for name, value in results.get("metrics", {}).items()
        ],
        "map": {"method": drawn.method, "items": drawn.items.tolist(), "points": drawn.points.round(4).tolist()},
        "evidence": evidence(results),
        "confusion": confusion(discovery),
        "curves": curves(run / "metrics.jsonl"),
        "settings": settings(run),
    }


def evidence(results: dict[str, Any]) -> dict[str, Any] | None:
    """Why there are so many new categories: the merge tree, where it is cut, what else is plausible, the probes."""
    joints, counted, merged = tree_of(results), results.get("estimate") or {}, bool(results.get("merging"))
    if not joints:
        return None
    leaves = len(joints) + 1 if merged else len(counted["sizes"])
    node = {frozenset([leaf]): leaf for leaf in range(leaves)}
    merges = []
    for some, others in joints:
        merges.append([node[some], node[others]])
        node[some | others] = len(node)
    return {
        "leaves": leaves,
        "merges": merges,
        "sizes": None if merged else counted["sizes"],
        "cut": len(results["classes"]) - results["known"],
        "merged": merged,
        **{name: counted.get(name) for name in ("low", "high", "chances", "doubt")},
        "probes": counted.get("probes") or [],
    }


def describe(category: Category, shown: int) -> dict[str, Any]:
    """A category's card, with `shown` typical and `shown` doubtful items."""
    return {
        "id": category.id,
        "name": category.name,
        "new": category.is_new,
        "size": category.size,
        "labeled": category.labeled,
        "confidence": category.confidence,
        "majority": category.majority,
        "purity": category.purity,
        "confirmed": category.confirmed,
        "named": category.named,
        "alive": category.alive,
        "into": category.into,
        "typical": category.typical[:shown],
        "doubtful": category.doubtful[:shown],
    }


def describe_item(discovery: Discovery, item: int) -> dict[str, Any]:
    """One item and its five most likely categories, as [id, probability]."""
    probability = np.exp(discovery.logp[item].astype(np.float64))
    best = np.argsort(-probability, kind="stable")[:5]
    return {
        "path": discovery.paths[item],
        "split": discovery.splits[item],
        "label": discovery.labels[item],
        "truth": discovery.truth[item],
        "category": int(discovery.category[item]),
        "top": [[int(number), round(float(probability[number]), 4)] for number in best],
    }


def explain(name: str, value: Any, by: str = "") -> dict[str, Any]:
    """A metric in plain words: what is measured, on which items (split `by` what), under which protocol."""
    measure, split, protocol = [*name.split("/"), "", ""][:3]
    title, meaning = MEASURES.get(measure, (name, ""))
    apart = f"split {'at random' if by == 'random' else f'by {by}'}" if by not in ("", "official") else by
    items = ", ".join(filter(None, (SPLITS.get(split, split), apart if split == "test" else "")))
    where = "; ".join(filter(None, (items, PROTOCOLS.get(protocol, protocol))))
    return {"key": name, "title": title, "meaning": meaning, "where": where, "value": value}


def confusion(discovery: Discovery) -> dict[str, Any] | None:
    """Counts of true class by category, matches on the diagonal, over the items whose label was not used in training.

    Those are the unlabeled ones and all of the validation and test parts; where there are none, all items are counted.
    """
    if discovery.truth_classes is None:
        return None
    numbers = {name: number for number, name in enumerate(discovery.truth_classes)}
    truth = np.array([numbers.get(name, -1) for name in discovery.truth], dtype=np.int64)
    pairs = zip(discovery.labels, discovery.splits, strict=True)
    judged = np.array([not label or split != "train" for label, split in pairs], dtype=bool) & (truth >= 0)
    counted = judged if judged.any() else truth >= 0
    if not counted.any():
        return None
    names = (*discovery.truth_classes, *discovery.names[len(discovery.truth_classes) :])
    predicted = discovery.category[counted]
    table, order = matched_confusion(truth[counted], predicted, discovery.known, len(discovery.names))
    living = [place for place, number in enumerate(order) if discovery.snapshot.alive[number]]
    return {
        "rows": names[: len(table)],
        "columns": [order[place] for place in living],
        "counts": table[:, living].tolist(),
        "items": len(predicted),
        "unseen": bool(judged.any()),
    }


def curves(path: Path) -> dict[str, Any]:
    """Every number of `metrics.jsonl` as a series over the epochs; null where an epoch has none."""
    lines = read_history(path)
    step = math.ceil(len(lines) / EPOCHS) if lines else 1
    lines = lines[::-1][::step][::-1]  # the last epoch stays
    keys = [key for key in dict.fromkeys(key for line in lines for key in line) if key not in ("epoch", "stage")]
    series = [{"key": key, "values": [number(line.get(key)) for line in lines]} for key in keys]
    return {
        "epochs": [line.get("epoch", place + 1) for place, line in enumerate(lines)],
        "stages": [line.get("stage", "") for line in lines],
        "series": [one for one in series if any(value is not None for value in one["values"])],
    }


def number(value: Any) -> float | str | None:
    """Five digits of a number; what is not finite becomes its name, which JSON can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(f"{value:.5g}") if math.isfinite(value) else str(value)


def settings(run: Path) -> list[dict[str, Any]]:
    """The settings by table, each as a [name, value] pair of texts; the top level comes first, under no name."""
    tables: dict[str, list[list[str]]] = {}

    def walk(prefix: str, table: dict[str, Any]) -> None:
        for key, value in table.items():
            if isinstance(value, dict):
                walk(f"{prefix}.{key}" if prefix else key, value)
            else:
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                tables.setdefault(prefix, []).append([key, text])

    folder = Run(run)
    walk("", folder.settings() if folder.config_file.is_file() else {})
    return [{"name": name, "pairs": tables[name]} for name in sorted(tables, key=lambda name: name != "")]
