"""A small model and a batch, for the tests of methods' losses."""

import torch

from novakind.methods import Batch
from novakind.modality.features import Features
from novakind.model import Card, Model
from novakind.objective.prior import Prior

DIM, KNOWN, NOVEL = 6, 2, 3
PRIOR = Prior.uniform(KNOWN, NOVEL)


def make_model(dim: int = DIM, width: int = 16, head: str = "prototype") -> Model:
    torch.manual_seed(0)
    settings = Features((0.0,) * dim, (1.0,) * dim).settings()
    return Model(Card("mlp", head, width, 0.1, KNOWN, ("a", "b", "new-1", "new-2", "new-3"), settings))


def make_batch(labeled: int = 12, views: int = 30, progress: float = 0.0) -> Batch:
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(KNOWN, (labeled,), generator=generator)
    x = torch.randn(labeled + 2 * views, DIM, generator=generator)
    return Batch(x, labels, progress, torch.arange(views))
