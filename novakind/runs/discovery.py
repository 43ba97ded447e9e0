"""Discovery: what a finished run found, as an immutable table of items and categories."""

from __future__ import annotations

import csv
import json
import shutil
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from rich.cells import cell_len, set_cell_size

from novakind.errors import UserError

EXAMPLES = 12  # typical items kept per category, and as many doubtful ones

Items = Int[np.ndarray, " some"]


@dataclass(frozen=True)
class Category:
    """One output of the model and the items given to it; `id` is its place among the K outputs and never changes.

    `typical` and `doubtful` share no item, and unlabeled items come first in both. `majority` is the most frequent true
    class of its unlabeled items and `purity` that class's share: "" and NaN where the truth is not known.
    """

    id: int
    name: str
    is_new: bool
    size: int  # unlabeled items assigned to it
    labeled: int  # items that came with its label
    confidence: float  # mean probability of its unlabeled items (of all its items where it has none); NaN if empty
    typical: tuple[int, ...]
    doubtful: tuple[int, ...]
    majority: str
    purity: float


@dataclass(frozen=True, eq=False)
class Discovery:
    """Every item of a run with its category, in the order of the items; "" is no label, or an unknown truth."""

    paths: tuple[str, ...]
    splits: tuple[str, ...]
    labels: tuple[str, ...]
    truth: tuple[str, ...]
    category: Int[np.ndarray, " items"]
    probability: Float[np.ndarray, " items"]
    embedding: Float[np.ndarray, "items dims"]
    logp: Float[np.ndarray, "items categories"]
    names: tuple[str, ...]  # of the K categories: the known classes, then the new ones
    known: int
    truth_classes: tuple[str, ...] | None  # the known classes first, in the order of `names`
    warnings: tuple[str, ...] = ()  # what novakind noticed during training, e.g. a collapse

    @staticmethod
    def load(run: str | Path) -> Discovery:
        """Read a finished run folder."""
        run = Path(run)
        for name in ("predictions.csv", "embeddings.npz", "results.json"):
            if not (run / name).is_file():
                raise UserError(f"{run} has no {name}, as a finished run must: run the same command again to finish it")
        try:
            return Discovery._read(run)
        except UserError:
            raise
        except Exception as error:  # damaged files raise almost anything
            reason = f"{type(error).__name__}: {error}".split("\n")[0][:80]
            raise UserError(f"{run} is damaged ({reason}): run the same command again to rewrite its results") from None

    @staticmethod
    def _read(run: Path) -> Discovery:
        with (run / "predictions.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = list(csv.DictReader(file))
        results = json.loads((run / "results.json").read_text(encoding="utf-8"))
        with np.load(run / "embeddings.npz") as arrays:
            embedding, logp = arrays["embedding"].astype(np.float32), arrays["logp"].astype(np.float32)
        if not len(rows) == len(embedding) == len(logp) or logp.shape[1] != len(results["classes"]):
            found = f"{len(rows)} predictions of {len(results['classes'])} classes but arrays of shape {logp.shape}"
            raise UserError(f"{run} has {found}, which must agree: run the same command again to rewrite them")
        category = np.array([int(row["id"]) for row in rows], dtype=np.int64)
        probability = np.array([float(row["probability"]) for row in rows], dtype=np.float64)
        for array in (category, probability, embedding, logp):
            array.flags.writeable = False
        truth_classes = results.get("truth_classes")
        return Discovery(
            paths=tuple(row["path"] for row in rows),
            splits=tuple(row["split"] for row in rows),
            labels=tuple(row["label"] for row in rows),
            truth=tuple(row["truth"] for row in rows),
            category=category,
            probability=probability,
            embedding=embedding,
            logp=logp,
            names=tuple(results["classes"]),
            known=results["known"],
            truth_classes=None if truth_classes is None else tuple(truth_classes),
            warnings=tuple(results.get("warnings", ())),
        )

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The K categories in the order of their ids, including empty ones."""
        direction = unit(self.embedding)
        best = np.sort(np.exp(self.logp), axis=1)[:, ::-1]
        margin = best[:, 0] - best[:, 1] if best.shape[1] > 1 else best[:, 0]
        unlabeled = np.array([not label for label in self.labels], dtype=bool)
        given, found = Counter(self.labels), []
        for number, name in enumerate(self.names):
            members = np.flatnonzero(self.category == number)
            free, bound = members[unlabeled[members]], members[~unlabeled[members]]
            judged = free if len(free) else members
            truths = Counter(self.truth[item] for item in free if self.truth[item]).most_common()
            typical, doubtful = [], []
            for group in (free, bound):
                worst = group[np.argsort(margin[group], kind="stable")][: min(EXAMPLES, len(group) // 2)]
                doubtful += worst.tolist()
                typical += most_typical(np.setdiff1d(group, worst), direction, self.probability)
            category = Category(
                id=number,
                name=name,
                is_new=number >= self.known,
                size=len(free),
                labeled=given[name] if number < self.known else 0,
                confidence=float(self.probability[judged].mean()) if len(judged) else float("nan"),
                typical=tuple(typical[:EXAMPLES]),
                doubtful=tuple(doubtful[:EXAMPLES]),
                majority=truths[0][0] if truths else "",
                purity=truths[0][1] / sum(count for _, count in truths) if truths else float("nan"),
            )
            found.append(category)
        return tuple(found)

    @cached_property
    def final(self) -> tuple[str, ...]:
        """The label of every item: the one it came with, otherwise the name of its category."""
        return tuple(label or self.names[number] for label, number in zip(self.labels, self.category, strict=True))

    def table(self, width: int = 0) -> str:
        """The categories as text of `width` columns (0: as the terminal has, at most 120), the new ones first."""
        width = width or min(120, shutil.get_terminal_size((100, 24)).columns)
        ordered = sorted(self.categories, key=lambda category: not category.is_new)
        judged = any(one.majority for one in ordered)
        rows = [["category", "items", "labeled", "confidence", *(["majority", "purity"] if judged else [])]]
        for one in ordered:
            counts = [str(one.size), str(one.labeled or "-"), percent(one.confidence)]
            truth = [clip(one.majority, 12), percent(one.purity)] if judged else []
            rows.append([clip(one.name, 20), *counts, *truth])
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        space = width - sum(widths) - 2 * len(widths)
        shown = max(1, min(3, space // 12))
        room = max(10, (space - 2 * (shown - 1)) // shown)
        examples = ["  ".join(clip(self.paths[i], room, tail=True) for i in one.typical[:shown]) for one in ordered]
        lines = []
        for row, example in zip(rows, ["examples", *examples], strict=True):
            cells = []
            for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
                is_text = column in (0, 4)  # names stand left, numbers right
                cells.append(set_cell_size(cell, size) if is_text else cell.rjust(size))
            lines.append("  ".join([*cells, example]).rstrip())
        return "\n".join(lines)


def unit(embedding: Float[np.ndarray, "items dims"]) -> Float[np.ndarray, "items dims"]:
    """Rows of length 1; a row that is zero or not a number becomes zero."""
    embedding = np.nan_to_num(embedding, posinf=0, neginf=0)
    return embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-12)


def most_typical(
    members: Items, direction: Float[np.ndarray, "items dims"], probability: Float[np.ndarray, " items"]
) -> list[int]:
    """Members with high confidence and close to their mean direction; near-copies of one already chosen come last."""
    centre = unit(direction[members].sum(0, keepdims=True))[0]
    closeness = direction[members] @ centre
    ranked = members[np.argsort(-probability[members] * (1 + closeness), kind="stable")][: 10 * EXAMPLES].tolist()
    copy = 1 - 0.01 * (1 - closeness.sum() / max(len(members), 1))  # a hundredth of the mean distance to the centre
    chosen: list[int] = []
    for item in ranked:
        if not chosen or (direction[chosen] @ direction[item]).max() < copy:
            chosen.append(item)
    return [*chosen, *(item for item in ranked if item not in chosen)][:EXAMPLES]


def percent(share: float) -> str:
    """A share as text; only what is whole is called 100%, and only what is nothing 0%."""
    if np.isnan(share):
        return "-"
    rounded = round(100 * share)
    return f"{min(max(rounded, 1), 99) if 0 < share < 1 else rounded}%"


def clip(text: str, width: int, tail: bool = False) -> str:
    """At most `width` columns of printable text; of a long one the beginning, or with `tail` the end, is kept."""
    text = "".join(sign if unicodedata.category(sign)[0] != "C" or sign == "\u200d" else "?" for sign in text)
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:] if tail else text[:-1]
    if tail and "/" in text:
        text = text[text.index("/") :]  # whole names are easier to read than pieces
    return f"…{text}" if tail else f"{text}…"
