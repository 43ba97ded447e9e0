"""Which items make up each step: a batch of labeled and a batch of unlabeled ones, derived from (seed, epoch) alone.

Nothing here has state, so a resumed run draws exactly what the uninterrupted one would have drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from novakind.errors import UserError

Indices = Int[np.ndarray, " _"]

SENSIBLE = 4096  # of a batch, however few items there are


def check_batch(batch: int, novel: int, method: str) -> None:
    """The paper's rule, for a method that cannot take steps in parts: ten unlabeled items for each novel class."""
    if batch < 10 * novel:
        raise UserError(
            f"--batch {batch} is below 10 x {novel} new categories, too few for their statistics, and "
            f"--method {method} cannot see a step in parts: give --batch {10 * novel} or more, or a smaller --novel"
        )


class Drawn(NamedTuple):
    """The numbers of a step's items."""

    labeled: Indices
    unlabeled: Indices
    second: Indices
    """What the second view of each unlabeled item is taken from: the item itself, or a partner."""


class Sampler:
    """Epochs over the unlabeled items; labeled ones are drawn alongside, in as many rounds as it takes.

    A step holds `batch` items of each kind, but at least ten unlabeled ones for each novel class, the paper's rule: it
    is looked at in `parts` where that is more. `proportionate` shares out the same sum as the data are shared out, but
    never leaves fewer than ten unlabeled items for each novel class. `partners` numbers what unlabeled items have in
    common, e.g. the moment that several cameras filmed: another item with that number then stands in for the second
    view, where there is one. Or it lists, for each of them, the places of some others, one of which does.
    """

    def __init__(
        self,
        labeled: Indices,
        unlabeled: Indices,
        batch: int,
        novel: int,
        proportionate: bool = False,
        seed: int = 0,
        partners: Indices | Int[np.ndarray, "items some"] | None = None,
    ) -> None:
        self.given = (novel, proportionate, seed, partners)
        self.batch = batch
        if len(unlabeled) < 10 * novel:
            raise UserError(
                f"{len(unlabeled)} unlabeled items to train on are fewer than 10 x {novel} new categories: "
                "add items, or give a smaller --novel"
            )
        most = max(SENSIBLE, len(labeled) + len(unlabeled))
        if batch > most:  # labeled items would be repeated until no memory is left
            raise UserError(
                f"--batch {batch} is more than the {len(labeled) + len(unlabeled)} items to train on: "
                f"give --batch {most} or less"
            )
        self.labeled, self.unlabeled, self.seed = labeled, unlabeled, seed
        self.parts = max(1, -(-10 * novel // batch))
        batch = max(batch, 10 * novel)
        total, share = 2 * batch, len(unlabeled) / (len(labeled) + len(unlabeled))
        wanted = min(max(10 * novel, round(total * share)), total - 2) if proportionate else batch
        self.unlabeled_batch = min(wanted, len(unlabeled))
        self.labeled_batch = total - wanted
        self.steps = len(unlabeled) // self.unlabeled_batch
        self.partners = partners

    def limited(self, batch: int) -> Sampler:
        """The same items in steps of at most `batch`, but never below the rule; 0 changes nothing."""
        batch = max(batch, 10 * self.given[0])
        return Sampler(self.labeled, self.unlabeled, batch, *self.given) if batch < self.batch else self

    def epoch(self, number: int) -> Iterator[Drawn]:
        """The items of each step."""
        rng = np.random.default_rng([self.seed, 4, number])
        order = rng.permutation(len(self.unlabeled))
        unlabeled = second = self.unlabeled[order]
        rounds = -(-self.steps * self.labeled_batch // len(self.labeled))
        labeled = np.concatenate([rng.permutation(self.labeled) for _ in range(rounds)])
        if self.partners is not None:
            second = self.unlabeled[(others if self.partners.ndim == 1 else one_of)(self.partners, rng)[order]]
        for step in range(self.steps):
            place = slice(step * self.unlabeled_batch, (step + 1) * self.unlabeled_batch)
            yield Drawn(
                labeled[step * self.labeled_batch : (step + 1) * self.labeled_batch], unlabeled[place], second[place]
            )


def one_of(partners: Int[np.ndarray, "items some"], rng: np.random.Generator) -> Indices:
    """For each place one of those that are listed for it."""
    return partners[np.arange(len(partners)), rng.integers(partners.shape[1], size=len(partners))]


def others(groups: Indices, rng: np.random.Generator) -> Indices:
    """For each place one of the other places of its group, all equally likely; itself where it is alone."""
    order = np.argsort(groups, kind="stable")  # groups side by side
    _, group, count = np.unique(groups, return_inverse=True, return_counts=True)
    start = np.cumsum(count) - count
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups))
    size = count[group]
    steps = rng.integers(1, np.maximum(size, 2))  # 1 to size - 1; of one that is alone 1, which leads back to it
    return order[start[group] + (rank - start[group] + steps) % size]
