"""Which items make up each step: a batch of labeled and a batch of unlabeled ones, derived from (seed, epoch) alone.

Nothing here has state, so a resumed run draws exactly what the uninterrupted one would have drawn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

from novakind.errors import UserError

Indices = Int[np.ndarray, " _"]


def check_batch(batch: int, novel: int) -> None:
    """The paper's rule: at least ten unlabeled items in a step for each novel class."""
    if batch < 10 * novel:
        raise UserError(
            f"--batch {batch} is below 10 x {novel} new categories, too few for their statistics: "
            f"give --batch {10 * novel} or more, or a smaller --novel"
        )


class Sampler:
    """Epochs over the unlabeled items; labeled ones are drawn alongside, in as many rounds as it takes.

    A step holds `batch` items of each kind; `proportionate` shares out the same sum as the data are shared out, but
    never leaves fewer than ten unlabeled items for each novel class.
    """

    def __init__(
        self, labeled: Indices, unlabeled: Indices, batch: int, novel: int, proportionate: bool = False, seed: int = 0
    ) -> None:
        check_batch(batch, novel)
        if len(unlabeled) < 10 * novel:
            raise UserError(
                f"{len(unlabeled)} unlabeled items to train on are fewer than 10 x {novel} new categories: "
                "add items, or give a smaller --novel"
            )
        self.labeled, self.unlabeled, self.seed = labeled, unlabeled, seed
        total, share = 2 * batch, len(unlabeled) / (len(labeled) + len(unlabeled))
        wanted = min(max(10 * novel, round(total * share)), total - 2) if proportionate else batch
        self.unlabeled_batch = min(wanted, len(unlabeled))
        self.labeled_batch = total - wanted
        self.steps = len(unlabeled) // self.unlabeled_batch

    def epoch(self, number: int) -> Iterator[tuple[Indices, Indices]]:
        """(labeled, unlabeled) item numbers of each step."""
        rng = np.random.default_rng([self.seed, 4, number])
        unlabeled = rng.permutation(self.unlabeled)
        rounds = -(-self.steps * self.labeled_batch // len(self.labeled))
        labeled = np.concatenate([rng.permutation(self.labeled) for _ in range(rounds)])
        for step in range(self.steps):
            yield (
                labeled[step * self.labeled_batch : (step + 1) * self.labeled_batch],
                unlabeled[step * self.unlabeled_batch : (step + 1) * self.unlabeled_batch],
            )
