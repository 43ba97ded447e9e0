"""Queue: the items whose answers help most, as all that is known by now says, and not the model of before alone.

A second, small model is fitted whenever the queue is asked for: to the labels, to what a person decided, which weighs
more, and to what the model is sure of, which weighs less where a person found it wrong. While there are few decisions,
that model knows little, and the items asked about stand for groups of items that are alike, the most doubtful groups
first. Later those come first that are doubtful themselves and have doubtful ones around them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from novakind.results.review.overview import Overview
from novakind.runs.linear import DECIDED, compact, judged, thinned
from novakind.runs.reviewed import CONFIRMED, IGNORED, LABELED, SUGGESTED, Items
from novakind.runs.standing import unit
from novakind.runs.taught import TYPICAL, trust

WEIGHED = 2_000  # of the most doubtful items, from which the queue is chosen
DIMS = 64  # of each space, in which items are compared
STRENGTH = 0.3  # of the small model: the inverse of its regularisation
ALIKE = 2  # the power of a cosine that says how much one answer tells about another item
MISTAKEN = 0.5  # what it weighs that a category was found wrong, where a margin of 0 weighs 1
FLOOR = 0.02  # what an item weighs that nothing speaks against
UNKNOWN = 0.1  # the same, while there are few decisions
FEW = 5  # decisions for each category, before which groups are asked about
AROUND = 12  # items of its group that an item must be like, to stand for it
SEED = 0

Rows = Float[np.ndarray, "chosen dims"]
Typical = Int[np.ndarray, " typical"]


class View(NamedTuple):
    """Some items of a run, the same whatever is decided."""

    items: Items
    rows: Rows
    """Each as numbers: what the model saw, and what it made of it."""
    groups: Float[np.ndarray, "chosen other"]
    """What the model saw alone, by which items are alike whatever it made of them; its own space where that says
    little."""


class Belief(NamedTuple):
    """What the small model says of the items of a view."""

    chances: Float[np.ndarray, "chosen categories"]
    trust: Float[np.ndarray, " categories"]
    """How far each category that the model gave is to be believed."""


def view_of(items: Items, embedding: Rows, seen: Float[np.ndarray, "chosen other"] | None) -> View:
    """Items by what the model made of them, and by what it saw, where that says something."""
    spaces = [embedding] if seen is None else [seen, embedding]
    small = [compact(rows, DIMS).astype(np.float32) for rows in spaces]
    return View(items, np.concatenate(small, 1), unit(small[0]))


def queue(overview: Overview, limit: int, view: View) -> dict[str, Any]:
    """Items to decide about, those whose answers help most first; where the view has none left, the least sure."""
    overview.refresh()
    status = overview.status
    open_ones = status == SUGGESTED
    chosen = most_helpful(overview, limit, view)
    if len(chosen) < limit:
        others = np.setdiff1d(np.flatnonzero(open_ones), chosen)
        least_sure = others[np.argsort(overview.margin[others], kind="stable")]
        chosen = np.concatenate([chosen, least_sure[: limit - len(chosen)]])
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
    return {"left": int(open_ones.sum()), "total": total, "entries": entries}


def why(overview: Overview, item: int, others: list[list[Any]]) -> str:
    chance = float(overview.probability[item])
    if not others:
        return f"the model gives it {100 * chance:.0f} %"
    rival = overview.review.state.names[others[0][0]]
    return f"{100 * chance:.0f} % here, {100 * others[0][1]:.0f} % {rival}"


def most_helpful(overview: Overview, limit: int, view: View) -> Items:
    """Undecided items of a view, those first whose answers say most."""
    found = belief(overview, view)
    category, status = overview.category[view.items], overview.status[view.items]
    best = np.sort(found.chances, 1)[:, ::-1]
    margin = best[:, 0] - best[:, 1] if best.shape[1] > 1 else best[:, 0]
    doubt = 1 - margin + MISTAKEN * (1 - found.trust[category])
    places, told = np.flatnonzero(status == SUGGESTED), np.flatnonzero(status == CONFIRMED)
    chosen: list[int] = []
    if len(told) < FEW * sum(overview.review.state.alive):
        chosen = standing_for(view.groups[places], view.groups[told], doubt[places] + UNKNOWN, limit)
    if len(chosen) < limit:
        taken = set(chosen)
        others = np.array([place for place in range(len(places)) if place not in taken], dtype=np.int64)
        others = others[np.argsort(-doubt[places[others]], kind="stable")][:WEIGHED]
        more = doubtful(view.rows[places[others]], doubt[places[others]] + FLOOR, limit - len(chosen))
        chosen += others[more].tolist()
    return view.items[places[chosen]]


def standing_for(
    rows: Rows, told: Float[np.ndarray, "told dims"], doubt: Float[np.ndarray, " chosen"], limit: int
) -> list[int]:
    """Of groups of items that are alike, none of which is told yet, those of the most doubt: of each the item that is
    most like its group."""
    from sklearn.cluster import KMeans  # here, since its import takes time

    every = np.concatenate([rows, told])
    count = min(len(told) + limit, len(every) // 3)
    if count < 2:
        return []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of copies, which are fewer groups than were asked for
        group = KMeans(count, n_init=1, random_state=SEED).fit_predict(every)
    known, found = set(group[len(rows) :].tolist()), []
    for number in sorted(set(group[: len(rows)].tolist()) - known):
        members = np.flatnonzero(group[: len(rows)] == number)
        alike = np.sort(rows[members] @ rows[members].T, 1)[:, ::-1][:, :AROUND].mean(1)
        found.append((-float(doubt[members].sum()), int(members[alike.argmax()])))
    return [item for _, item in sorted(found)[:limit]]


def doubtful(rows: Rows, doubt: Float[np.ndarray, " chosen"], limit: int) -> list[int]:
    """Doubtful items with many doubtful ones around them; whoever is like one that was chosen counts less from then
    on."""
    rows, left, chosen = unit(rows), doubt.copy(), []
    alike = np.clip(rows @ rows.T, 0, 1) ** ALIKE
    for _ in range(min(limit, len(rows))):
        gain = left * np.sqrt(alike @ left)
        gain[chosen] = -1
        best = int(gain.argmax())
        chosen.append(best)
        left = left * (1 - alike[best])
    return chosen


def belief(overview: Overview, view: View) -> Belief:
    """What labels, decisions and the model's own answers say together."""
    state, items = overview.review.state, view.items
    category, status = overview.category[items], overview.status[items]
    believed = trust(state.roots[overview.review.result], overview.category, overview.status, len(state.names))
    weight = np.where(status == CONFIRMED, float(DECIDED), np.where(status == LABELED, 1.0, 0.0))
    typical = surest(category, overview.margin[items], status == SUGGESTED)
    weight[typical] = believed[category[typical]]
    return Belief(judged(view.rows, category, thinned(weight, status), len(state.names), STRENGTH), believed)


def surest(category: Items, margin: Float[np.ndarray, " some"], open_ones: np.ndarray) -> Typical:
    """Of each category the undecided items that are typical of it."""
    chosen = []
    for number in np.unique(category[open_ones]):
        members = np.flatnonzero(open_ones & (category == number))
        chosen.append(members[np.argsort(-margin[members], kind="stable")][: int(TYPICAL * len(members))])
    return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)
