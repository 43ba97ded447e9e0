"""How training fails: all items in one category, the prior for every item, known classes not learnt; and warnings."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from novakind.errors import UserError
from novakind.objective.prior import Prior

FEWEST = 20  # items whose confidence says something
APART = 0.2  # so much of the choice between the two most alike categories must survive a change of view


def diagnose(logp: Float[np.ndarray, "items classes"], prior: Prior, weighable: bool) -> str | None:
    """One sentence with advice if the predictions on unlabeled items have collapsed, else None.

    The advice names weights of the objective where they are `weighable`.
    """
    if len(logp) < 2:
        return None
    probs = np.exp(logp)
    share = np.bincount(logp.argmax(1), minlength=prior.classes) / len(logp)
    novel, largest = share[prior.known :], max(prior.novel)
    entropy = float(-(probs * logp).sum(1).mean())
    spread = float(probs.std(0).max())
    if len(prior.novel) > 1 and spread < 0.1 * largest and entropy > 0.8 * prior.entropy():
        said = "every unlabeled item gets nearly the same answer; train longer with --epochs"
        weights = (
            "if that does not help, raise --objective.var or --objective.swapped-sharpened, or lower --objective.kl"
        )
    elif novel.sum() < 0.1 * (1 - prior.mixed):
        said = f"{1 - novel.sum():.0%} of the unlabeled items are taken for known classes; train longer with --epochs"
        weights = "if that does not help, raise --objective.kl, or --objective.novel-mass to 1"
    elif len(prior.novel) > 1 and novel.max() / novel.sum() > largest + 0.8 * (1 - largest):
        said = (
            f"{novel.max():.0%} of the unlabeled items fall into one new category and next to none into the others; "
            "train longer with --epochs, or look for fewer categories"
        )
        weights = "else raise --objective.kl, or lower --objective.entropy"
    else:
        return None
    return f"collapse: {said}" + (f"; {weights}" if weighable else "")


def distrust(line: dict[str, float], held_out: int, caution: str = "") -> str | None:
    """A warning where even known classes are not recognised: new categories cannot be trusted then, however confident.

    `held_out` labeled items are in the validation part. `caution` is advice of the kind of data.
    """
    right = line.get("known_acc/val/agnostic", 1.0)
    if right > 0.6 or held_out < 5:
        return None
    return (
        f"only {right:.0%} of the labeled validation items are recognised, so do not trust the new categories yet; "
        f"add labeled items, train longer with --epochs, {caution}or try another --preset"
    )


def check_answers(logp: Float[np.ndarray, "items classes"]) -> None:
    """Stop a training whose last step has spoilt the weights: no sum of terms has seen it yet."""
    if np.isnan(logp).any():
        raise UserError(
            "the model's answers are no longer numbers, its weights have become too large: give a smaller --optim.lr"
        )


def unsettled(trained: Float[np.ndarray, " items"], held_out: Float[np.ndarray, " others"]) -> str | None:
    """A warning where categories fit the items trained on and do not carry over to others: a poor optimum.

    By the confidence in unlabeled items: doubt in those held out is several times that in the others, by more than
    chance. Classes carry over; a division learnt item by item, whose loss may be as low, does not (experiments/LOG.md).
    """
    if min(len(trained), len(held_out)) < FEWEST:
        return None
    gap = float(trained.mean() - held_out.mean())
    chance = float(np.sqrt(trained.var() / len(trained) + held_out.var() / len(held_out)))
    times = (1 - float(held_out.mean())) / max(1 - float(trained.mean()), 1e-6)
    if gap < 0.02 or gap < 2.5 * chance or times < 3:
        return None
    return (
        f"a poor optimum: the model doubts its answers {times:.0f} times as much on unlabeled items that it was not "
        "trained on, so some new categories may not be classes; compare with another --seed, or train longer with "
        "--epochs"
    )


def merged_early(line: dict[str, float]) -> str | None:
    """A warning where finer outputs merged before they meant anything: an item's views do not agree on its category.

    A wrong merge is not taken back, so few steps spoil what many would find (experiments/LOG.md).
    """
    if line.get("told_apart", 1.0) >= APART:
        return None
    return (
        "an item's answer between two of the new categories hardly survives a change of view, so their shares are a "
        "guess: train longer with --epochs, look for fewer categories, or leave --prior out"
    )


def check_finite(sums: dict[str, float], epoch: int) -> None:
    """Stop a training that has diverged, judged by the sums of its terms."""
    broken = [name for name, value in sums.items() if not np.isfinite(value)]
    if broken:
        raise UserError(
            f'the loss term "{broken[0]}" is no longer a finite number in epoch {epoch}: give a smaller --optim.lr'
        )
