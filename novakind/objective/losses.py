"""The paper's losses, each a pure function of log-probabilities whose rows are items (the transpose of the paper's P).

Terms on single items: cross_entropy, entropy, sharpened, consistency_norm, consistency_mse, swapped.
Terms on the batch as a whole: mean_kl, covariance_norm.
Means and sums over items are those of `batch`: over all of them, also where several processes hold them.
The authors' published variants: mean_kl_one_sided, variance_diagonal, novel_entropy. Ours: novel_mass, kept_out.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from novakind.objective import batch

LogProbs = Float[Tensor, "batch classes"]
Scalar = Float[Tensor, ""]


def finite(logp: LogProbs) -> LogProbs:
    """Write ln 0 as the lowest number there is, so that 0 ln 0 and its gradient are 0 where -infinity gives NaN."""
    return logp.clamp(min=torch.finfo(logp.dtype).min)


def cross_entropy(logp: LogProbs, labels: Int[Tensor, " batch"], smoothing: float = 0.0) -> Scalar:
    """Make labeled items predict their own class, against all K neurons (eq. 7-8).

    Zero at one-hot correct predictions. `smoothing` moves that share of the target evenly onto all classes; the paper
    has none.
    """
    picked = batch.mean(logp.gather(1, labels[:, None])[:, 0])
    if smoothing == 0:
        return -picked
    return -(1 - smoothing) * picked - smoothing * batch.mean(logp.mean(1))


def entropy(logp: LogProbs) -> Scalar:
    """Make each prediction decisive (eq. 9). Zero at one-hot, ln K at uniform."""
    return -batch.mean((logp.exp() * finite(logp)).sum(1))


def novel_entropy(logp: LogProbs, known: int, temperature: float = 1.0) -> Scalar:
    """Make each prediction decisive among the novel classes alone: the authors' code, with temperature 0.5.

    There it divides logits that are cosines over tau = 0.1: together 0.05 of the cosine.
    """
    return entropy(torch.log_softmax(logp[:, known:] / temperature, 1))


def sharpen(logp: LogProbs, sharpness: float) -> Float[Tensor, "batch classes"]:
    """Probabilities at a lower temperature, softmax(log p / s): s = 1 leaves them, s -> 0 makes them one-hot."""
    return torch.softmax(logp / sharpness, 1)


def sharpen_probs(logp: LogProbs, sharpness: float) -> Float[Tensor, "batch classes"]:
    """softmax(P / s), exactly as in the paper: bounded by e^(1/s), so never quite one-hot."""
    return torch.softmax(logp.exp() / sharpness, 1)


def soft_cross_entropy(targets: Float[Tensor, "batch classes"], logp: LogProbs) -> Scalar:
    """Mean over items of the cross-entropy between two distributions."""
    return -batch.mean((targets * finite(logp)).sum(1))


def sharpened(logp: LogProbs, sharpness: float = 0.1) -> Scalar:
    """Train each prediction towards its own sharpened self (eq. 10); the gradient flows through both, as written."""
    return soft_cross_entropy(sharpen_probs(logp, sharpness), logp)


def consistency_norm(first: LogProbs, second: LogProbs) -> Scalar:
    """The two views of an item must agree: the Frobenius norm of P - P' over B, not squared (eq. 11)."""
    return batch.norm(first.exp() - second.exp()) / batch.count(first)


def consistency_mse(first: LogProbs, second: LogProbs) -> Scalar:
    """The two views must agree: the plain mean squared error that the field uses in place of eq. 11."""
    return batch.mean((first.exp() - second.exp()).square().mean(1))


def swapped(first: LogProbs, second: LogProbs) -> Scalar:
    """Each view is the other's target, both directions summed (eq. 12); zero only where both are one-hot and equal."""
    return soft_cross_entropy(first.exp(), second) + soft_cross_entropy(second.exp(), first)


def swapped_sharpened(first: LogProbs, second: LogProbs, sharpness: float = 0.5) -> Scalar:
    """Each view is trained towards the other's sharpened prediction, which is held fixed (eq. 10 and 12 together).

    The stopped, sharpened target pulls predictions to a decision without the entropy term, which decides too early.
    """
    return soft_cross_entropy(sharpen(first.detach(), sharpness), second) + soft_cross_entropy(
        sharpen(second.detach(), sharpness), first
    )


def log_mean(logp: LogProbs) -> Float[Tensor, " classes"]:
    """Log of the batch's mean prediction (eq. 13), finite even where every probability of a class underflows."""
    return batch.log_mean(finite(logp))


def covariance(logp: LogProbs) -> Float[Tensor, "classes classes"]:
    """The batch's covariance, divided by B (eq. 15-16)."""
    return batch.covariance(logp.exp())


def mean_kl(logp: LogProbs, target: Float[Tensor, " classes"]) -> Scalar:
    """Pull the batch's mean prediction to the prior: KL(prior || mean), with 0 ln 0 = 0 (eq. 14).

    Zero when they agree; its floor at a perfect model is the sampling noise, about (U - 1) / 2B.
    """
    return torch.xlogy(target, target).sum() - (target * log_mean(logp)).sum()


def mean_kl_one_sided(logp: LogProbs, target: Float[Tensor, " classes"]) -> Scalar:
    """Pull only novel classes that get less than their share: -mean_j ln min(1, mean_j / p_j), the authors' code."""
    novel = target > 0
    return (target[novel].log() - log_mean(logp)[novel]).clamp(min=0).mean()


def covariance_norm(logp: LogProbs, target: Float[Tensor, "classes classes"]) -> Scalar:
    """Pull the batch's covariance to the prior's: Frobenius norm of the difference (eq. 17).

    Given that the mean is the prior, it is zero exactly when every prediction is one-hot.
    """
    return torch.linalg.matrix_norm(covariance(logp) - target)


def variance_diagonal(logp: LogProbs, target: Float[Tensor, " classes"], known: int) -> Scalar:
    """Each novel neuron's variance, not how neurons vary together: the authors' code in place of eq. 17.

    The mean over novel classes of the squared difference between the unbiased variance of p_j, among the novel classes
    alone, and p_j (1 - p_j) of the prior. The authors weigh it 0.01.
    """
    shares = target[known:] / target[known:].sum()
    unbiased = batch.variance(torch.softmax(logp[:, known:], 1)) * (items := batch.count(logp)) / max(1, items - 1)
    return (unbiased - shares * (1 - shares)).square().mean()


def kept_out(logp: LogProbs, barred: Bool[Tensor, "batch classes"]) -> Scalar:
    """Keep items off the classes that a person said they are not of: minus the log of all other probability."""
    others = torch.logsumexp(logp.masked_fill(barred, -torch.inf), 1)
    return -batch.mean(torch.where(barred.any(1), others, 0.0))


def novel_mass(logp: LogProbs, known: int, share: float = 0.0) -> Scalar:
    """Keep each unlabeled item off the known classes: minus the log of its total novel probability. Our addition.

    Where a `share` of the unlabeled items is of known classes, so many of the batch, those that lean to them most, are
    kept with the known classes instead, and only the others off them: a border that lets as many pass as there are.
    """
    novel = torch.logsumexp(logp[:, known:], 1)
    if not share:
        return -batch.mean(novel)
    ordered = batch.gathered(novel.detach()).sort().values
    level = ordered[min(round(share * len(ordered)), len(ordered) - 1)]
    return -batch.mean(torch.where(novel.detach() < level, torch.logsumexp(logp[:, :known], 1), novel))
