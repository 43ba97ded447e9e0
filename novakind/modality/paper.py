"""The preset `paper`: the paper's own choice of terms and optimiser, whatever the kind of data."""

from __future__ import annotations

from typing import Any

# Eq. 8, 9, 11, 14 and 17 with weight 1. The paper states no number of epochs: 200 are the habit of the field.
PAPER: dict[str, Any] = {
    "steps": "alternating",
    "epochs": 200,
    "objective.entropy": 1.0,
    "objective.norm": 1.0,
    "objective.swapped_sharpened": 0.0,
    "objective.kl": 1.0,
    "optim.nesterov": False,
    "optim.warmup": 0.0,
}
