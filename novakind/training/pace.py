"""How many epochs fit into the minutes that a run may take, measured by trying a few steps of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from novakind.methods import Stage

MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # steps may cost more later in a stage than at its start


def affordable(
    minutes: float,
    stages: Sequence[Stage],
    steps: int,
    rehearse: Callable[[int], Callable[[float], None]],
    watch: Callable[[], object],
) -> int:
    """The number of epochs, of `steps` steps each, that comes nearest to `minutes`, spent in the proportions of these
    `stages`; at least 1. Rounded up or down: otherwise, with few long epochs, methods would lose unequal parts of an
    equal budget.

    `rehearse(i)` sets stage i up on a copy of the model and gives a function that takes a step as at a given point of
    the stage, from 0 to 1; `watch()` is what follows each epoch.
    """
    seconds = 0.0
    for number, stage in enumerate(stages):
        take = rehearse(number)
        for moment in (MOMENTS[0], MOMENTS[-1]):  # the first steps are slower than all others
            take(moment)
        taken = sum(duration(lambda take=take, moment=moment: take(moment)) for moment in MOMENTS)
        seconds += stage.epochs * steps * taken / len(MOMENTS)
    planned = sum(stage.epochs for stage in stages)
    if not planned:
        return 1
    seconds += planned * duration(watch)
    return max(1, round(60 * minutes / seconds * planned))


def duration(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started
