"""Videos: clips vary in the same way in all of their frames, and are seen in the middle where nothing varies."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from novakind.errors import UserError
from novakind.modality import Modality, from_settings
from novakind.modality.frames import VideoViews, cropped, ends, frames_at, redye, resample, shifted
from novakind.modality.pixels import ImageViews, recolour
from novakind.modality.video import Video

OFF = VideoViews(flip=False, crop=1, jitter=0, grey=0, blur=0, shift=0, speed=0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# --- augmentation


def random_batch(count: int = 6, side: int = 16, frames: int = 12, seed: int = 0) -> Tensor:
    return torch.rand(count, 3, frames, side, side, generator=seeded(seed))


def counting(count: int, frames: int, side: int = 8) -> Tensor:
    """Frame k is of tone k / frames all over."""
    return (torch.arange(frames) / frames).view(1, 1, frames, 1, 1).expand(count, 3, frames, side, side)


def seen_in(clips: Tensor, frames: int) -> np.ndarray:
    return (clips.mean((1, 3, 4)) * frames).numpy().round(3)


@pytest.mark.parametrize("strength", ["strong", "weak", "none"])
@pytest.mark.parametrize(("side", "stored", "frames"), [(1, 3, 2), (7, 6, 6), (24, 12, 5), (24, 1, 1)])
def test_augmentation_repeats_itself_and_stays_in_range(strength, side, stored, frames):
    policy = VideoViews(strength, blur=0.5, grey=0.5, reverse=True)
    batch, modality = random_batch(30, side, stored), Video(side, frames, stored)
    kept = batch.clone()
    first, again = (modality.augment(batch, policy, seeded(1)) for _ in range(2))
    assert torch.equal(batch, kept)  # the rows that came in are not written over
    assert torch.equal(first, again)
    assert first.shape == (30, 3, frames, side, side)
    assert first.min() >= 0
    assert first.max() <= 1 + 1e-5
    if strength != "none" and side == 24:
        other = modality.augment(batch, policy, seeded(2))  # the second view
        assert ((first - other).flatten(1).abs().amax(1) > 0.01).float().mean() > 0.9


@pytest.mark.parametrize("policy", [OFF, replace(OFF, strength="none"), replace(OFF, strength="weak")])
@pytest.mark.parametrize(
    ("stored", "frames", "motion"),
    [(32, 16, False), (12, 5, False), (8, 8, False), (9, 8, False), (30, 1, False), (32, 16, True), (16, 8, True)],
)
def test_a_policy_without_changes_sees_what_prediction_sees(policy, stored, frames, motion):
    batch = random_batch(4, 7, stored)  # an eighth of 7 is no whole pixel: weak cannot shift either
    modality = Video(7, frames, stored, motion=motion)
    seen = modality.augment(batch, policy, seeded())
    torch.testing.assert_close(seen, modality.middle(batch), rtol=0, atol=1e-5)
    torch.testing.assert_close(modality.normalise(seen), modality.normalise(batch), rtol=0, atol=1e-4)


def test_the_middle_is_even_and_in_the_middle():
    seen = seen_in(Video(8, 16, 32).middle(counting(1, 32)), 32)[0]
    assert set(np.diff(seen)) == {1, 2}  # three quarters of 32 frames in 16
    assert abs((seen[0] + seen[-1]) / 2 - 15.5) <= 0.5
    assert seen_in(Video(8, 16, 16).middle(counting(1, 16)), 16)[0].tolist() == list(range(16))
    assert seen_in(Video(8, 4, 16).middle(counting(1, 16)), 16)[0].tolist() == [3, 6, 9, 12]


def test_a_held_frame_is_not_the_middle():
    batch = counting(3, 32).clone()
    batch[0, :, 20:] = batch[0, :, 20:21]
    batch[1] = 0.5
    assert ends(batch).tolist() == [20, 0, 31]
    seen = seen_in(Video(8, 8, 32).middle(batch), 32)
    assert seen[0].tolist() == [0, 3, 6, 9, 12, 15, 18, 20]  # 21 steps of three do not fit: from the start, then held
    assert seen[2].tolist() == [5, 8, 11, 14, 17, 20, 23, 26]
    short = Video(8, 4, 32, 8.0)
    assert seen_in(replace(short, stored=16).middle(batch[:, :, :32]), 32)[0].tolist() == [6, 8, 12, 14]


@pytest.mark.parametrize(("shift", "speed", "reverse"), [(1, 0, False), (0, 0.25, False), (0.5, 0.5, True)])
def test_moments_stray_as_far_as_allowed(shift, speed, reverse):
    stored, frames = 64, 16
    modality = Video(8, frames, stored)
    policy = replace(OFF, shift=shift, speed=speed, reverse=reverse)
    seen = seen_in(modality.augment(counting(400, stored), policy, seeded()), stored)
    steps = np.diff(seen, axis=1)
    backwards = (steps < 0).all(1)
    assert (backwards | (steps > 0).all(1)).all()
    assert (0.4 < backwards.mean() < 0.6) if reverse else not backwards.any()
    paces = np.abs(seen[:, -1] - seen[:, 0]) / ((frames - 1) * modality.step)
    assert paces.min() >= 1 / (1 + speed) - 0.03
    assert paces.max() <= min(1 + speed, 63 / 45) + 0.03
    assert paces.max() - paces.min() > speed * 1.1 or speed == 0
    middles = (seen[:, 0] + seen[:, -1]) / 2
    reach = shift * (stored - 1 - 45) / 2
    if speed == 0:
        assert abs(middles.min() - 31.5 + reach) < 1
        assert abs(middles.max() - 31.5 - reach) < 1
    assert np.abs(steps - np.sign(steps) * np.abs(steps).mean(1, keepdims=True)).max() <= 1  # the nearest to even


@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_all_frames_of_a_clip_vary_alike_and_clips_differ(strength):
    still = random_batch(1, 16, 1).expand(40, 3, 8, 16, 16)
    seen = Video(16, 8, 8).augment(still, VideoViews(strength, blur=0.5), seeded())
    torch.testing.assert_close(seen, seen[:, :, :1].expand_as(seen), rtol=0, atol=1e-6)
    apart = (seen[:, None, :, 0] - seen[None, :, :, 0]).abs().amax((2, 3, 4))
    assert (apart > 1e-3).float().mean() > 0.9


@pytest.mark.parametrize("kind", [shifted, cropped])
def test_resampling_is_that_of_each_frame_by_itself(kind):
    batch = random_batch(5, 12, 3)
    look_of = ImageViews()
    theta = kind(5, 12, look_of, seeded()) if kind is shifted else kind(5, look_of, seeded())
    assert (theta[:, 0, 1] == 0).all()
    assert (theta[:, 1, 0] == 0).all()
    area = (theta[:, 0, 0] * theta[:, 1, 1]).abs()
    assert area.min() >= (0.5 if kind is cropped else 1) - 1e-6
    assert (theta[:, :, 2].abs() + theta[:, :, :2].sum(2).abs() <= 1.25 + 1e-5).all()
    seen = resample(batch, theta, 12)
    for clip in range(5):
        for frame in range(3):
            grid = torch.nn.functional.affine_grid(theta[clip : clip + 1], [1, 3, 12, 12], align_corners=False)
            alone = torch.nn.functional.grid_sample(
                batch[clip : clip + 1, :, frame], grid, padding_mode="reflection", align_corners=False
            )
            torch.testing.assert_close(seen[clip, :, frame], alone[0], rtol=0, atol=1e-6)


def test_frames_at_picks_other_frames_for_each_clip():
    batch, moments = random_batch(3, 4, 6), torch.tensor([[0, 5], [2, 2], [4, 1]])
    seen = frames_at(batch, moments)
    for clip in range(3):
        assert torch.equal(seen[clip], batch[clip][:, moments[clip]])


def test_colour_changes_by_clip_as_asked():
    batch = random_batch(60, 6, 4)
    greys = Video(6, 4, 4).augment(batch, replace(OFF, grey=1.0), seeded())
    torch.testing.assert_close(greys, greys[:, :1].expand_as(greys), rtol=0, atol=1e-5)
    blurred = Video(6, 4, 4).augment(batch, replace(OFF, blur=0.5), seeded())
    softer = blurred.var((3, 4)).mean((1, 2)) < 0.6 * batch.var((3, 4)).mean((1, 2))
    assert 0.3 < softer.float().mean() < 0.7
    torch.testing.assert_close(blurred[~softer], batch[~softer], rtol=0, atol=1e-5)


# --- motion: changes instead of frames


def test_motion_shows_what_changes_from_each_seen_frame_to_the_next_that_is_kept():
    batch = random_batch(3, 6, 16)
    plain, moving = Video(6, 8, 16, 4.0), Video(6, 8, 16, 4.0, motion=True)
    moments = plain.moments(batch, torch.ones(3), torch.full((3,), 0.5))
    changes = moving.middle(batch)
    for clip in range(3):
        for place, number in enumerate(moments[clip].tolist()):
            expected = batch[clip, :, number + 1] - batch[clip, :, number]
            torch.testing.assert_close(changes[clip, :, place], expected, rtol=0, atol=0)
    ready = moving.normalise(batch)
    torch.testing.assert_close(ready, changes / torch.tensor(moving.std).view(3, 1, 1, 1), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("fps", "later"), [(1.0, 1), (4.0, 1), (8.0, 2), (30.0, 8), (1000.0, 15)])
def test_motion_is_what_changes_within_a_quarter_of_a_second(fps, later):
    seen = Video(8, 4, 16, fps, motion=True).middle(counting(2, 16))
    torch.testing.assert_close(seen, torch.full_like(seen, later / 16))


def test_what_was_decoded_stays_valid_whatever_the_network_sees():
    assert Video(8).decoding() == Video(8, motion=True, flips=True, mean=(0.1, 0.2, 0.3)).decoding()
    assert Video(8).decoding() != Video(16).decoding()
    assert from_settings(Video(8, motion=True).settings()) == Video(8, motion=True)


@pytest.mark.parametrize("strength", ["strong", "weak", "none"])
def test_what_stands_still_does_not_exist_for_motion(strength):
    still = random_batch(1, 16, 1).expand(20, 3, 16, 16, 16)
    modality = Video(16, 8, 16, motion=True, mean=(0.7, 0.1, 0.3))
    policy = VideoViews(strength, blur=0.5, reverse=True)
    assert modality.normalise(modality.augment(still.clone(), policy, seeded())).abs().max() < 1e-5
    assert modality.normalise(still.clone()).abs().max() < 1e-5


def test_a_last_frame_has_no_next_one():
    for frames in (1, 2, 4):
        batch = counting(2, frames)
        changes = Video(8, frames, frames, 4.0, motion=True).middle(batch)
        torch.testing.assert_close(changes, torch.full_like(changes, 0.0 if frames == 1 else 1 / frames))


def test_backwards_what_appeared_disappears():
    batch, policy = random_batch(40, 6, 16), replace(OFF, reverse=True)
    modality = Video(6, 8, 16, motion=True)
    forward, seen = modality.augment(batch, OFF, seeded()), modality.augment(batch, policy, seeded())
    turned = (seen - forward).abs().amax((1, 2, 3, 4)) > 1e-4
    assert 0.25 < turned.float().mean() < 0.75
    torch.testing.assert_close(seen[turned], -forward[turned].flip(2), rtol=0, atol=1e-5)


def test_changes_take_the_colours_that_their_frames_would():
    before, after = (0.4 + 0.2 * random_batch(30, 5, 4, seed=seed).flatten(2, 3) for seed in (0, 1))  # far from limits
    look = ImageViews()
    gap = after.mean((2, 3), keepdim=True) - before.mean((2, 3), keepdim=True)
    after = after - gap  # contrast is around the mean: let both have the same
    dyed = [recolour(each, replace(look, jitter=0.3, grey=0.5), seeded(3)) for each in (before, after)]
    changes = redye(after - before, replace(look, jitter=0.3, grey=0.5), seeded(3))
    torch.testing.assert_close(changes, dyed[1] - dyed[0], rtol=0, atol=1e-5)


# --- the rest of a modality


def test_normalise_centres_and_scales_with_the_statistics_of_the_rows():
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(low, low + 60, (30, 8, 12, 12), dtype=np.uint8) for low in (0, 90, 190)], 1)
    modality = Video(12, 8, 8).fitted(rows)
    tones = rows[:, :, ::4] / 255
    np.testing.assert_allclose(modality.mean, tones.mean((0, 2, 3, 4)), atol=1e-4)
    np.testing.assert_allclose(modality.std, tones.std((0, 2, 3, 4)), atol=1e-4)
    batch = modality.collate(rows)
    assert batch.shape == (30, 3, 8, 12, 12)
    assert (batch.min(), batch.max()) == (0, rows.max() / np.float32(255))
    ready = modality.normalise(batch)
    assert ready.is_contiguous(memory_format=torch.channels_last_3d)
    torch.testing.assert_close(ready.mean((0, 2, 3, 4)), torch.zeros(3), rtol=0, atol=2e-2)
    torch.testing.assert_close(ready.std((0, 2, 3, 4)), torch.ones(3), rtol=0, atol=2e-2)
    black = Video(8, 2, 4).fitted(np.zeros((4, 3, 4, 8, 8), np.uint8))
    assert black.normalise(black.collate(np.zeros((4, 3, 4, 8, 8), np.uint8))).abs().max() == 0
    assert Video(8).fitted(np.zeros((0, 3, 32, 8, 8), np.uint8)).size == 8


@pytest.mark.parametrize("strength", ["strong", "weak"])
def test_views_are_small_in_the_first_part_of_the_training(strength):
    policy = VideoViews(strength, small=12, small_until=0.6)
    batch = random_batch(4, 16, 10)
    views = [Video(16, 8, 10).augment(batch.clone(), policy.at(progress), seeded()) for progress in (0, 0.59, 0.6, 1)]
    assert [tuple(view.shape[2:]) for view in views] == [(8, 12, 12)] * 2 + [(8, 16, 16)] * 2


def test_a_small_view_shows_the_same_clip():
    ramp = torch.linspace(0, 1, 32).expand(1, 3, 8, 32, 32)
    small = Video(32, 8, 8).augment(ramp.clone(), replace(OFF, small=16), seeded())
    torch.testing.assert_close(small, (ramp[..., ::2] + ramp[..., 1::2])[..., ::2, :] / 2, atol=1e-4, rtol=0)


def test_settings_survive_json():
    modality = Video(48, 8, 20, 12.5, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), motion=True)
    assert isinstance(modality, Modality)
    assert from_settings(json.loads(json.dumps(modality.settings()))) == modality
    assert modality.shape == (3, 20, 48, 48)
    with pytest.raises(UserError, match=r"--views\.crop 0 is out of range"):
        VideoViews(crop=0)
    with pytest.raises(UserError, match=r"--views\.small-until 2 is out of range"):
        VideoViews(small_until=2)
