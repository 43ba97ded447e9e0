"""Suggestions: which categories to merge, which items to look at first, which labels to doubt, what is alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from novakind.results.review.nearest import Neighbourhood, touching
from novakind.results.review.overview import Overview
from novakind.runs.reviewed import CONFIRMED, IGNORED, LABELED, SUGGESTED, Items
from novakind.runs.standing import unit

SHOWN = 6  # examples of each side of a merge
WEIGHED = 2_000  # of the least sure items, from which the queue is chosen
ALIKE = 8  # the power of a cosine that says how much one answer tells about another item
MISTAKEN = 2  # what it weighs that a category was found wrong, where a margin of 0 weighs 1
SHARED = 0.1  # weight of the probability that two categories share, beside the neighbours of their items


def merges(overview: Overview, limit: int, around: Neighbourhood | None = None) -> list[dict[str, Any]]:
    """Pairs of categories that may be one, the likeliest first, never two known classes or what a person kept apart.

    What counts is how many items would change sides if one were given up, and how much probability the two share.
    A category whose best partner stands above it in the list comes later with others: it can be merged only once.
    """
    overview.refresh()
    state = overview.review.state
    living = [number for number, alive in enumerate(state.alive) if alive and size_of(overview, number)]
    shared, closeness = overlap(overview, living), nearness(overview, living)
    mixed = together(overview, around, len(state.names))[living][:, living] if around else np.zeros_like(closeness)
    apart, found = state.pairs_apart(), []
    for row, one in enumerate(living):
        for column, other in enumerate(living[:row]):
            if max(one, other) >= state.known and (other, one) not in apart:
                numbers = (float(mixed[row, column]), float(shared[row, column]), float(closeness[row, column]))
                found.append((numbers[0] + SHARED * numbers[1], direction(overview, one, other), numbers))
    found.sort(key=lambda pair: (-pair[0], pair[1]))
    return [
        {
            "categories": [into, lost],
            "into": into,
            "shared": round(both, 4),
            "closeness": round(close, 4),
            "score": round(score, 4),
            "reason": reason(mix, both, close),
            "examples": [overview.cards[number]["typical"][:SHOWN] for number in (into, lost)],
        }
        for score, (into, lost), (mix, both, close) in once_each(found)[:limit]
    ]


def once_each(found: list[tuple[float, tuple[int, int], Any]]) -> list[tuple[float, tuple[int, int], Any]]:
    """Pairs of which each category is in one come first, then the others; both in their order."""
    used, first, later = set(), [], []
    for pair in found:
        if used & set(pair[1]):
            later.append(pair)
        else:
            first.append(pair)
            used |= set(pair[1])
    return [*first, *later]


def together(overview: Overview, around: Neighbourhood, kinds: int) -> Float[np.ndarray, "kinds kinds"]:
    """How far categories belong together by the neighbours of their items; ignored ones do not count."""
    there = overview.status[around.items] != IGNORED
    category = np.where(there, overview.category[around.items], kinds)
    return touching(category, around.graph, kinds + 1)[:kinds, :kinds]


def reason(mixed: float, shared: float, closeness: float) -> str:
    return (
        f"{100 * mixed:.0f} % of their neighbours lead from one to the other; {100 * shared:.1f} % of the probability "
        f"is shared; the centres are {closeness:.2f} alike"
    )


def size_of(overview: Overview, number: int) -> int:
    return overview.cards[number]["size"] + overview.cards[number]["labeled"]


def direction(overview: Overview, one: int, other: int) -> tuple[int, int]:
    """Which of two stays: that with a name, else the larger, else the first."""
    state = overview.review.state
    ranked = sorted((one, other), key=lambda n: (not state.is_settled(n), -size_of(overview, n), n))
    return ranked[0], ranked[1]


def overlap(overview: Overview, living: list[int]) -> Float[np.ndarray, "living living"]:
    """E[p_a p_b] over the items, as a cosine: 1 where two categories always have the same probability."""
    voices = overview.review.state.voices
    mass = overview.mass.astype(np.float32)
    product = mass.T @ mass
    norm = np.sqrt(np.maximum(np.diag(product), 1e-12))
    product = product / norm[:, None] / norm[None]
    groups = np.array([overview.groups[voices[number]] if voices[number] >= 0 else -1 for number in living])
    shared = product[groups][:, groups]
    unknown = (groups[:, None] < 0) | (groups[None] < 0) | (groups[:, None] == groups[None])
    return np.where(unknown, 0, shared)


def nearness(overview: Overview, living: list[int]) -> Float[np.ndarray, "living living"]:
    """The cosine of the centres."""
    centres = np.stack([overview.centres[number] for number in living])
    return centres @ centres.T


def queue(overview: Overview, limit: int) -> dict[str, Any]:
    """Items to decide about, those whose answers help most first."""
    overview.refresh()
    status = overview.status
    open_ones = np.flatnonzero(status == SUGGESTED)
    least_sure = open_ones[np.argsort(overview.margin[open_ones], kind="stable")]
    chosen = most_helpful(overview, least_sure[: min(WEIGHED, max(500, 20 * limit))], limit)
    entries = []
    for item, top in zip(chosen.tolist(), overview.tops(chosen, 10), strict=True):
        own = int(overview.category[item])
        others = [[number, chance] for number, chance in top if number != own]
        entries.append(
            {
                "item": item,
                "category": own,
                "probability": round(float(overview.probability[item]), 4),
                "others": others[:9],
                "why": why(overview, item, others),
            }
        )
    total = int((status != LABELED).sum() - (status == IGNORED).sum())
    return {"left": len(open_ones), "total": total, "entries": entries}


def why(overview: Overview, item: int, others: list[list[Any]]) -> str:
    chance = float(overview.probability[item])
    if not others:
        return f"the model gives it {100 * chance:.0f} %"
    rival = overview.review.state.names[others[0][0]]
    return f"{100 * chance:.0f} % here, {100 * others[0][1]:.0f} % {rival}"


def most_helpful(overview: Overview, items: Items, limit: int) -> Int[np.ndarray, " chosen"]:
    """Unsure items with many unsure ones around them; whoever is like one that was chosen counts less from then on.

    What the model is sure of counts too where a person found its category wrong before.
    """
    rows = unit(overview.review.embedding[items])
    alike = np.clip(rows @ rows.T, 0, 1) ** ALIKE
    unsure = np.clip(1 - overview.margin[items].astype(np.float64), 0, 2)
    left, chosen = unsure + MISTAKEN * mistaken(overview)[overview.review.result[items]], []
    for _ in range(min(limit, len(items))):
        gain = left * (alike @ left)
        gain[chosen] = -1
        best = int(gain.argmax())
        chosen.append(best)
        left = left * (1 - alike[best])
    return items[chosen]


def mistaken(overview: Overview) -> Float[np.ndarray, " outputs"]:
    """For each answer of the model the share of decisions that were others, a little lower while there are few."""
    state, result = overview.review.state, overview.review.result
    decided = np.flatnonzero(overview.status == CONFIRMED)
    wrong = decided[overview.category[decided] != state.roots[result[decided]]]
    count = overview.review.logp.shape[1]
    return np.bincount(result[wrong], minlength=count) / (np.bincount(result[decided], minlength=count) + 2)


def disbelieved(overview: Overview, limit: int) -> list[dict[str, Any]]:
    """Labeled items that the model would give to another category, the surest first."""
    overview.refresh()
    labeled = np.flatnonzero(overview.status == LABELED)
    doubted = labeled[overview.margin[labeled] < 0]
    worst = doubted[np.argsort(overview.margin[doubted], kind="stable")][:limit]
    state = overview.review.state
    return [
        {
            "item": item,
            "label": state.names[overview.category[item]],
            "category": top[0][0],
            "probability": top[0][1],
        }
        for item, top in zip(worst.tolist(), overview.tops(worst, 1), strict=True)
        if top
    ]


def neighbours(overview: Overview, item: int, count: int) -> dict[str, Any]:
    """The items of greatest cosine to one."""
    embedding = overview.review.embedding
    own = unit(embedding[item : item + 1])[0]
    likeness = np.concatenate(
        [unit(embedding[start : start + 16_384]) @ own for start in range(0, len(embedding), 16_384)]
    )
    likeness[item] = -np.inf
    count = min(count, len(likeness) - 1)
    best = np.argpartition(-likeness, count - 1)[:count] if count > 0 else np.zeros(0, dtype=np.int64)
    best = best[np.argsort(-likeness[best], kind="stable")]
    return {"items": best.tolist(), "likeness": likeness[best].round(4).tolist()}
