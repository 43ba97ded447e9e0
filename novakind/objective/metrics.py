"""How good a discovery is, where the truth is known. Every name carries its protocol: `novel_acc/test/agnostic`.

Classes are numbered 0..L-1 (known) and L.. (novel). *Task-agnostic* predictions are the arg max over all K neurons, so
a novel item that lands on a known class is wrong. *Task-aware* ones are the arg max over the novel neurons only (for
novel items) or the known neurons only (for known items). *Joint* scores are task-agnostic predictions of novel items
under a matching in which known neurons may stand for novel classes too: kinder, and what AutoNovel and others publish
as task-agnostic. The number of novel neurons may differ from the true number of novel classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Labels = Int[np.ndarray, " items"]


def contingency(truth: Labels, predicted: Labels) -> Int[np.ndarray, "true predicted"]:
    """How many items of each true class were assigned to each category."""
    table = np.zeros((truth.max(initial=-1) + 1, predicted.max(initial=-1) + 1), dtype=np.int64)
    np.add.at(table, (truth, predicted), 1)
    return table


def pair_off(table: Int[np.ndarray, "rows columns"]) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """The rows and columns of the one-to-one matching with the largest sum (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment  # here, since its import takes long

    return linear_sum_assignment(table, maximize=True)


def match(truth: Labels, predicted: Labels) -> dict[int, int]:
    """The one-to-one matching {category: true class} with the most items in agreement."""
    table = contingency(truth, predicted)
    rows, columns = pair_off(table)
    return {int(column): int(row) for row, column in zip(rows, columns, strict=True) if table[row, column] > 0}


def clustering_acc(truth: Labels, predicted: Labels) -> float:
    """Share of items in agreement under the best one-to-one matching (eq. 20); unmatched categories count as wrong."""
    if len(truth) == 0:
        return float("nan")
    table = contingency(truth, predicted)
    return float(table[pair_off(table)].sum() / len(truth))


def novel_acc(truth: Labels, predicted: Labels, known: int) -> float:
    """ACC of novel items (each `truth` >= `known`): only novel categories may match novel classes."""
    if len(truth) == 0:
        return float("nan")
    found = predicted >= known
    if not found.any():
        return 0.0
    return clustering_acc(truth[found] - known, predicted[found] - known) * float(found.mean())


class Chosen(NamedTuple):
    """The best category of each item: among all, among the known ones, and among the novel ones."""

    any: Labels
    known: Labels
    novel: Labels


def chosen(
    logp: Float[np.ndarray, "items classes"], known: int, novel: Float[np.ndarray, "items novel"] | None = None
) -> Chosen:
    """`novel` are answers among the novel classes alone, where they have a head of their own."""
    parts = (logp, logp[:, :known], logp[:, known:] if novel is None else novel)
    best = [part.argmax(1) if part.shape[1] else np.zeros(len(part), np.int64) for part in parts]
    return Chosen(best[0], best[1], best[2] + known)


def scores(
    truth: Labels,
    logp: Float[np.ndarray, "items classes"],
    known: int,
    split: str,
    novel: Float[np.ndarray, "items novel"] | None = None,
) -> dict[str, float]:
    """Every metric of one split; `truth` gives each item's true class, and items of unknown truth (-1) are left out."""
    return judged(truth, chosen(logp, known, novel), known, split)


def judged(truth: Labels, best: Chosen, known: int, split: str) -> dict[str, float]:
    """The same from the best categories."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score  # here: it takes a second

    best, truth = Chosen(*(part[truth >= 0] for part in best)), truth[truth >= 0]
    is_novel = truth >= known
    result: dict[str, float] = {}
    if (~is_novel).any():
        old = truth[~is_novel]
        result[f"known_acc/{split}/agnostic"] = float((best.any[~is_novel] == old).mean())
        result[f"known_acc/{split}/aware"] = float((best.known[~is_novel] == old).mean())
    if is_novel.any():
        new = truth[is_novel]
        for protocol, predicted in (("agnostic", best.any[is_novel]), ("aware", best.novel[is_novel])):
            result[f"novel_acc/{split}/{protocol}"] = novel_acc(new, predicted, known)
            result[f"novel_nmi/{split}/{protocol}"] = float(normalized_mutual_info_score(new, predicted))
            result[f"novel_ari/{split}/{protocol}"] = float(adjusted_rand_score(new, predicted))
        result[f"novel_acc/{split}/joint"] = clustering_acc(new, best.any[is_novel])
    return result


def one_matching(truth: Labels, predicted: Labels, known: int) -> dict[str, float]:
    """How right unlabeled items are under the one matching of categories to classes that is best for all of them.

    `all`, `old` (known classes) and `new` are the generalised category discovery metrics (Vaze et al., 2022, "v2");
    `mean` counts every class alike, however large. NaN where there is no such item.
    """
    matched = match(truth, predicted)
    right = np.array([matched.get(int(category), -1) for category in predicted]) == truth
    parts = {"all": truth >= 0, "old": truth < known, "new": truth >= known}
    found = {name: float(right[chosen].mean()) if chosen.any() else float("nan") for name, chosen in parts.items()}
    return found | {"mean": float(np.mean([right[truth == one].mean() for one in np.unique(truth)]))}


def share_distance(found: Sequence[float], truth: Sequence[float]) -> float:
    """Total variation between two multisets of shares, the largest with the largest: 0 for equal ones, at most 1."""
    one, other = (np.sort(np.asarray(shares, dtype=float))[::-1] for shares in (found, truth))
    longer = max(len(one), len(other))
    return float(np.abs(np.pad(one, (0, longer - len(one))) - np.pad(other, (0, longer - len(other)))).sum() / 2)


def matched_confusion(
    truth: Labels, predicted: Labels, known: int, categories: int
) -> tuple[Int[np.ndarray, "true categories"], list[int]]:
    """Counts of true class by category, and the order of the columns that puts matches on the diagonal.

    Known categories keep their place; novel ones are ordered by the class they match, unmatched ones come last.
    """
    table = np.zeros((max(int(truth.max(initial=-1)) + 1, known), categories), dtype=np.int64)
    np.add.at(table, (truth, predicted), 1)
    rows, columns = pair_off(table[known:, known:])
    by_class = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    matched = [known + by_class[row] for row in sorted(by_class)]
    order = [*range(known), *matched, *(column for column in range(known, categories) if column not in matched)]
    return table[:, order], order
