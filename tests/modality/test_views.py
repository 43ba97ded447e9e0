"""Views of pictures: augmentation against slow, literal references."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from torch import Tensor

from novakind.modality import from_settings
from novakind.modality.image import Image
from novakind.modality.pixels import ImageViews, blur, cut_out, pick, recolour, solarize, uniform

OFF = ImageViews(flip=False, crop=1, rotate=0, jitter=0, grey=0, blur=0, solarize=0, cutout=0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(count: int = 6, side: int = 16, seed: int = 0) -> Tensor:
    return torch.rand(count, 3, side, side, generator=seeded(seed))


@pytest.mark.parametrize("strength", ["strong", "weak", "none"])
@pytest.mark.parametrize("side", [1, 7, 32])
def test_augmentation_repeats_itself_and_stays_in_range(strength, side):
    policy = ImageViews(strength, rotate=30, blur=0.5, solarize=0.5, cutout=0.5, grey=0.5)
    batch = random_batch(40, side)
    kept = batch.clone()
    first, again = (Image(side).augment(batch, policy, seeded(1)) for _ in range(2))
    assert torch.equal(batch, kept)  # the rows that came in are not written over
    assert torch.equal(first, again)
    assert first.shape == batch.shape
    assert first.isfinite().all()
    assert first.min() >= 0
    assert first.max() <= 1 + 1e-5
    if strength != "none" and side == 32:
        other = Image(side).augment(batch, policy, seeded(2))  # the second view
        assert ((first - other).flatten(1).abs().amax(1) > 0.01).float().mean() > (0.9 if strength == "weak" else 0.99)


@pytest.mark.parametrize("policy", [OFF, replace(OFF, strength="none"), replace(OFF, strength="weak")])
def test_a_policy_without_changes_changes_nothing(policy):
    batch = random_batch(5, 7)  # an eighth of 7 is no whole pixel: weak cannot shift either
    torch.testing.assert_close(Image(7).augment(batch, policy, seeded()), batch, rtol=0, atol=1e-5)


def look_ups(policy: ImageViews, count: int = 400, side: int = 32) -> np.ndarray:
    """The 2 x 2 matrix of each item's look-up, read off at the centre of pictures that are ramps in x and y."""
    ramp = torch.linspace(0, 1, side).expand(side, side)
    batch = torch.stack([ramp, ramp.T, torch.zeros(side, side)]).expand(count, 3, side, side)
    seen = Image(side).augment(batch, policy, seeded()).double()
    middle = side // 2
    here = seen[:, :2, middle, middle]
    across, down = seen[:, :2, middle, middle + 1] - here, seen[:, :2, middle + 1, middle] - here
    return (torch.stack([across, down], 2) * (side - 1)).numpy()


@pytest.mark.parametrize("crop", [0.3, 0.6, 0.9, 1.0])
def test_a_crop_keeps_its_share_of_the_area(crop):
    area = np.linalg.det(look_ups(replace(OFF, crop=crop)))
    assert area.min() > crop - 1e-3  # positive: nothing is mirrored
    assert area.max() < 1 + 1e-3
    np.testing.assert_allclose(area.mean(), (1 + crop) / 2, atol=0.05)


def test_turns_and_mirrors_as_far_as_allowed():
    matrix = look_ups(replace(OFF, rotate=20, flip=True))
    np.testing.assert_allclose(matrix @ matrix.transpose(0, 2, 1), np.tile(np.eye(2), (len(matrix), 1, 1)), atol=1e-3)
    angle = np.degrees(np.arctan2(-matrix[:, 0, 1], matrix[:, 1, 1]))
    assert 18 < angle.max() < 20.1
    assert -20.1 < angle.min() < -18
    assert 0.4 < (np.linalg.det(matrix) < 0).mean() < 0.6


@pytest.mark.parametrize("flip", [False, True])
def test_weak_shifts_by_whole_pixels_exactly(flip):
    side, reach = 16, 2
    batch = random_batch(60, side)
    seen = Image(side).augment(batch, ImageViews("weak", flip=flip), seeded()).numpy()
    found = []
    for item, result in zip(batch.numpy(), seen, strict=True):
        padded = np.pad(item, ((0, 0), (reach, reach), (reach, reach)), mode="symmetric")
        matches = [
            (down, right, mirrored)
            for down in range(2 * reach + 1)
            for right in range(2 * reach + 1)
            for mirrored in ([False, True] if flip else [False])
            for moved in [padded[:, down : down + side, right : right + side]]
            if np.allclose(moved[:, :, ::-1] if mirrored else moved, result, atol=1e-4)
        ]
        assert len(matches) == 1
        found += matches
    downs, rights, mirrors = zip(*found, strict=True)
    assert set(downs) == set(rights) == set(range(2 * reach + 1))
    assert set(mirrors) == ({False, True} if flip else {False})


def literal_recolour(picture: np.ndarray, brightness: float, contrast: float, saturation: float) -> np.ndarray:
    grey = np.array([0.299, 0.587, 0.114])
    picture = picture * brightness
    picture = contrast * picture + (1 - contrast) * (grey @ picture.reshape(3, -1)).mean()
    picture = saturation * picture + (1 - saturation) * np.einsum("c,chw->hw", grey, picture)
    return picture.clip(0, 1)


@pytest.mark.parametrize(("jitter", "grey"), [(0.4, 0.3), (0.8, 0.0), (1.5, 0.0), (0.0, 1.0)])
def test_recolour_is_brightness_then_contrast_then_saturation(jitter, grey):
    batch, generator = random_batch(20, 8), seeded(3)
    low, high = max(0, 1 - jitter), 1 + jitter
    brightness, contrast, saturation = (uniform(20, low, high, generator) for _ in range(3))
    saturation[pick(20, grey, generator)] = 0
    expected = [
        literal_recolour(picture.double().numpy(), *factors)
        for picture, *factors in zip(batch, brightness.tolist(), contrast.tolist(), saturation.tolist(), strict=True)
    ]
    seen = recolour(batch, replace(OFF, jitter=jitter, grey=grey), seeded(3)).numpy()
    np.testing.assert_allclose(seen, np.stack(expected), atol=1e-5)


def test_solarize_and_blur_against_loops_over_pixels():
    batch = random_batch(3, 6)
    inverted = [1 - tone if tone >= 0.5 else tone for tone in batch.flatten().tolist()]
    np.testing.assert_allclose(solarize(batch).flatten().numpy(), inverted, atol=1e-6)
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
    expected = np.zeros_like(batch.numpy())
    for item, channel, row, column in np.ndindex(*batch.shape):
        for down, right in np.ndindex(3, 3):
            y, x = min(max(row + down - 1, 0), 5), min(max(column + right - 1, 0), 5)
            expected[item, channel, row, column] += weights[down, right] * batch[item, channel, y, x].item()
    np.testing.assert_allclose(blur(batch).numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("side", [8, 15, 32])
def test_cutout_is_one_grey_square_of_at_most_a_quarter_of_the_area(side):
    batch = torch.zeros(200, 3, side, side)
    seen = cut_out(batch, replace(OFF, cutout=0.5), seeded()).numpy()
    hit = seen.any((1, 2, 3))
    assert 0.35 < hit.mean() < 0.65
    sizes = []
    for item in seen[hit]:
        assert (item == item[0]).all()
        assert set(np.unique(item)) <= {0.0, 0.5}
        rows, columns = np.flatnonzero(item[0].any(1)), np.flatnonzero(item[0].any(0))
        block = item[0, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        assert (block == 0.5).all()  # a filled rectangle, cut off at the edge at most
        sizes.append(max(block.shape))
    assert max(sizes) <= math.ceil(side / 2)
    assert max(sizes) > side / 3


@pytest.mark.parametrize(("chance", "low", "high"), [(0.0, 0, 0), (1.0, 1, 1), (0.3, 0.25, 0.35)])
def test_pick_chooses_with_the_chance_given(chance, low, high):
    chosen = pick(2000, chance, seeded())
    assert low <= len(chosen) / 2000 <= high
    assert len(set(chosen.tolist())) == len(chosen)


def test_normalise_centres_and_scales_with_the_statistics_of_the_rows():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(low, low + 60, (300, 12, 12), dtype=np.uint8) for low in (0, 90, 190)], 1)
    modality = Image(rows.shape[2]).fitted(rows)
    batch = modality.collate(rows)
    assert batch.min() >= 0
    assert batch.max() <= 1
    ready = modality.normalise(batch)
    assert ready.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(ready.mean((0, 2, 3)), torch.zeros(3), rtol=0, atol=2e-3)
    torch.testing.assert_close(ready.std((0, 2, 3)), torch.ones(3), rtol=0, atol=2e-3)
    literal = (batch - torch.tensor(modality.mean).view(3, 1, 1)) / torch.tensor(modality.std).view(3, 1, 1)
    torch.testing.assert_close(ready, literal, rtol=0, atol=1e-5)
    black = Image(8).fitted(np.zeros((4, 3, 8, 8), np.uint8))  # no deviation to divide by
    assert black.normalise(black.collate(np.zeros((4, 3, 8, 8), np.uint8))).abs().max() == 0


def test_rows_of_a_read_only_map_are_collated_without_complaint(tmp_path):
    rows = np.random.default_rng(0).integers(0, 255, (4, 3, 8, 8), dtype=np.uint8)
    (tmp_path / "rows.bin").write_bytes(rows.tobytes())
    mapped = np.memmap(tmp_path / "rows.bin", np.uint8, "r", shape=rows.shape)
    assert torch.equal(Image(8).collate(mapped[1:3]), torch.from_numpy(rows[1:3]) / 255)


def test_thumbnail_is_a_png_of_the_row():
    row = np.random.default_rng(0).integers(0, 255, (3, 9, 9), dtype=np.uint8)
    png = Image(9).thumbnail(row)
    picture = Pillow.open(io.BytesIO(png))
    assert picture.format == "PNG"
    np.testing.assert_array_equal(np.asarray(picture).transpose(2, 0, 1), row)


def test_settings_survive_json():
    modality = Image(48, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert from_settings(json.loads(json.dumps(modality.settings()))) == modality
    assert modality.shape == (3, 48, 48)


@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_views_are_small_in_the_first_part_of_the_training(strength):
    policy = ImageViews(strength, small=12, small_until=0.6)
    batch = torch.rand(4, 3, 16, 16)
    views = [Image(16).augment(batch.clone(), policy.at(progress), seeded()) for progress in (0, 0.59, 0.6, 1)]
    assert [view.shape[-1] for view in views] == [12, 12, 16, 16]


def test_views_become_mild():
    policy = ImageViews(crop=0.5, jitter=0.4, grey=0.1, blur=0.2, solarize=0.3, cutout=0.25, mild_from=0.5)
    assert policy.at(0.49) == policy
    late = policy.at(0.5)
    assert (late.crop, late.cutout, late.flip) == (0.8, 0.25, True)
    assert late.jitter == late.grey == late.blur == late.solarize == 0
    assert replace(policy, crop=0.9).at(1).crop == 0.9
    assert ImageViews().at(0.99) == ImageViews()


def test_a_small_view_shows_the_same_picture():
    ramp = torch.linspace(0, 1, 32).expand(1, 3, 32, 32)
    small = Image(32).augment(ramp.clone(), replace(OFF, small=16), seeded())
    torch.testing.assert_close(small, (ramp[..., ::2] + ramp[..., 1::2])[..., ::2, :] / 2, atol=1e-4, rtol=0)
