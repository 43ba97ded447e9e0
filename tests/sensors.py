"""Windows of sensors for tests, and the views of them with all but one augmentation switched off."""

from dataclasses import replace

import torch
from torch import Tensor

from novakind.modality.series import Series
from novakind.modality.warp import SeriesViews

OFF = SeriesViews(jitter=0, scale=0, rotate=0, time_warp=0, magnitude_warp=0, permute=0, slice=1, drop=0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(count: int = 8, channels: int = 3, length: int = 50, seed: int = 0) -> Tensor:
    return torch.randn(count, channels, length, generator=seeded(seed))


def sensor(channels: int = 3, length: int = 50, **settings) -> Series:
    return Series(tuple(f"c{number}" for number in range(channels)), length, **settings)


def vary(batch: Tensor, seed: int = 1, mean=(), std=(), **changes) -> Tensor:
    modality = sensor(batch.shape[1], batch.shape[2], mean=mean, std=std)
    return modality.augment(batch, replace(OFF, **changes), seeded(seed))
