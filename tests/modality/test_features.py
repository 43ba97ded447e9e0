"""Feature vectors: scaled as the known classes ask for, of length 1, varied by noise, mixing and dropping."""

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


def test_features_of_any_scale_are_standardised_and_of_length_one():
    rng = np.random.default_rng(0)
    scale = np.array([1e-12, 1e-6, 1.0, 1e6, 1e15])
    rows = (rng.normal(size=(500, 5)) * scale + 3 * scale).astype(np.float32)
    ready = Features.of(rows).collate(rows)
    assert ready.dtype == torch.float32
    torch.testing.assert_close(ready.norm(dim=1), torch.ones(500))
    wanted = torch.nn.functional.normalize(torch.from_numpy((rows - rows.mean(0)) / rows.std(0)), dim=1)
    torch.testing.assert_close(ready, wanted, rtol=0, atol=1e-4)


def two_kinds() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes that differ in the first number, beside a large one that says nothing; half are labeled."""
    rng = np.random.default_rng(0)
    kinds = np.arange(400) % 2
    rows = rng.normal(size=(400, 2)) * (0.1, 50.0)
    rows[:, 0] += kinds
    return rows.astype(np.float32), np.where(np.arange(400) < 200, kinds, -1)


def test_four_scalings():
    rows, _ = two_kinds()
    plain, centred, standardised, lifted = Features.scalings(rows)
    as_they_are = torch.nn.functional.normalize(torch.from_numpy(rows), dim=1)
    torch.testing.assert_close(plain.collate(rows), as_they_are)
    assert centred.mean == standardised.mean == lifted.mean == Features.of(rows).mean
    assert centred.std == (1.0,) * 2
    assert standardised.std == lifted.std == Features.of(rows).std
    assert lifted.collate(rows).shape == (400, 3)
    assert lifted.shape == (2,)  # of the rows as they are kept
    for scaling in (plain, centred, standardised, lifted):
        torch.testing.assert_close(scaling.collate(rows).norm(dim=1), torch.ones(400))
        assert from_settings(json.loads(json.dumps(scaling.settings()))) == scaling


def test_the_known_classes_choose_the_scaling():
    rows, labels = two_kinds()
    plain, *others = Features.scalings(rows)
    fitted = plain.fitted(rows, labels)
    assert fitted != plain
    assert fitted.told_apart(rows, np.arange(400) % 2) > 0.9 > plain.told_apart(rows, np.arange(400) % 2)
    assert fitted in others


@pytest.mark.parametrize("labels", [np.full(400, -1), np.where(np.arange(400) < 9, 0, -1)])
def test_without_two_known_classes_numbers_in_unlike_units_are_brought_to_one_scale(labels):
    rows, _ = two_kinds()
    assert Features.of(rows).fitted(rows) == Features.scalings(rows)[0]  # nobody asked for it
    assert Features.of(rows).fitted(rows, labels) == Features.scalings(rows)[-1]
    alike = rows / (1.0, 100.0)
    assert Features.of(alike).fitted(alike, labels) == Features.scalings(alike)[0]


def test_a_scaling_that_is_no_better_is_not_taken():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    rows = (np.eye(3, 8)[labels] + 0.05 * rng.normal(size=(300, 8))).astype(np.float32)
    assert Features.of(rows).fitted(rows, labels) == Features.scalings(rows)[0]


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 123456.79, 1e30])
def test_constant_features_stay_at_zero(value):
    rows = np.full((997, 2), value, np.float32)
    rows[:, 1] = np.arange(997)
    ready = Features.of(rows).collate(rows)
    assert ready.isfinite().all()
    assert ready[:, 0].abs().max() <= 1e-6 * abs(value)  # not blown up to the size of the others


def test_new_items_are_measured_against_the_training_items():
    modality = Features((1.0, 2.0), (0.5, 4.0))
    seen = modality.collate(np.array([[2.0, 2.0], [1.0, -2.0], [3.0, 14.0]]))
    torch.testing.assert_close(seen, torch.tensor([[1.0, 0], [0, -1], [0.8, 0.6]]))
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
def test_noise_has_the_length_given_and_repeats_by_generator(strength):
    policy = FeatureViews(strength, noise=0.3, drop=0.0, mix=0.0)
    batch = torch.randn(400, 50, generator=seeded())
    first, again = (unit(50).augment(batch, policy, seeded(1)) for _ in range(2))
    assert torch.equal(first, again)
    other = unit(50).augment(batch, policy, seeded(2))
    for change in (first - batch, other - batch, (first - other) / 2**0.5):  # the two views are independent
        assert abs(change.mean()) < 0.01
        assert abs(change.norm(dim=1).mean() - 0.3) < 0.01


def test_drop_sets_its_share_to_zero():
    batch = torch.ones(400, 50)
    dropped = unit(50).augment(batch, FeatureViews(noise=0.0, drop=0.25, mix=0.0), seeded())
    assert set(dropped.unique().tolist()) == {0.0, 1.0}
    assert abs((dropped == 0).float().mean() - 0.25) < 0.02
    noisy = unit(50).augment(batch, FeatureViews(noise=0.3, drop=0.25, mix=0.0), seeded())
    assert abs((noisy == 0).float().mean() - 0.25) < 0.02  # dropped after the noise: exactly zero


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
