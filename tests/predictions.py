"""Predictions for tests of losses: random ones, decided ones, and every loss of two views."""

import torch
from hypothesis import settings
from torch import Tensor

from novakind.objective import losses
from novakind.objective.prior import Prior

checked = settings(deadline=None, derandomize=True, max_examples=30)
KNOWN, PRIOR = 2, Prior(2, (0.5, 0.3, 0.2))
CLASSES = PRIOR.classes
MEAN, COVARIANCE = PRIOR.mean().double(), PRIOR.covariance().double()
ITEMS = 9


def logits(views: int, scale: float = 2.0, seed: int = 0, batch: int = ITEMS) -> list[Tensor]:
    torch.manual_seed(seed)
    return [(scale * torch.randn(batch, CLASSES, dtype=torch.float64)).requires_grad_() for _ in range(views)]


def log_probs(rows: list[Tensor]) -> list[Tensor]:
    return [torch.log_softmax(row, 1) for row in rows]


def hard(labels: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
    """Log-probabilities that are one-hot to the last digit: ln 0 is minus infinity."""
    return torch.eye(CLASSES, dtype=dtype)[labels].log()


def balanced(times: int = 1) -> Tensor:
    """Labels whose shares are exactly the prior."""
    return torch.tensor([2] * 5 + [3] * 3 + [4] * 2).repeat(times)


def every_loss(first: Tensor, second: Tensor, prior: Prior) -> dict[str, Tensor]:
    mean, covariance, known = prior.mean().to(first.dtype), prior.covariance().to(first.dtype), prior.known
    return {
        "entropy": losses.entropy(first),
        "novel_entropy": losses.novel_entropy(first, known, 0.3),
        "sharpened": losses.sharpened(first),
        "consistency_norm": losses.consistency_norm(first, second),
        "consistency_mse": losses.consistency_mse(first, second),
        "swapped": losses.swapped(first, second),
        "swapped_sharpened": losses.swapped_sharpened(first, second),
        "mean_kl": losses.mean_kl(first, mean),
        "mean_kl_one_sided": losses.mean_kl_one_sided(first, mean),
        "covariance_norm": losses.covariance_norm(first, covariance),
        "variance_diagonal": losses.variance_diagonal(first, mean, known),
        "novel_mass": losses.novel_mass(first, known),
    }
