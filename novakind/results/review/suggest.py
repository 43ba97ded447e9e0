"""Suggestions: which categories to merge, which labels to doubt, what is alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.results.review.nearest import Neighbourhood, touching
from novakind.results.review.overview import Overview
from novakind.runs.reviewed import IGNORED, LABELED
from novakind.runs.standing import unit

SHOWN = 6  # examples of each side of a merge
AGAIN = 0.4  # of its score has a pair, one of which is in a pair above
SHARED = 0.1  # weight of the probability that two categories share, beside the neighbours of their items


def merges(overview: Overview, limit: int, around: Neighbourhood | None = None) -> list[dict[str, Any]]:
    """Pairs of categories that may be one, the likeliest first, never two known classes or what a person kept apart.

    What counts is how many items would change sides if one were given up, and how much probability the two share.
    A category whose best partner stands above it in the list counts less with others: it can be merged only once.
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
    """In the order of their scores, of which `AGAIN` counts where a category stands above in the list already."""
    used, ranked = set(), []
    for score, pair, numbers in found:
        ranked.append((score * (AGAIN if used & set(pair) else 1), (score, pair, numbers)))
        used |= set(pair)
    return [one for _, one in sorted(ranked, key=lambda one: -one[0])]


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
