"""recut(): another number of new categories without training again, by another cut of the run's merge tree.

The tree says which small groups of items became one, in which order: of clusters, where the number was counted, or of
outputs that merged while a network learnt; of those one has all items in the end, so they seldom part again. To have
fewer categories, the merges that come next are made; to have more, the last ones are taken back. Both are decisions
like those of a review, in edits.jsonl, and can be undone there. What a person decided stays: categories that have a
name, or that were made, merged or split by hand, and items that were confirmed, moved or rejected.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from novakind.errors import UserError
from novakind.runs.discovery import Discovery
from novakind.runs.record import read_leaves, read_results
from novakind.runs.reviewed import CONFIRMED, IGNORED
from novakind.runs.standing import unit

OURS = "recut-"  # how the ids of these decisions begin: no person's
BY_HAND = ("merge", "split", "create")  # after which a category is what a person made it

Leaves = Int[np.ndarray, " items"]


class Joint(NamedTuple):
    """Two groups of leaves that become one."""

    some: frozenset[int]
    others: frozenset[int]


def recut(run: str | Path, novel: int) -> Discovery:
    """The run with so many new categories, saved in its folder."""
    run = Path(run)
    found = Discovery.load(run)
    merges = tree_of(read_results(run))
    if not merges:
        raise UserError(
            f"{run} has no merge tree to cut, as its number of categories and their shares were given: run it with "
            "--novel auto or --prior auto, or merge and split categories with novakind review"
        )
    leaves = filled(read_leaves(run, len(found.paths)), found)
    merges, most = completed(merges, leaves, found), len(frozenset().union(*(one.some | one.others for one in merges)))
    if not 1 <= novel <= most:
        raise UserError(f"--novel {novel} is no cut of the tree of {run}, which has 1 to {most}: give one of these")
    tried, steps = rehearsed(found), []
    while (count := len(new_ones(tried))) != novel:
        step = fewer(tried, merges, leaves) if count > novel else more(tried, merges, leaves)
        if step is None:
            why = (
                "what was decided by hand stays"
                if decided(found) or held(found)
                else "parts that merged in training hold no items of their own"
            )
            fix = f"give --novel {count}, or merge and split" if count else "merge and split"
            raise UserError(
                f"{run} can be cut to {count} new categories but not to {novel}, as {why}: {fix} with novakind review"
            )
        tried, steps = done(tried, step), [*steps, step]
    for step in steps:
        found = done(found, step)
    return found


def rehearsed(found: Discovery) -> Discovery:
    """The same in a review that is written nowhere."""
    assert found.review is not None
    review = found.begin_review()
    review.state = deepcopy(found.review.state)
    return found.reviewed(review)


def tree_of(results: dict[str, Any]) -> list[Joint]:
    """The merges in their order, as groups of leaves; none where the run has no tree."""
    try:
        return joints_of(results)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError(
            "the merge tree in results.json is damaged: run its novakind discover again to write it anew"
        ) from None


def joints_of(results: dict[str, Any]) -> list[Joint]:
    merged, counted = results.get("merging") or {}, results.get("estimate") or {}
    if merged:
        group: dict[int, frozenset[int]] = {leaf: frozenset([leaf]) for leaf in range(len(merged["tree"]) + 1)}
        joints = []
        for first, second, *_ in merged["tree"]:
            joints.append(Joint(group[first], group[second]))
            group[first] = group[first] | group.pop(second)
        return joints
    sizes, joints = counted.get("sizes", ()), []
    group = {leaf: frozenset([leaf]) for leaf in range(len(sizes))}
    for made, (first, second, *_) in enumerate(counted.get("tree", ()), len(sizes)):
        joints.append(Joint(group[first], group[second]))
        group[made] = group.pop(first) | group.pop(second)
    return joints


def filled(leaves: Leaves, found: Discovery) -> Leaves:
    """The leaf of every item: one that the tree was not made of has that of the nearest centre."""
    there = np.unique(leaves[leaves >= 0])
    lacking = np.flatnonzero(leaves < 0)
    if not len(there) or not len(lacking):
        return leaves
    rows = unit(found.embedding)
    centres = unit(np.stack([rows[leaves == leaf].mean(0) for leaf in there]))
    leaves = leaves.copy()
    leaves[lacking] = there[(rows[lacking] @ centres.T).argmax(1)]
    return leaves


def completed(merges: list[Joint], leaves: Leaves, found: Discovery) -> list[Joint]:
    """The tree down to one group: what lies too far apart to be merged by counting goes by its centres."""
    joint = [one.some | one.others for one in merges]
    tops = [group for group in joint if not any(group < other for other in joint)]
    loose = set(np.unique(leaves[leaves >= 0]).tolist()) - set().union(*tops)
    tops += [frozenset([leaf]) for leaf in sorted(loose)]
    rows, more = unit(found.embedding), []
    centre = {group: unit(rows[np.isin(leaves, list(group))].sum(0, keepdims=True))[0] for group in tops}
    while len(centre) > 1:
        pairs = [(one, other) for one, other in combinations(centre, 2)]
        some, others = max(pairs, key=lambda pair: float(centre[pair[0]] @ centre[pair[1]]))
        more.append(Joint(some, others))
        del centre[some], centre[others]
        both = some | others
        centre[both] = unit(rows[np.isin(leaves, list(both))].sum(0, keepdims=True))[0]
    return merges + more


def new_ones(found: Discovery) -> list[int]:
    """The new categories that hold items."""
    return [one.id for one in found.categories if one.is_new and one.alive and one.size]


def decided(found: Discovery) -> set[int]:
    """Categories that a person named, made, merged or split: they stay."""
    state = found.review.state if found.review else None
    made = {one.id for one in found.categories if one.named}
    for _, plan, _ in state.done if state else ():
        if plan.edit["verb"] in BY_HAND and not str(plan.edit.get("id", "")).startswith(OURS):
            made |= set(plan.touched)
    return made


def held(found: Discovery) -> set[int]:
    """Items that a person decided about: they stay in their category."""
    said = np.flatnonzero(np.isin(found.snapshot.status, (CONFIRMED, IGNORED))).tolist()
    return {*said, *(item for item, _ in found.snapshot.rejected)}


def fewer(found: Discovery, merges: list[Joint], leaves: Leaves) -> dict[str, Any] | None:
    """The next merge of the tree that joins two categories which nobody has decided about."""
    kept, place = decided(found), home(found, leaves)
    fixed = {int(found.snapshot.category[item]) for item in held(found)}
    apart = found.snapshot.different
    for some, others in merges:
        for one, other in pairs({place[leaf] for leaf in some if leaf in place}, others, place):
            if {one, other} & kept or (min(one, other), max(one, other)) in apart or {one, other} <= fixed:
                continue
            into, gone = (other, one) if one in fixed or other < one else (one, other)
            into, gone = (gone, into) if gone in fixed else (into, gone)
            return {"verb": "merge", "into": into, "categories": [gone]}
    return None


def pairs(some: set[int], others: frozenset[int], place: dict[int, int]) -> Iterator[tuple[int, int]]:
    for one in sorted(some):
        for other in sorted({place[leaf] for leaf in others if leaf in place} - {one}):
            yield one, other


def more(found: Discovery, merges: list[Joint], leaves: Leaves) -> dict[str, Any] | None:
    """The last merge of the tree that lies within a category which nobody has decided about, taken back."""
    kept, place, fixed = decided(found), home(found, leaves), held(found)
    for some, others in reversed(merges):
        for number in sorted({place.get(leaf, -1) for leaf in some} & {place.get(leaf, -1) for leaf in others}):
            members = np.flatnonzero((found.snapshot.category == number) & (leaves >= 0))
            members = [item for item in members.tolist() if item not in fixed]
            parts = [[item for item in members if leaves[item] in side] for side in (some, others)]
            parts.sort(key=len, reverse=True)
            if number >= 0 and number not in kept and parts[1]:
                return {"verb": "split", "category": number, "parts": parts}
    return None


def home(found: Discovery, leaves: Leaves) -> dict[int, int]:
    """The new category in which most items of each leaf are."""
    category = found.snapshot.category
    free = np.isin(category, new_ones(found)) & (leaves >= 0)
    homes = {}
    for leaf in np.unique(leaves[free]).tolist():
        where = category[free & (leaves == leaf)]
        homes[leaf] = int(np.bincount(where).argmax())
    return homes


def done(found: Discovery, edit: dict[str, Any]) -> Discovery:
    review = found.review
    assert review is not None
    review.do(edit | {"id": f"{OURS}{review.state.version}"})
    return found.reviewed(review)
