"""What is known of the unlabeled items before training: how they spread over the novel classes (eq. 1-4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from jaxtyping import Float
from torch import Tensor

from novakind.errors import UserError

GONE = "-"  # instead of a share: a category that was merged into another


@dataclass(frozen=True)
class Prior:
    """The multinoulli [m / L ; (1 - m) p_U]: `novel[j]` is the j-th novel class's share of what is novel.

    A share m, `mixed`, of the unlabeled items is of known classes, all of them alike; the paper has none. Training
    decides which true class ends up in the j-th novel neuron; how large a share that neuron receives is fixed from the
    first step.
    """

    known: int
    novel: tuple[float, ...]
    mixed: float = 0.0

    def __post_init__(self) -> None:
        shares = ", ".join(f"{share:g}" for share in self.novel)
        if not self.novel:
            raise UserError("the prior has no novel class, but at least 1 is needed: give --novel 1 or more")
        if any(not math.isfinite(share) or share < 0 for share in self.novel) or not any(self.novel):
            raise UserError(
                f"the prior {shares} holds a share that is not above 0: give every novel class a share above 0"
            )
        if not 0 <= self.mixed < 1:
            raise UserError(
                f"--known-share {self.mixed:g} is out of range, it must be from 0 to below 1: give --known-share 0.5"
            )
        if abs(sum(self.novel) - 1) > 1e-6:
            raise UserError(
                f"the prior {shares} sums to {sum(self.novel):g}, but shares must sum to 1: divide each by their sum"
            )

    @classmethod
    def uniform(cls, known: int, novel: int, mixed: float = 0.0) -> Prior:
        """Every novel class is as frequent as every other."""
        if novel < 1:
            raise UserError(
                f"--novel {novel} asks for no new category, but at least 1 is needed: give --novel 1 or more"
            )
        return cls(known, (1 / novel,) * novel, mixed)

    @classmethod
    def counted(cls, known: int, counts: Sequence[int]) -> Prior:
        """Shares in proportion to counts, e.g. to the number of items of each class in an earlier survey."""
        total = sum(counts)
        if total <= 0 or min(counts) <= 0:
            raise UserError(f"the counts {list(counts)} hold a class without items: count at least one item of each")
        return cls(known, tuple(count / total for count in counts))

    @classmethod
    def parse(cls, text: str, known: int, novel: int, mixed: float = 0.0) -> Prior:
        """Read "uniform" or shares such as "1/2,1/8,1/8,1/8,1/8": one per novel class, "-" for one that is no more;
        "auto" begins uniform."""
        if text.strip() in ("uniform", "auto"):
            return cls.uniform(known, novel, mixed)
        parts = [part.strip() for part in text.split(",")]
        try:
            shares = tuple(0.0 if part == GONE else read_share(part) for part in parts)
        except (ValueError, ArithmeticError):  # not a number, 1/0, or 1e999
            raise UserError(
                f'the prior "{text}" is not a list of numbers: write uniform, auto, or shares such as 1/2,1/4,1/4'
            ) from None
        if len(shares) != novel:
            raise UserError(
                f'the prior "{text}" has {len(shares)} shares, but --novel asks for {novel} categories: '
                f"give {novel} shares that sum to 1"
            )
        if any(share <= 0 for part, share in zip(parts, shares, strict=True) if part != GONE):
            shown = ", ".join(f"{share:g}" for share in shares)
            raise UserError(f"the prior {shown} holds a share that is not above 0: give every novel class one above 0")
        total = sum(shares)
        rounded = 1e-6 < abs(total - 1) < 0.005 * novel  # 0.333,0.333,0.333 and the like
        return cls(known, tuple(share / total for share in shares) if rounded else shares, mixed)

    @property
    def classes(self) -> int:
        """K = L + U."""
        return self.known + len(self.novel)

    @property
    def shares(self) -> tuple[float, ...]:
        """Of all K classes among the unlabeled items."""
        known = (self.mixed / self.known,) * self.known if self.known else ()
        return (*known, *((1 - self.mixed) * share for share in self.novel))

    def mean(self) -> Float[Tensor, " classes"]:
        """The mean that a batch of predictions on unlabeled items must have (eq. 3)."""
        return torch.tensor(self.shares, dtype=torch.float64).float()

    def covariance(self) -> Float[Tensor, "classes classes"]:
        """The covariance that it must have: diag(p) - p p^T (eq. 4)."""
        mean = self.mean()
        return torch.diag(mean) - torch.outer(mean, mean)

    def entropy(self) -> float:
        """In nats: the entropy of a model that has learnt nothing but the prior."""
        return -sum(share * math.log(share) for share in self.shares if share > 0)


def read_share(text: str) -> float:
    """A number, a fraction or a percentage."""
    return float(Fraction(text.removesuffix("%").strip())) / (100 if text.endswith("%") else 1)
