"""The paper's losses to the letter. P is K x B; P.T @ Q is B x B, and its trace the sum over items."""

import torch
from torch import Tensor


def ln(P: Tensor) -> Tensor:
    return P.log()


def frobenius(A: Tensor) -> Tensor:
    return torch.trace(A.T @ A).sqrt()


def column_softmax(A: Tensor) -> Tensor:
    return A.exp() / A.exp().sum(0, keepdim=True)


def cross_entropy(P: Tensor, labels: Tensor) -> Tensor:
    target = torch.zeros_like(P)
    for item, label in enumerate(labels.tolist()):
        target[label, item] = 1
    return -torch.trace(target.T @ ln(P)) / P.shape[1]


def entropy(P: Tensor) -> Tensor:
    return -torch.trace(P.T @ ln(P)) / P.shape[1]


def sharpened(P: Tensor, sharpness: float) -> Tensor:
    return -torch.trace(column_softmax(P / sharpness).T @ ln(P)) / P.shape[1]


def consistency(P: Tensor, Q: Tensor) -> Tensor:
    return frobenius(P - Q) / P.shape[1]


def swapped(P: Tensor, Q: Tensor) -> Tensor:
    return -(torch.trace(P.T @ ln(Q)) + torch.trace(Q.T @ ln(P))) / P.shape[1]


def mean(P: Tensor) -> Tensor:
    return P @ torch.ones(P.shape[1], dtype=P.dtype) / P.shape[1]


def mean_kl(P: Tensor, target: Tensor) -> Tensor:
    shares = mean(P)
    terms = [y * (torch.log(y) - torch.log(shares[k])) for k, y in enumerate(target) if y > 0]  # 0 ln 0 = 0
    return torch.stack(terms).sum()


def covariance(P: Tensor) -> Tensor:
    total = torch.zeros(P.shape[0], P.shape[0], dtype=P.dtype)
    for item in range(P.shape[1]):
        centred = P[:, item] - mean(P)
        total = total + torch.outer(centred, centred)
    return total / P.shape[1]


def covariance_norm(P: Tensor, target: Tensor) -> Tensor:
    return frobenius(covariance(P) - target)


# The authors' published code, in the same manner.


def mean_kl_one_sided(P: Tensor, target: Tensor) -> Tensor:
    shares = mean(P)
    terms = [-torch.log(torch.clamp(shares[k] / y, max=1)) for k, y in enumerate(target) if y > 0]
    return torch.stack(terms).mean()


def variance_diagonal(P: Tensor, target: Tensor, known: int) -> Tensor:
    """`mul_var_loss`: torch's unbiased variance of a softmax over the novel logits, mean squared error."""
    novel, shares = column_softmax(ln(P[known:])), target[known:] / target[known:].sum()
    variance = torch.diagonal(covariance(novel)) * P.shape[1] / (P.shape[1] - 1)
    return torch.stack([(v - y * (1 - y)) ** 2 for v, y in zip(variance, shares, strict=True)]).mean()


def novel_entropy(P: Tensor, known: int, temperature: float) -> Tensor:
    return entropy(column_softmax(ln(P[known:]) / temperature))


def novel_mass(P: Tensor, known: int) -> Tensor:
    return -torch.stack([torch.log(column[known:].sum()) for column in P.T]).mean()
