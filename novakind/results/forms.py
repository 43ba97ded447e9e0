"""Exports for other tools, each a folder: Hugging Face's imagefolder, FiftyOne's classification, Label Studio."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from novakind.data.forms import FIFTYONE, FILES, METADATA, SERVED, TASKS
from novakind.data.manifest import LABELED, SUGGESTED
from novakind.disk import csv_bytes, write_atomic
from novakind.results.outcome import COLUMNS, Outcome

CONFIG = "config.xml"
TAGS = {"image": "Image", "video": "Video"}  # Label Studio's, for kinds that it can show

Bring = Callable[[Sequence[str]], list[str]]
"""Puts items' files into the folder: their names as seen from there, "" for those that are gone."""


def to_imagefolder(outcome: Outcome, destination: Path, files: Bring) -> int:
    """data/ and metadata.csv, which `datasets.load_dataset("imagefolder", ...)` reads."""
    names = files(outcome.paths)
    rows = [(name, *row.values()) for name, row in zip(names, outcome.rows(), strict=True) if name]
    write_atomic(destination / METADATA[0], csv_bytes(["file_name", *COLUMNS], rows))
    return len(rows)


def to_fiftyone(outcome: Outcome, destination: Path, files: Bring) -> int:
    """data/ and labels.json, FiftyOneImageClassificationDataset: what is only suggested has it among its attributes."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys((*outcome.names, *outcome.category)))}
    labels: dict[str, Any] = {}
    for name, row in zip(files(outcome.paths), outcome.rows(), strict=True):
        if name:
            stem = PurePosixPath(name).relative_to(FILES).with_suffix("").as_posix()
            sure = {"confidence": row["probability"]} if row["status"] == SUGGESTED else {}
            said = {"status": row["status"], "learnt": row["label"] or ""}
            labels[stem] = {"label": numbers[str(row["category"])], **sure, "attributes": said}
    write_atomic(destination / FIFTYONE, as_json({"classes": list(numbers), "labels": labels}))
    return len(labels)


def to_labelstudio(
    outcome: Outcome, destination: Path, kind: str, files: Bring | None, texts: Mapping[str, str] | None, model: str
) -> int:
    """tasks.json and the labelling config: labels as annotations, suggestions as predictions.

    Pictures and videos are shown from the folder above the destination, which Label Studio must be told to serve.
    """
    names = files(outcome.paths) if files else list(outcome.paths)
    tasks = []
    for path, name, row in zip(outcome.paths, names, outcome.rows(), strict=True):
        if not name:
            continue
        data: dict[str, Any] = {"path": name, "status": row["status"]}
        if texts is not None:
            data = {"id": path, "text": texts.get(path, ""), "status": row["status"]}
        elif kind in TAGS:
            data[kind] = SERVED + quote(f"{destination.resolve().name}/{name}", errors="surrogateescape")
        task: dict[str, Any] = {"data": data}
        if row["label"]:
            task["annotations"] = [{"result": [choice(str(row["label"]))]}]
        if row["status"] != LABELED:
            score = float(str(row["probability"]))
            task["predictions"] = [{"model_version": model, "score": score, "result": [choice(str(row["suggested"]))]}]
        tasks.append(task)
    write_atomic(destination / TASKS, as_json(tasks))
    write_atomic(destination / CONFIG, config(kind, texts is not None, outcome.names).encode("utf-8", "replace"))
    return len(tasks)


def choice(name: str) -> dict[str, Any]:
    return {"type": "choices", "from_name": "category", "to_name": "item", "value": {"choices": [name]}}


def config(kind: str, is_text: bool, names: Sequence[str]) -> str:
    """The labelling config: the item, and all categories to choose from."""
    shown = "text" if is_text else kind if kind in TAGS else "path"
    choices = "\n".join(f"    <Choice value={quoteattr(name)}/>" for name in dict.fromkeys(names))
    return (
        f'<View>\n  <{TAGS.get(shown, "Text")} name="item" value="${shown}"/>\n'
        f'  <Choices name="category" toName="item" choice="single-radio">\n{choices}\n  </Choices>\n</View>\n'
    )


def as_json(content: Any) -> bytes:
    return json.dumps(content, indent=1).encode()
