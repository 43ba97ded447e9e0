"""How many epochs a budget of work or time allows, found by trying a few steps of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from novakind.methods import Stage

MOMENTS = (0.1, 0.3, 0.5, 0.7, 0.9)  # steps may cost more later in a stage than at its start

Rehearse = Callable[[int], Callable[[float], None]]
Measure = Callable[[Callable[[], object]], float]


def affordable(
    budget: float,
    stages: Sequence[Stage],
    steps: Sequence[int],
    rehearse: Rehearse,
    watch: Callable[[], object] | None,
    measure: Measure,
) -> int:
    """The number of epochs, of so many `steps` in each stage, that comes nearest to the `budget`, spent in the
    proportions of these `stages`; at least 1. Rounded up or down: otherwise, with few long epochs, methods would lose
    unequal parts of an equal budget.

    `rehearse(i)` sets stage i up on a copy of the model and gives a function that takes a step as at a given point of
    the stage, from 0 to 1; `watch()` is what follows each epoch; `measure` gives the cost of some work.
    """
    planned = sum(stage.epochs for stage in stages)
    if not planned:
        return 1
    whole = cost(stages, steps, rehearse, measure) + (planned * measure(watch) if watch else 0.0)
    return max(1, round(budget / whole * planned))


def cost(stages: Sequence[Stage], steps: Sequence[int], rehearse: Rehearse, measure: Measure) -> float:
    """What all epochs of these stages take together, each stage at the cost of its own steps."""
    whole = 0.0
    for number, stage in enumerate(stages):
        take = rehearse(number)
        for moment in (MOMENTS[0], MOMENTS[-1]):  # the first steps are slower than all others
            take(moment)
        taken = sum(measure(lambda take=take, moment=moment: take(moment)) for moment in MOMENTS)
        whole += stage.epochs * steps[number] * taken / len(MOMENTS)
    return whole


def duration(work: Callable[[], object]) -> float:
    """Seconds: of this machine, and of this moment on it."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


def operations(work: Callable[[], object]) -> float:
    """Floating-point operations in products of matrices and convolutions, forward and backward: the same everywhere."""
    from torch.utils.flop_counter import FlopCounterMode  # here, since its import takes long

    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops())
