"""Taught: what a next round learns from, beside labels and decisions; it may change all the same."""

from __future__ import annotations

from collections import Counter

import numpy as np

from novakind.runs.discovery import Discovery
from novakind.runs.reviewed import SUGGESTED, Reviewed

TYPICAL = 0.8  # of a category's undecided items are learnt as its own


def accepted(state: Reviewed) -> list[int]:
    """Undecided items of parts of a split: no output of the model tells the parts apart, only that a person accepted
    them."""
    voices, category = state.voices, state.category
    living = [number for number, alive in enumerate(state.alive) if alive and voices[number] >= 0]
    shared = Counter(int(voices[number]) for number in living)
    parts = [number for number in living if shared[int(voices[number])] > 1]
    return np.flatnonzero(np.isin(category, parts) & (state.status == SUGGESTED)).tolist()


def typical(found: Discovery) -> list[int]:
    """Undecided training items of each category, those of which the model is surest. What a person confirms are mostly
    doubtful ones, and a category learnt from those alone wanders off."""
    seen, train, margin = found.snapshot, np.array(found.splits) == "train", found.sureness
    chosen = []
    for number in range(len(found.names)):
        members = np.flatnonzero(train & (seen.category == number) & (seen.status == SUGGESTED))
        surest = members[np.argsort(-margin[members], kind="stable")]
        chosen += surest[: int(TYPICAL * len(members))].tolist()
    return chosen
