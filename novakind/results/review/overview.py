"""Overview: what the page shows of every item and category, kept up to date edit by edit."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from novakind.runs.categories import examples
from novakind.runs.review import Review
from novakind.runs.reviewed import CONFIRMED, IGNORED, LABELED, Items, PerItem
from novakind.runs.standing import masses, unit

PerCard = dict[str, Any]
Numbers = Float[np.ndarray, " items"]


class Overview:
    """Probabilities, margins and likenesses of all items, and a card for each category, of one version of a review.

    All is a function of the version alone, so that two servers show the same. What an edit did not touch is kept.
    """

    def __init__(self, review: Review) -> None:
        self.review = review
        self.version = -1
        self.groups: Int[np.ndarray, " outputs"] = np.zeros(0, dtype=np.int64)
        self.mass: Float[np.ndarray, "items groups"] = np.zeros((0, 0), dtype=np.float32)
        self.category: PerItem = np.zeros(0, dtype=np.int64)
        self.status = review.state.status.copy()
        self.probability = self.margin = self.likeness = np.zeros(len(self.status), dtype=np.float32)
        self.centres: dict[int, Float[np.ndarray, " dims"]] = {}
        self.cards: dict[int, PerCard] = {}
        self._best = self._second = self.probability

    def refresh(self) -> None:
        """Catch up with the review."""
        state = self.review.state
        if self.version == state.version:
            return
        category, status, groups = state.category, state.status.copy(), state.groups()
        every = set(range(len(state.names)))
        if len(groups) != len(self.groups) or (groups != self.groups).any():
            self.groups, self.mass = groups, masses(self.review.logp, groups)
            self._second, self._best = two_best(self.mass)
            stale = every
        else:
            moved = (category != self.category) | (status != self.status)
            stale = {*category[moved].tolist(), *self.category[moved].tolist(), *(every - set(self.cards))}
        self.category, self.status = category, status
        self._stand()
        order = np.argsort(category, kind="stable")
        ends = np.searchsorted(category[order], np.arange(len(state.names) + 1))
        self.likeness = self.likeness.copy()
        for number in sorted(stale):
            self._describe(number, order[ends[number] : ends[number + 1]])
        self.version = state.version

    def _stand(self) -> None:
        voices = self.review.state.voices
        own = np.where(voices >= 0, self.groups[voices], -1)[self.category]
        probability = self.mass[np.arange(len(own)), own]
        rival = np.where(probability >= self._best, self._second, self._best)
        self.probability = np.where(own >= 0, probability, 1).astype(np.float32)
        self.margin = np.where(own >= 0, probability - rival, 1).astype(np.float32)

    def _describe(self, number: int, every: Items) -> None:
        """The card of a category and the likeness of its items to its centre."""
        members = every[self.status[every] != IGNORED]
        direction = unit(self.review.embedding[every])
        kept = self.status[every] != IGNORED
        centre = unit(direction[kept].sum(0, keepdims=True))[0] if len(members) else np.zeros(direction.shape[1])
        self.centres[number] = centre.astype(np.float32)
        self.likeness[every] = direction @ self.centres[number]
        labeled = self.status[members] == LABELED
        free, bound = members[~labeled], members[labeled]
        typical, doubtful = examples(free, bound, self.margin, self.probability, self.review.embedding)
        judged = free if len(free) else members
        self.cards[number] = {
            "size": len(free),
            "labeled": len(bound),
            "confirmed": int((self.status[free] == CONFIRMED).sum()),
            "confidence": float(self.probability[judged].mean()) if len(judged) else None,
            "typical": list(typical),
            "doubtful": list(doubtful),
        }
        own = (free if len(free) else bound)[self.review.state.raw[free if len(free) else bound] == number]
        if 0 < len(own) < len(judged):  # others were merged in, and the picture stays that of before
            typical, _ = examples(own, own[:0], self.margin, self.probability, self.review.embedding)
        self.cards[number]["cover"] = (*typical, *doubtful, None)[0]

    def state(self) -> dict[str, Any]:
        """What /api/state answers."""
        self.refresh()
        state, review = self.review.state, self.review
        roots = state.roots
        return {
            "version": state.version,
            "categories": [
                {
                    "id": number,
                    "name": name,
                    "named": state.named[number],
                    "new": number >= state.known,
                    "alive": state.alive[number],
                    "into": None if roots[number] == number else int(roots[number]),
                    **self.cards[number],
                }
                for number, name in enumerate(state.names)
            ],
            "undo": review.undo_text(),
            "redo": review.redo_text(),
            "ignored": int((state.status == IGNORED).sum()),
            "left": review.left(),
        }

    def table(self) -> bytes:
        """What /api/table answers: columns of all items, one after the other."""
        self.refresh()
        columns = (
            self.category.astype("<i4"),
            self.probability.astype("<f4"),
            self.status.astype("<u1"),
            self.margin.astype("<f4"),
            self.likeness.astype("<f4"),
        )
        return b"".join(column.tobytes() for column in columns)

    def tops(self, items: Items, count: int = 5) -> list[list[tuple[int, float]]]:
        """The most probable living categories of some items; not those that an item was kept out of.

        Categories that share an output, as the parts of a split do, share its probability: the one that has the item
        leads, or the one whose centre is closest to it.
        """
        self.refresh()
        state = self.review.state
        voices, rejected = state.voices, state.rejected
        living = [number for number, alive in enumerate(state.alive) if alive and voices[number] >= 0]
        chances = self.mass[items][:, self.groups[voices[living]]]
        rows = unit(self.review.embedding[items])
        likeness = rows @ np.stack([self.centres[number] for number in living]).T
        own = np.array(living)[None] == self.category[items][:, None]
        order = np.lexsort((-likeness, ~own, -chances), axis=1)
        found = []
        for item, places, row in zip(items.tolist(), order.tolist(), chances, strict=True):
            open_ones = (place for place in places if (item, living[place]) not in rejected)
            best = [(living[place], round(float(row[place]), 4)) for place in open_ones]
            found.append(best[:count])
        return found


def two_best(mass: Float[np.ndarray, "items groups"]) -> tuple[Numbers, Numbers]:
    """The second greatest and the greatest of each row."""
    if mass.shape[1] < 2:
        return np.zeros(len(mass), dtype=np.float32), mass[:, 0]
    pair = np.partition(mass, mass.shape[1] - 2, axis=1)[:, -2:]
    return pair[:, 0].copy(), pair[:, 1].copy()
