"""Splitting: a category in 2 to 5 parts that few neighbours join; a preview, which nothing is written of."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from novakind.errors import UserError
from novakind.results.review.nearest import LINKED, links, parted
from novakind.results.review.overview import Overview
from novakind.results.review.showing import Showing
from novakind.runs.asked import is_whole, living
from novakind.runs.reviewed import Items
from novakind.runs.standing import unit

MOST = 5
FITTED = 2_000  # items that are parted; the others follow the closest centre
SHOWN = 12
SEED = 0

Rows = Float[np.ndarray, "items dims"]


def check_split(overview: Overview, category: Any, parts: Any) -> Items:
    """The items to be parted."""
    number = living(overview.review.state, category)
    if not is_whole(parts) or not 2 <= parts <= MOST:
        raise UserError(f"parts = {parts!r:.50} is no number of parts: give 2 to {MOST}")
    members = overview.review.state.members(number)
    if len(members) < parts:
        raise UserError(f"{len(members)} items cannot be {parts} parts: give fewer parts")
    return members


def split_preview(embedding: Rows, members: Items, parts: int, showing: Showing | None = None) -> dict[str, Any]:
    """The parts of some items, the largest first, with examples of each, and the share of neighbours kept together.

    The model was trained to keep a category together, and a network can, so that its own space hides what the items
    themselves show: neighbours are those among the items and those among what the network sees before its embedding,
    together. A linear map can do less: both spaces are tried, and the parts that fewer neighbours join are taken.
    """
    some = np.sort(np.random.default_rng(SEED).permutation(len(members))[:FITTED])
    own = unit(embedding[members])
    seen = showing.inputs(members[some]) if showing else None
    if showing and showing.is_deep:
        both = [rows for rows in (seen, showing.features(members[some])) if rows is not None]
        found = [cluster(both or [own[some]], parts)]
    else:
        found = [cluster([rows], parts) for rows in (own[some], seen) if rows is not None]
    part, within = max(found, key=lambda one: one[1])
    if len(some) < len(members):
        part = following(own, some, part, parts)
    shown = []
    for place in range(parts):
        mine = part == place
        centre = unit(own[mine].sum(0, keepdims=True))[0]
        order = np.argsort(-(own[mine] @ centre), kind="stable")
        shown.append({"items": members[mine].tolist(), "examples": members[mine][order[:SHOWN]].tolist()})
    shown.sort(key=lambda one: (-len(one["items"]), one["items"]))
    return {"parts": [{**one, "size": len(one["items"])} for one in shown], "separation": round(within, 4)}


def cluster(spaces: list[np.ndarray], parts: int) -> tuple[Int[np.ndarray, " items"], float]:
    """The part of each item, and the share of its neighbours, in one of several spaces, that are in the same part."""
    with threadpool_limits(1):
        graph = links(spaces[0], LINKED)
        for rows in spaces[1:]:
            graph = graph + links(rows, LINKED)
        part, within = parted(graph, parts, SEED)
    for place in range(parts):  # none may be empty, not of copies either
        if not (part == place).any():
            part[np.flatnonzero(np.bincount(part, minlength=parts)[part] > 1)[0]] = place
    return part, within


def following(own: Rows, some: Items, part: Int[np.ndarray, " some"], parts: int) -> Int[np.ndarray, " items"]:
    """The part of all items, by the closest of those that were parted."""
    whole = np.empty(len(own), dtype=np.int64)
    for start in range(0, len(own), 2_048):
        whole[start : start + 2_048] = part[(own[start : start + 2_048] @ own[some].T).argmax(1)]
    whole[some] = part
    return whole
