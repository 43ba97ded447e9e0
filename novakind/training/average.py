"""The running average of the weights, which is evaluated and kept in their place."""

from __future__ import annotations

import torch

from novakind.model import Model


def decay_at(step: int, most: float) -> float:
    """What stays of the running average at a step: less at first, so that the untrained weights are soon forgotten."""
    return min(most, (1 + step) / (10 + step))


@torch.no_grad()
def move_towards(kept: Model, model: Model, decay: float) -> None:
    """The running average of weights and of batch statistics, after a step; counters are copied.

    What is frozen is left alone: between two infinite values, as masks hold them, there is no average.
    """
    for (name, average), latest in zip(kept.state_dict().items(), model.state_dict().values(), strict=True):
        if name.rpartition(".")[0] not in model.frozen:
            average.lerp_(latest, 1 - decay) if average.is_floating_point() else average.copy_(latest)
