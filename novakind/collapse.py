"""The two ways in which training fails: everything in one category, or the prior for every item. Seen, and said."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from novakind.prior import Prior


def diagnose(logp: Float[np.ndarray, "items classes"], prior: Prior) -> str | None:
    """One sentence with advice if the predictions on unlabeled items have collapsed, else None."""
    if len(logp) < 2:
        return None
    probs = np.exp(logp)
    share = np.bincount(logp.argmax(1), minlength=prior.classes) / len(logp)
    novel, largest = share[prior.known :], max(prior.novel)
    entropy = float(-(probs * logp).sum(1).mean())
    spread = float(probs.std(0).max())
    if len(prior.novel) > 1 and spread < 0.1 * largest and entropy > 0.8 * prior.entropy():
        return (
            "collapse: every unlabeled item gets nearly the same answer; train longer with --epochs; if that does not "
            "help, raise --objective.var or --objective.swapped-sharpened, or lower --objective.kl"
        )
    if len(prior.novel) > 1 and novel.max() > largest + 0.8 * (1 - largest):
        return (
            f"collapse: {novel.max():.0%} of the unlabeled items fall into one new category; train longer with "
            "--epochs, or look for fewer categories; else raise --objective.kl, or lower --objective.entropy"
        )
    if novel.sum() < 0.1:
        return (
            f"collapse: {1 - novel.sum():.0%} of the unlabeled items are taken for known classes; train longer with "
            "--epochs; if that does not help, raise --objective.kl, or --objective.novel-mass to 1"
        )
    return None
