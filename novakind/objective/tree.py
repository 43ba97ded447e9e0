"""The merge tree: which clusters become one, in which order; cut at any number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.objective.merging import finest, gathered, merge

Rows = Float[np.ndarray, "items dim"]
Labels = Int[np.ndarray, " leaves"]


class Merge(NamedTuple):
    """Two clusters by their numbers, the grain at which they become one, and the items of both."""

    first: int
    second: int
    grain: float
    items: int


def merge_tree(
    rows: Rows, spread: Float[np.ndarray, " dim"], leaves: int
) -> tuple[tuple[int, ...], tuple[Merge, ...], Int[np.ndarray, " items"]]:
    """From about so many clusters down to one, by ever coarser grains: their sizes, the merges, and whose is each row.

    Clusters are numbered from 0, and each merge makes the next number, as scipy's linkage does.
    """
    small = finest(rows, max(2, min(len(rows) // 5, 300)))
    clusters = gathered(rows, small)
    grains = np.geomspace(0.3, 3e5, 220).tolist()
    places = merge(clusters, spread, grains)
    begin = max(
        (at for at, place in enumerate(places) if len(np.unique(place)) >= min(leaves, len(clusters.sizes))), default=0
    )
    roots = np.unique(places[begin])
    sizes = tuple(int(clusters.sizes[places[begin] == root].sum()) for root in roots)
    names = {int(root): number for number, root in enumerate(roots)}
    held = dict(enumerate(sizes))
    merges: list[Merge] = []
    for grain, before, place in zip(grains[begin + 1 :], places[begin:], places[begin + 1 :], strict=False):
        for root in np.unique(before):
            into = int(place[root])
            if into != root and int(root) in names:
                first, second = names[into], names.pop(int(root))
                held[len(sizes) + len(merges)] = held[first] + held[second]
                names[into] = len(sizes) + len(merges)
                merges.append(Merge(first, second, round(float(grain), 3), held[names[into]]))
    return sizes, tuple(merges), np.searchsorted(roots, places[begin])[small]


def cut(leaves: int, tree: Sequence[Merge], number: int) -> Labels:
    """The group of each leaf after as many merges as leave `number` groups."""
    group = {leaf: [leaf] for leaf in range(leaves)}
    for made, (first, second, _, _) in enumerate(tree[: max(0, leaves - number)], leaves):
        group[made] = group.pop(first) + group.pop(second)
    found = np.zeros(leaves, dtype=np.int64)
    for number, members in enumerate(group.values()):
        found[members] = number
    return found
