"""Desk: one run under review: its result, its decisions, what is seen of it; one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.errors import UserError
from novakind.results.report.contents import facts
from novakind.results.report.layout import placed, sample
from novakind.results.review.nearest import NEAR, Neighbourhood, links
from novakind.results.review.overview import Overview
from novakind.results.review.queue import View, queue, view_of
from novakind.results.review.rounds import Rounds
from novakind.results.review.showing import Showing
from novakind.results.review.suggest import merges
from novakind.runs.discovery import Discovery
from novakind.runs.record import read_results
from novakind.runs.review import Saved
from novakind.runs.reviewed import STATUS, Items

SAMPLED = 6_000  # items whose neighbours are found


class Desk:
    """What the server's answers are made of. `gone` says why the run can no longer be edited, "" while it can."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.found = Discovery.result(run)
        self.review = self.found.begin_review(run)
        self.overview = Overview(self.review)
        self.showing = Showing(run, len(self.found.paths))
        self.rounds = Rounds(run)
        self.gone = ""
        self._turn = threading.RLock()

    @property
    def count(self) -> int:
        return len(self.found.paths)

    @contextmanager
    def turn(self) -> Iterator[Overview]:
        """The overview, which nobody else changes meanwhile."""
        with self._turn:
            self.overview.refresh()
            yield self.overview

    def watch(self) -> int:
        """Take in what other processes decided; the version that is reached."""
        with self._turn:
            try:
                self.review.sync()
            except UserError as error:
                self.gone = str(error)
            return self.review.state.version

    def do(self, edit: dict[str, Any], base: int | None) -> Saved:
        with self._turn:
            return self.review.do(edit, base)

    def events(self, after: int) -> list[dict[str, Any]]:
        """The edits beyond a version."""
        edits = self.review.state.edits
        return [{"version": edit["seq"], "edit": edit} for edit in edits[after:]]

    def state(self) -> dict[str, Any]:
        """What /api/state answers."""
        with self.turn() as overview:
            return overview.state()

    def table(self) -> tuple[int, bytes]:
        """What /api/table answers, and of which version it is."""
        with self.turn() as overview:
            return overview.version, overview.table()

    def order(self) -> bytes:
        """What /api/order answers: the place of every item among all by their paths, as unsigned numbers of 32 bits."""
        place = np.empty(self.count, dtype="<u4")
        place[sorted(range(self.count), key=self.found.paths.__getitem__)] = np.arange(self.count)
        return place.tobytes()

    def merges(self, limit: int) -> list[dict[str, Any]]:
        """What /api/merges answers."""
        around = self.around
        with self.turn() as overview:
            return merges(overview, limit, around)

    def queue(self, limit: int) -> dict[str, Any]:
        """What /api/queue answers."""
        view = self.view
        with self.turn() as overview:
            return queue(overview, limit, view)

    @cached_property
    def sampled(self) -> Items:
        """Items of which neighbours are found, and of which the queue is made."""
        return sample(self.review.result, SAMPLED)

    @cached_property
    def seen(self) -> Float[np.ndarray, "chosen dims"] | None:
        """What the model saw of those; None where that says little."""
        return self.showing.inputs(self.sampled)

    @cached_property
    def around(self) -> Neighbourhood:
        """Items and their neighbours in what the model saw, or, where that says little, in its own space."""
        rows = self.review.embedding[self.sampled] if self.seen is None else self.seen
        return Neighbourhood(self.sampled, links(rows, NEAR))

    @cached_property
    def view(self) -> View:
        """Items as the queue compares them."""
        return view_of(self.sampled, self.review.embedding[self.sampled], self.seen)

    def rows(self, items: list[int]) -> dict[int, dict[str, Any]]:
        """What /api/rows answers."""
        with self.turn() as overview:
            tops = overview.tops(np.array(items, dtype=np.int64))
            places = [(int(overview.category[item]), STATUS[overview.status[item]]) for item in items]
        found = self.found
        return {
            item: {
                "path": found.paths[item],
                "split": found.splits[item],
                "label": found.labels[item],
                "truth": found.truth[item],
                "category": category,
                "top": top,
                "status": status,
                **self.showing.row(item),
            }
            for item, top, (category, status) in zip(items, tops, places, strict=True)
        }

    def found_name(self) -> str:
        return str(read_results(self.run).get("data", self.run.name))

    def about(self) -> dict[str, Any]:
        """What /api/run answers: the report's contents, without rows and pictures."""
        with self._turn:
            now = self.found.reviewed(self.review)
        found = facts(self.run, now, placed(self.run, now, patient=False))
        found["warnings"] += [self.showing.remark()] if self.showing.remark() else []
        more = self.showing.about(now.category)
        outputs = len(self.found.names)  # of the model; what a person makes comes after them
        return {**found, **more, "rows": {}, "count": self.count, "outputs": outputs}
