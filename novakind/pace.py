"""How many epochs fit into the minutes that a run may take, found out by trying a few steps of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from novakind.methods import Stage

STEPS = 3


def affordable(
    minutes: float,
    stages: Sequence[Stage],
    steps: int,
    rehearse: Callable[[int], Callable[[int], None]],
    watch: Callable[[], object],
) -> int:
    """Epochs of `steps` steps each that fit, spent in the proportions of these `stages`; at least 1.

    `rehearse(i)` sets stage i up on a copy of the model and gives a function that takes n steps; `watch()` is what
    follows each epoch.
    """
    seconds = 0.0
    for number, stage in enumerate(stages):
        take = rehearse(number)
        take(1)  # the first is slower than all others
        seconds += stage.epochs * steps * duration(lambda take=take: take(STEPS)) / STEPS
    planned = sum(stage.epochs for stage in stages)
    if not planned:
        return 1
    seconds += planned * duration(watch)
    return max(1, int(60 * minutes / seconds * planned))


def duration(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started
