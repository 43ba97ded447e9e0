"""Discovery: what a finished run found, and what a person made of it, as an immutable table of items and categories."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from rich.cells import cell_len, set_cell_size

from novakind.errors import UserError
from novakind.runs.cards import cards
from novakind.runs.carried import Carried
from novakind.runs.categories import Category, examples, majority_of
from novakind.runs.cells import clip, percent
from novakind.runs.record import read_predictions, read_results
from novakind.runs.review import Review
from novakind.runs.reviewed import CONFIRMED, IGNORED, LABELED, STATUS, Reviewed, Snapshot
from novakind.runs.standing import margins, masses, standing


@dataclass(frozen=True, eq=False)
class Discovery:
    """Every item of a run with its category, in the order of the items; "" is no label, or an unknown truth.

    Names, merges and all else that a person decided is in it. The verbs (`rename`, `merge`, ...) decide more: each
    returns the table as it is then, and of a run each is saved in the run's folder. Categories are given by their id or
    their name, items by their number or their path.
    """

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
    carried: Carried | None = None  # what a person decided in earlier rounds
    warnings: tuple[str, ...] = ()  # what novakind noticed during training, e.g. a collapse
    decided: Snapshot | None = None  # what a person decided; None for nothing yet
    margins: Float[np.ndarray, " items"] | None = None  # over the next best living category; None: over any
    review: Review | None = None

    @staticmethod
    def load(run: str | Path) -> Discovery:
        """Read a finished run folder, with all that a person has decided since."""
        found = Discovery.result(run)
        review = found.begin_review(Path(run))
        seen = found.reviewed(review)
        remark = review.log.remark() if review.log else ""
        return replace(seen, warnings=(*seen.warnings, remark)) if remark else seen

    @staticmethod
    def result(run: str | Path) -> Discovery:
        """Read what a finished run found, without what a person decided since."""
        run = Path(run)
        for name in ("predictions.csv", "embeddings.npz", "results.json"):
            if not os.path.lexists(run / name):
                raise UserError(
                    f"{run} has no {name}, as a finished run must: run its novakind discover again to finish it"
                )
        results = read_results(run)
        truth_classes = results.get("truth_classes")
        return Discovery(
            **read_predictions(run, results)._asdict(),
            names=tuple(results["classes"]),
            known=results["known"],
            truth_classes=None if truth_classes is None else tuple(truth_classes),
            warnings=tuple(results.get("warnings", ())),
        )

    def begin_review(self, run: Path | None = None) -> Review:
        """The decisions about this result, from the folder of its run, or none."""
        return Review(self.category, self.labels, self.names, self.known, self.logp, self.embedding, run, self.carried)

    def reviewed(self, review: Review) -> Discovery:
        """This result as the review has it now."""
        state = review.state
        if state.version == 0:
            return replace(self, review=review)
        decided = state.snapshot()
        category = np.where(decided.status == LABELED, state.roots[review.result], decided.category)
        sure = standing(state, masses(review.logp, state.groups()), category)
        probability, margins = (one.astype(np.float64) for one in sure)
        for array in (category, probability, margins):
            array.flags.writeable = False
        names = tuple(state.names)
        return replace(
            self,
            category=category,
            probability=probability,
            margins=margins,
            names=names,
            decided=decided,
            review=review,
        )

    @cached_property
    def snapshot(self) -> Snapshot:
        """What was decided, or the beginning, where nothing was."""
        if self.decided:
            return self.decided
        return Reviewed.of(self.category, self.labels, self.names, self.known, carried=self.carried).snapshot()

    @cached_property
    def status(self) -> tuple[str, ...]:
        """Of every item: labeled (it came so), confirmed (a person decided), suggested (by the model), or ignored."""
        return tuple(STATUS[one] for one in self.snapshot.status)

    @cached_property
    def sureness(self) -> Float[np.ndarray, " items"]:
        """The probability of every item's category minus that of the next best one."""
        if self.margins is not None:
            return self.margins
        return margins(self.logp)

    @cached_property
    def categories(self) -> tuple[Category, ...]:
        """The categories in the order of their ids, including empty ones and those that were merged into others."""
        margin, seen, found = self.sureness, self.snapshot, []
        classes = {number for number, named in enumerate(self.carried.named) if named} if self.carried else set()
        labeled, ignored = seen.status == LABELED, seen.status == IGNORED
        for number, name in enumerate(self.names):
            members = np.flatnonzero((self.category == number) & ~ignored)
            free, bound = members[~labeled[members]], members[labeled[members]]
            judged = free if len(free) else members
            typical, doubtful = examples(free, bound, margin, self.probability, self.embedding)
            majority, purity = majority_of([self.truth[item] for item in free])
            category = Category(
                id=number,
                name=name,
                is_new=number >= self.known and number not in classes,
                size=len(free),
                labeled=int((labeled & (seen.category == number)).sum()),
                confidence=float(self.probability[judged].mean()) if len(judged) else float("nan"),
                typical=typical,
                doubtful=doubtful,
                majority=majority,
                purity=purity,
                confirmed=int((seen.status[free] == CONFIRMED).sum()),
                named=seen.named[number],
                alive=seen.alive[number],
                into=seen.into[number],
            )
            found.append(category)
        return tuple(found)

    @cached_property
    def final(self) -> tuple[str, ...]:
        """The label of every item: the one it came with, otherwise the name of its category; "" for an ignored one."""
        seen = self.snapshot
        return tuple(
            "" if status == IGNORED else (label if status == LABELED and self.decided is None else self.names[number])
            for label, status, number in zip(self.labels, seen.status, seen.category, strict=True)
        )

    @cached_property
    def certain(self) -> tuple[str, ...]:
        """What a next round may learn from, "" for the rest: labels as given or mended, and confirmed items of known
        classes and of categories that a person named."""
        seen = self.snapshot
        settled = [number < self.known or named for number, named in enumerate(seen.named)]
        return tuple(
            name if status == LABELED or (status == CONFIRMED and settled[number]) else ""
            for name, status, number in zip(self.final, seen.status, seen.category, strict=True)
        )

    def table(self, width: int = 0, text: Callable[[int], str] | None = None) -> str:
        """The categories as text of `width` columns (0: as the terminal has, at most 120), the new ones first.

        Examples are shown by their paths, or by what `text` says of an item's number.
        """
        said = text and (lambda item: " ".join(text(item)[:200].split()))
        width = width or min(120, shutil.get_terminal_size((100, 24)).columns)
        living = [category for category in self.categories if category.alive]
        ordered = sorted(living, key=lambda category: not category.is_new)
        judged = any(one.majority for one in ordered)
        rows = [["category", "items", "labeled", "confidence", *(["majority", "purity"] if judged else [])]]
        for one in ordered:
            counts = [str(one.size), str(one.labeled or "-"), percent(one.confidence)]
            truth = [clip(one.majority, 12), percent(one.purity)] if judged else []
            rows.append([clip(one.name, 20), *counts, *truth])
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        space = width - sum(widths) - 2 * len(widths)
        shown = max(1, min(3, space // (30 if said else 12)))  # a sentence needs more room than a name
        room = max(10, (space - 2 * (shown - 1)) // shown)
        examples = [
            "  ".join(clip(said(i) if said else self.paths[i], room, tail=not said) for i in one.typical[:shown])
            for one in ordered
        ]
        lines = []
        for row, example in zip(rows, ["examples", *examples], strict=True):
            cells = []
            for column, (cell, size) in enumerate(zip(row, widths, strict=True)):
                is_text = column in (0, 4)  # names stand left, numbers right
                cells.append(set_cell_size(cell, size) if is_text else cell.rjust(size))
            lines.append("  ".join([*cells, example]).rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The cards of the page, in a notebook."""
        log = self.review.log if self.review else None
        return cards(self.categories, self.paths, log.path.parent if log else None)

    def rename(self, category: int | str, name: str) -> Discovery:
        """Give a category a name; an empty one takes it back."""
        return self._do("rename", category=self._category(category), name=name)

    def merge(self, into: int | str, *others: int | str) -> Discovery:
        """Put other categories into one, which keeps its id and its name."""
        return self._do("merge", into=self._category(into), categories=[self._category(one) for one in others])

    def split(self, category: int | str, *parts: Any) -> Discovery:
        """Make categories of parts of one; the first part, and what is in none, stays."""
        return self._do("split", category=self._category(category), parts=[self._items(part) for part in parts])

    def move(self, items: Any, to: int | str) -> Discovery:
        """Put items into a category; what a person moves is confirmed."""
        return self._do("move", items=self._items(items), to=self._category(to))

    def create(self, items: Any, name: str = "") -> Discovery:
        """Make a new category of items."""
        return self._do("create", items=self._items(items), name=name)

    def confirm(self, items: Any = None, category: int | str | None = None) -> Discovery:
        """Say that items, or all of a category, are where they belong."""
        if category is not None:
            return self._do("confirm", category=self._category(category))
        return self._do("confirm", items=self._items(items))

    def ignore(self, items: Any) -> Discovery:
        """Leave items out, of learning too; a `move` takes them in again."""
        return self._do("ignore", items=self._items(items))

    def reject(self, items: Any, category: int | str) -> Discovery:
        """Say that items are not of their category: each goes to its next best one, and never back by itself."""
        return self._do("reject", items=self._items(items), category=self._category(category))

    def different(self, one: int | str, other: int | str) -> Discovery:
        """Say that two categories are not the same: they are never suggested to be merged again."""
        return self._do("different", categories=[self._category(one), self._category(other)])

    def undo(self) -> Discovery:
        """Take the last decision back that stands, whoever made it."""
        return self._do("undo")

    def redo(self) -> Discovery:
        """Do again what was undone last."""
        return self._do("redo")

    def _do(self, verb: str, **given: Any) -> Discovery:
        review = self.review or self.begin_review()
        review.do({"verb": verb, **given})
        return self.reviewed(review)

    def _category(self, given: int | str) -> int:
        if not isinstance(given, str):
            return int(given)
        living = [one for one, name in enumerate(self.names) if name == given and self.snapshot.alive[one]]
        if not living:
            raise UserError(f"no category is called {given}: give the name or the id of one that is there")
        return living[0]

    def _items(self, given: Any) -> list[int]:
        some = [given] if isinstance(given, str | int | np.integer) else given
        if not isinstance(some, Iterable):
            raise UserError(f"{given!r:.50} are no items: give their numbers or paths")
        return [self._places.get(one, -1) if isinstance(one, str) else int(one) for one in some]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {path: item for item, path in enumerate(self.paths)}
