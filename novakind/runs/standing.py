"""How sure the model is of where the items are now: probabilities of living categories, margins, the next best."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from novakind.runs.asked import ConflictError
from novakind.runs.reviewed import Items, PerItem, PerOutput, Reviewed

Mass = Float[np.ndarray, "items groups"]
Vectors = Float[np.ndarray, "rows dims"]


def unit(embedding: Vectors) -> Vectors:
    """Rows of length 1; a row that is zero or not a number becomes zero."""
    embedding = np.nan_to_num(embedding, posinf=0, neginf=0)
    return embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-12)


def masses(logp: Float[np.ndarray, "items outputs"], groups: PerOutput) -> Mass:
    """The probability of each group of outputs: those that speak for the same categories."""
    total = np.zeros((len(logp), int(groups.max(initial=-1)) + 1), dtype=np.float32)
    for output, group in enumerate(groups):
        total[:, group] += np.exp(logp[:, output])
    return total


def margins(logp: Float[np.ndarray, "items outputs"]) -> Float[np.ndarray, " items"]:
    """How far each item's best output is above the next best; some items at a time, as there may be very many."""
    found = np.empty(len(logp), np.float32)
    for start in range(0, len(logp), 10_000):
        best = np.sort(np.exp(logp[start : start + 10_000]), axis=1)[:, ::-1]
        found[start : start + len(best)] = best[:, 0] - best[:, 1] if best.shape[1] > 1 else best[:, 0]
    return found


def standing(
    state: Reviewed, mass: Mass, category: PerItem
) -> tuple[Float[np.ndarray, " items"], Float[np.ndarray, " items"]]:
    """Each item's probability in a category, and how far that is above the next best.

    A category that a person made of chosen items has no output of the model: its items are as sure as that person.
    """
    groups, voices = state.groups(), state.voices
    own = np.where(voices >= 0, groups[voices], -1)[category]
    probability = mass[np.arange(len(own)), own]
    if mass.shape[1] < 2:
        best, second = probability, np.zeros_like(probability)
    else:
        second, best = np.partition(mass, mass.shape[1] - 2, axis=1)[:, -2:].T
    rival = np.where(probability >= best, second, best)
    return np.where(own >= 0, probability, 1), np.where(own >= 0, probability - rival, 1)


def choices(state: Reviewed, logp: Float[np.ndarray, " outputs"], item: int) -> list[tuple[int, float]]:
    """The living categories that the model can mean, the most probable first; not those that the item was kept out of.

    Categories that share an output, as the parts of a split do, share its probability; the one that has the item leads.
    """
    groups, voices, own = state.groups(), state.voices, int(state.category[item])
    mass = masses(logp[None], groups)[0]
    open_ones = [
        number
        for number, alive in enumerate(state.alive)
        if alive and voices[number] >= 0 and (item, number) not in state.rejected
    ]
    ranked = sorted(open_ones, key=lambda number: (-mass[groups[voices[number]]], number != own, number))
    return [(number, float(mass[groups[voices[number]]])) for number in ranked]


def next_best(
    state: Reviewed, logp: Float[np.ndarray, "items outputs"], embedding: Vectors, items: Items, number: int
) -> list[int]:
    """Where items go that are not of category `number`: the most probable living category that is still open to each.

    Between categories that share an output the one decides whose centre is closer.
    """
    groups, voices = state.groups(), state.voices
    living = np.array([one for one, alive in enumerate(state.alive) if alive and voices[one] >= 0 and one != number])
    if len(living) == 0:
        raise ConflictError(f"{state.names[number]} is the only category, so there is no next best: make a new one")
    owned = groups[voices[living]]
    score = masses(logp[items], groups)[:, owned].astype(np.float64)
    shared = np.isin(owned, [group for group in owned if (owned == group).sum() > 1])
    if shared.any():
        category, rows = state.category, unit(embedding[items])
        for place in np.flatnonzero(shared):
            centre = unit(unit(embedding[category == living[place]]).sum(0, keepdims=True))[0]
            score[:, place] += 1e-6 * (rows @ centre)
    column = {int(one): place for place, one in enumerate(living)}
    wanted = {item: row for row, item in enumerate(items.tolist())}
    for item, category in state.rejected:
        if item in wanted and category in column:
            score[wanted[item], column[category]] = -np.inf
    if np.isinf(score.max(1)).any():
        lost = int(items[np.isinf(score.max(1))][0])
        raise ConflictError(f"item {lost} was kept out of every other category: move it to one, or make a new one")
    found: Int[np.ndarray, " some"] = living[score.argmax(1)]
    return found.tolist()
