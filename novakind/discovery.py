"""Discovery: what a finished run found, as an immutable table of items and categories, and ways to take it away."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from rich.cells import cell_len, set_cell_size

from novakind.errors import UserError

EXAMPLES = 12  # typical items kept a category, and as many doubtful ones
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # names that Windows keeps for devices

Items = Int[np.ndarray, " some"]


@dataclass(frozen=True)
class Category:
    """One output of the model and the items given to it; `id` is its place among the K outputs and never changes.

    `typical` and `doubtful` share no item, and unlabeled items come first in both. `majority` is the commonest true
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
    """Every item of a run with its category, in the order of the items; "" is no label, or a truth nobody knows."""

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

    @staticmethod
    def load(run: Path) -> Discovery:
        """Read a finished run folder."""
        for name in ("predictions.csv", "embeddings.npz", "results.json"):
            if not (run / name).is_file():
                raise UserError(f"{run} has no {name}, as a finished run must: run the same command again to finish it")
        with (run / "predictions.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = list(csv.DictReader(file))
        results = json.loads((run / "results.json").read_text(encoding="utf-8"))
        with np.load(run / "embeddings.npz") as arrays:
            embedding, logp = arrays["embedding"].astype(np.float32), arrays["logp"].astype(np.float32)
        if not len(rows) == len(embedding) == len(logp) or logp.shape[1] != len(results["classes"]):
            found = f"{len(rows)} predictions of {len(results['classes'])} classes but arrays of shape {logp.shape}"
            raise UserError(f"{run} has {found}, which must agree: run the same command again to write them anew")
        category = np.array([int(row["category"]) for row in rows], dtype=np.int64)
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
        )

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The K categories in the order of their ids, those that got no item too."""
        direction = unit(self.embedding)
        best = np.sort(np.exp(self.logp), axis=1)[:, ::-1]
        margin = best[:, 0] - best[:, 1] if best.shape[1] > 1 else best[:, 0]
        unlabeled = np.array([not label for label in self.labels], dtype=bool)
        given, found = Counter(self.labels), []
        for number, name in enumerate(self.names):
            members = np.flatnonzero(self.category == number)
            free, bound = members[unlabeled[members]], members[~unlabeled[members]]
            judged = free if len(free) else members
            truths = Counter(self.truth[item] for item in judged if self.truth[item]).most_common()
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
        """The label of every item: the one it came with, or else the name of its category."""
        return tuple(label or self.names[number] for label, number in zip(self.labels, self.category, strict=True))

    def table(self, width: int = 100) -> str:
        """The categories as text for a terminal of `width` columns, the new ones first."""
        ordered = sorted(self.categories, key=lambda category: not category.is_new)
        judged = any(one.majority for one in ordered)
        rows = [["id", "category", "items", "labeled", "sure", *(["mostly", "pure"] if judged else [])]]
        for one in ordered:
            counts = [str(one.size), str(one.labeled or "-"), percent(one.confidence)]
            truth = [clip(one.majority, 12), percent(one.purity)] if judged else []
            rows.append([str(one.id), clip(one.name, 20), *counts, *truth])
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        space = width - sum(widths) - 2 * len(widths)
        shown = 3 if space >= 34 else 1
        room = max(10, (space - 2 * (shown - 1)) // shown)
        examples = ["  ".join(clip(self.paths[i], room, tail=True) for i in one.typical[:shown]) for one in ordered]
        lines = []
        for row, example in zip(rows, ["examples", *examples], strict=True):
            cells = []
            for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
                is_text = column in (1, 5)  # names stand left, numbers right
                cells.append(set_cell_size(cell, size) if is_text else cell.rjust(size))
            lines.append("  ".join([*cells, example]).rstrip())
        return "\n".join(lines)

    def export_csv(self, path: Path) -> None:
        """`path,label` and how each label came about: a manifest that can be loaded as the next collection."""
        with replacing(path) as part, part.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            writer = csv.writer(file)
            writer.writerow(["path", "label", "given", "category", "probability"])
            writer.writerows(zip(self.paths, self.final, self.labels, self.category, self.probability, strict=True))

    def export_npz(self, path: Path) -> None:
        """Arrays in the order of the items; `y` is the given label's number where there is one, else the category."""
        numbers = {name: number for number, name in enumerate(self.names[: self.known])}
        y = [numbers.get(label, int(number)) for label, number in zip(self.labels, self.category, strict=True)]
        arrays = {name: getattr(self, name) for name in ("category", "probability", "embedding", "logp")}
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, path=np.array(self.paths), names=np.array(self.names), y=np.array(y), **arrays)

    def export_folders(
        self, destination: Path, root: Path, link: bool, everything: bool = False
    ) -> tuple[int, list[str]]:
        """Copy or link the files of unlabeled items (or of `everything`) into folders named after their categories.

        No existing file is ever overwritten: the newcomer gets a number. Returns how many files were written, and the
        paths of those that are gone or cannot be read.
        """
        if all(path.isdecimal() for path in self.paths) and not any((root / path).exists() for path in self.paths[:99]):
            raise UserError(
                "these items are rows of an array and only files go into folders: export csv or npz instead"
            )
        if destination.exists() and not destination.is_dir():
            raise UserError(f"{destination} is a file, and an export needs a folder: name another destination")
        folders, gone, used = folder_names((*self.names, *self.final)), [], Counter()
        chosen = [item for item, label in enumerate(self.labels) if everything or not label]
        for item in chosen:
            source, folder = root / self.paths[item], destination / folders[self.final[item]]
            if not source.is_file() or not os.access(source, os.R_OK):
                gone.append(self.paths[item])
                continue
            folder.mkdir(parents=True, exist_ok=True)
            target, placed = folder / source.name, False
            while not placed:
                used[target] += 1
                number = "" if used[target] == 1 else f" ({used[target]})"
                placed = put(source.absolute(), target.with_stem(target.stem + number), link)
        return len(chosen) - len(gone), gone


def unit(embedding: Float[np.ndarray, "items dims"]) -> Float[np.ndarray, "items dims"]:
    """Rows of length 1; a row that is zero or not a number becomes zero."""
    embedding = np.nan_to_num(embedding, posinf=0, neginf=0)
    return embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-12)


def most_typical(
    members: Items, direction: Float[np.ndarray, "items dims"], probability: Float[np.ndarray, " items"]
) -> list[int]:
    """The surest members nearest to their mean direction; near-copies of one already chosen come last."""
    centre = unit(direction[members].sum(0, keepdims=True))[0]
    closeness = direction[members] @ centre
    ranked = members[np.argsort(-probability[members] * (1 + closeness), kind="stable")][: 10 * EXAMPLES].tolist()
    copy = 1 - 0.01 * (1 - closeness.sum() / max(len(members), 1))  # a hundredth of the mean distance to the centre
    chosen: list[int] = []
    for item in ranked:
        if not chosen or (direction[chosen] @ direction[item]).max() < copy:
            chosen.append(item)
    return [*chosen, *(item for item in ranked if item not in chosen)][:EXAMPLES]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to: it takes the place of `path` when the block ends well, else it vanishes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def put(source: Path, target: Path, link: bool) -> bool:
    """Link or copy a file; False, and nothing done, where anything stands at `target` already."""
    try:
        if link:
            target.symlink_to(source)
            return True
        with source.open("rb") as reader, target.open("xb") as writer:
            try:
                shutil.copyfileobj(reader, writer)
            except OSError:
                target.unlink()  # half a copy would pass for a whole one
                raise
        shutil.copystat(source, target)
        return True
    except FileExistsError:
        return False


def safe_name(name: str) -> str:
    """A folder name for any file system: what some forbid becomes "_", accents and emoji stay, at most 120 bytes."""
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f\x7f]', "_", unicodedata.normalize("NFC", name))
    name = name.encode("utf-8", "replace")[:120].decode("utf-8", "ignore").strip(" .")
    return f"_{name}" if not name or RESERVED.fullmatch(name) else name


def folder_names(names: tuple[str, ...]) -> dict[str, str]:
    """A folder for each name: names that differ never share one, even where a file system ignores case."""
    folders: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        folder, number = safe_name(name), 1
        while folder.casefold() in taken:
            number += 1
            folder = f"{safe_name(name)} ({number})"
        taken.add(folder.casefold())
        folders[name] = folder
    return folders


def percent(share: float) -> str:
    """A share as text; only what is whole is called 100%."""
    return "-" if np.isnan(share) else f"{int(share * 100)}%"


def clip(text: str, width: int, tail: bool = False) -> str:
    """At most `width` columns of printable text; of a long one the beginning, or with `tail` the end, is kept."""
    text = "".join(sign if unicodedata.category(sign)[0] != "C" or sign == "\u200d" else "?" for sign in text)
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[1:] if tail else text[:-1]
    return f"…{text}" if tail else f"{text}…"
