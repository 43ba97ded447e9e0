"""Feature vectors: standardised with the training items' statistics, varied by noise, mixing and dropping."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from novakind.errors import UserError
from novakind.modality import from_settings
from novakind.modality.features import Features, FeatureViews

STILL = FeatureViews(noise=0.0, drop=0.0, mix=0.0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def unit(dim: int) -> Features:
    return Features((0.0,) * dim, (1.0,) * dim)


def test_features_of_any_scale_are_standardised():
    rng = np.random.default_rng(0)
    scale = np.array([1e-12, 1e-6, 1.0, 1e6, 1e15])
    rows = (rng.normal(size=(500, 5)) * scale + 3 * scale).astype(np.float32)
    ready = Features.of(rows).collate(rows)
    assert ready.dtype == torch.float32
    torch.testing.assert_close(ready.mean(0), torch.zeros(5), rtol=0, atol=1e-4)
    torch.testing.assert_close(ready.std(0, correction=0), torch.ones(5), rtol=0, atol=1e-4)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 123456.79, 1e30])
def test_constant_features_stay_at_zero(value):
    rows = np.full((997, 2), value, np.float32)
    rows[:, 1] = np.arange(997)
    ready = Features.of(rows).collate(rows)
    assert ready.isfinite().all()
    assert ready[:, 0].abs().max() <= 1e-6 * abs(value)  # not blown up to the size of the others


def test_new_items_are_measured_against_the_training_items():
    modality = Features((1.0, 2.0), (0.5, 4.0))
    torch.testing.assert_close(modality.collate(np.array([[2.0, 2.0], [1.0, -2.0]])), torch.tensor([[2.0, 0], [0, -1]]))
    frozen = np.ones((2, 2), np.float32)
    frozen.flags.writeable = False
    modality.collate(frozen)  # without torch's warning of read-only arrays


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (STILL, "strong"),
        (FeatureViews("none"), "none"),
        (FeatureViews("weak", noise=0.0, drop=0.9, mix=1.0), "weak: no dropping, no mixing"),
    ],
)
def test_identity(policy, kind):
    batch = torch.randn(20, 5, generator=seeded())
    assert torch.equal(unit(5).augment(batch, policy, seeded(1)), batch), kind


@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_noise_has_the_deviation_given_and_repeats_by_generator(strength):
    policy = FeatureViews(strength, noise=0.3, drop=0.0, mix=0.0)
    batch = torch.randn(400, 50, generator=seeded())
    first, again = (unit(50).augment(batch, policy, seeded(1)) for _ in range(2))
    assert torch.equal(first, again)
    other = unit(50).augment(batch, policy, seeded(2))
    for change in (first - batch, other - batch, (first - other) / 2**0.5):  # the two views are independent
        assert abs(change.mean()) < 0.01
        assert abs(change.std() - 0.3) < 0.01


def test_drop_sets_its_share_to_the_mean():
    batch = torch.ones(400, 50)
    dropped = unit(50).augment(batch, FeatureViews(noise=0.0, drop=0.25, mix=0.0), seeded())
    assert set(dropped.unique().tolist()) == {0.0, 1.0}
    assert abs((dropped == 0).float().mean() - 0.25) < 0.02
    noisy = unit(50).augment(batch, FeatureViews(noise=0.3, drop=0.25, mix=0.0), seeded())
    assert abs((noisy == 0).float().mean() - 0.25) < 0.02  # dropped after the noise: exactly the mean


def test_mix_takes_at_most_its_share_of_one_other_item():
    batch = torch.eye(300)
    mixed = unit(300).augment(batch, FeatureViews(noise=0.0, drop=0.0, mix=0.2), seeded())
    torch.testing.assert_close(mixed.sum(1), torch.ones(300))
    assert ((mixed > 0).sum(1) <= 2).all()
    taken = 1 - mixed.diagonal()
    assert taken.max() < 0.2
    assert abs(taken.mean() - 0.1) < 0.02


def test_settings_survive_json_and_files_are_refused():
    modality = Features.of(np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32))
    assert from_settings(json.loads(json.dumps(modality.settings()))) == modality
    assert modality.shape == (3,)
    assert modality.display(lambda item: np.zeros(3)).thumbnail(0) is None
    with pytest.raises(UserError, match=r"photo\.png is one file.*give it an \.npz"):
        modality.read(Path("photo.png"))
