"""Every augmentation of time series against a slow, literal reference or what it must keep."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sensors import OFF, random_batch, seeded, sensor, vary

from novakind.modality import warp
from novakind.modality.warp import SeriesViews, retime

ALL = SeriesViews(permute=0.5, drop=0.3)
EACH = {"jitter": 0.1, "scale": 0.2, "rotate": 90.0, "time_warp": 0.3, "magnitude_warp": 0.3, "permute": 1.0}
EACH |= {"slice": 0.5, "drop": 0.5}


@pytest.mark.parametrize(("count", "channels", "length"), [(1, 3, 8), (5, 1, 50), (4, 6, 150), (3, 4, 9), (2, 9, 8)])
@pytest.mark.parametrize("strength", ["strong", "weak", "none"])
def test_shapes_and_finite_values(count, channels, length, strength):
    batch = random_batch(count, channels, length)
    before = batch.clone()
    varied = sensor(channels, length).augment(batch, replace(ALL, strength=strength, rotate=180.0), seeded())
    assert varied.shape == batch.shape
    assert varied.dtype == torch.float32
    assert varied.isfinite().all()
    assert torch.equal(batch, before)


@pytest.mark.parametrize("channels", [1, 3])
def test_everything_off_is_the_identity(channels):
    batch = random_batch(channels=channels)
    for policy in (OFF, replace(ALL, strength="none")):
        assert torch.equal(sensor(channels).augment(batch, policy, seeded()), batch)


def test_weak_is_jitter_and_scale_alone():
    batch = random_batch()
    still = replace(ALL, strength="weak", jitter=0, scale=0)
    assert torch.equal(sensor().augment(batch, still, seeded()), batch)
    scaled = sensor().augment(batch, replace(still, scale=0.2), seeded()) / batch
    torch.testing.assert_close(scaled, scaled[:, :1, :1].expand_as(scaled))
    assert not torch.equal(sensor().augment(batch, replace(still, jitter=0.1), seeded()), batch)


@pytest.mark.parametrize("name", EACH)
def test_each_repeats_by_generator_and_differs_between_items(name):
    batch = random_batch(1, 6).repeat(20, 1, 1)
    first, again, other = (vary(batch, seed, **{name: EACH[name]}) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert len({tuple(item.flatten().tolist()) for item in first}) > 2  # of dropping two sensors there are three ways


def test_noise_follows_the_deviation_of_each_channel():
    batch = random_batch(200, 2)
    change = vary(batch, std=(1.0, 100.0), mean=(0.0, 0.0), jitter=0.05) - batch
    torch.testing.assert_close(change.std((0, 2)), torch.tensor([0.05, 5.0]), rtol=0.05, atol=0)
    assert abs(change[:, 0].mean()) < 0.005


def test_sensors_of_three_scale_together_and_lone_channels_about_their_mean():
    batch = random_batch(500, 6)
    factor = vary(batch, mean=(5.0,) * 6, std=(1.0,) * 6, scale=0.1) / batch
    per_sensor = factor[:, ::3, 0]
    torch.testing.assert_close(factor, per_sensor.repeat_interleave(3, 1)[:, :, None].expand_as(factor))
    assert abs(per_sensor.log().std() - 0.1) < 0.01
    assert abs(torch.corrcoef(per_sensor.T)[0, 1]) < 0.15
    lone, mean = batch[:, :2], torch.tensor([300.0, -2.0])[:, None]
    scaled = vary(mean + lone, mean=(300.0, -2.0), std=(1.0, 1.0), scale=0.1) - mean
    factor = (scaled * lone).sum(2) / lone.square().sum(2)
    torch.testing.assert_close(scaled, factor[:, :, None] * lone, rtol=0, atol=1e-3)
    assert abs(factor.log().std() - 0.1) < 0.01


def test_gain_drifts_smoothly_and_stays_near_one():
    gain = vary(torch.ones(400, 3, 150), magnitude_warp=0.2)
    assert torch.equal(gain[:, 0], gain[:, 2])  # of one sensor
    assert gain.min() > 0
    torch.testing.assert_close(gain.log().std(0), torch.full((3, 150), 0.2), rtol=0.15, atol=0)
    assert abs(gain.log().mean()) < 0.02
    assert gain.diff(dim=2).abs().max() < 0.1
    assert (gain[:, 0].amax(1) - gain[:, 0].amin(1)).median() > 0.1


def rotated_by_quaternion(vector: np.ndarray, draw: np.ndarray) -> np.ndarray:
    """v + 2 w (u x v) + 2 u x (u x v), for a unit quaternion (w, u)."""
    w, u = draw[0], draw[1:]
    return vector + 2 * w * np.cross(u, vector) + 2 * np.cross(u, np.cross(u, vector))


def test_any_orientation_is_the_quaternion_drawn():
    matrices = warp.rotations(50, 180.0, seeded())
    draws = torch.nn.functional.normalize(torch.randn(50, 4, generator=seeded())).numpy()
    vector = np.array([0.3, -1.0, 2.0])
    for matrix, draw in zip(matrices.numpy(), draws, strict=True):
        np.testing.assert_allclose(matrix @ vector, rotated_by_quaternion(vector, draw), atol=1e-5)


@pytest.mark.parametrize("degrees", [10.0, 90.0, 179.9, 180.0])
def test_turns_are_rotations_of_at_most_the_angle_given(degrees):
    matrices = warp.rotations(4000, degrees, seeded()).double()
    torch.testing.assert_close(matrices @ matrices.mT, torch.eye(3).double().expand(4000, 3, 3), rtol=0, atol=1e-5)
    torch.testing.assert_close(torch.linalg.det(matrices), torch.ones(4000).double(), rtol=0, atol=1e-5)
    trace = matrices.diagonal(dim1=1, dim2=2).sum(1)
    angle = torch.rad2deg(torch.acos(((trace - 1) / 2).clamp(-1, 1)))
    assert 0.95 * degrees < angle.max() < degrees + 0.1
    if degrees < 180:
        assert abs(angle.mean() - degrees / 2) < 0.03 * degrees
    else:  # uniform on the group: the trace is 0 on average, and any vector lands evenly on the sphere
        assert abs(trace.mean()) < 0.05
        assert matrices.mean(0).abs().max() < 0.05
        torch.testing.assert_close((matrices**2).mean(0), torch.full((3, 3), 1 / 3).double(), rtol=0, atol=0.03)


def test_turning_keeps_lengths_and_turns_each_sensor_on_its_own():
    batch = random_batch(6, 6)
    turned = vary(batch, rotate=180.0)
    vectors, after = batch.unflatten(1, (2, 3)), turned.unflatten(1, (2, 3))
    torch.testing.assert_close(after.norm(dim=2), vectors.norm(dim=2))
    for item in range(6):
        solved = [torch.linalg.lstsq(vectors[item, s].T, after[item, s].T).solution for s in (0, 1)]
        for matrix in solved:  # one rotation at all times
            torch.testing.assert_close(matrix @ matrix.T, torch.eye(3), rtol=0, atol=1e-4)
        assert not torch.allclose(solved[0], solved[1], atol=0.01)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_lone_channels_do_not_turn(channels):
    batch = random_batch(channels=channels)
    assert torch.equal(vary(batch, rotate=180.0), batch)


@pytest.mark.parametrize(
    ("speed", "smallest", "length"), [(0.3, 1.0, 50), (0.0, 0.5, 50), (0.5, 0.2, 8), (1.0, 0.8, 150)]
)
def test_times_run_forward_inside_the_window(speed, smallest, length):
    times = warp.moments(300, length, speed, smallest, seeded())
    assert (times.diff(dim=1) > 0).all()
    assert times.min() >= 0
    assert times.max() <= length - 1
    share = (times[:, -1] - times[:, 0]) / (length - 1)
    assert share.min() > smallest - 1e-5
    if smallest == 1:
        torch.testing.assert_close(share, torch.ones(300))
    else:
        assert abs(share.mean() - (1 + smallest) / 2) < 0.05
    if speed == 0:
        torch.testing.assert_close(
            times.diff(dim=1), times.diff(dim=1)[:, :1].expand(-1, length - 1), rtol=1e-3, atol=0
        )


def test_speed_strays_as_far_as_told():
    steps = warp.moments(2000, 100, 0.2, 1.0, seeded()).diff(dim=1)
    spread = (steps / steps.mean(1, keepdim=True)).log().std()
    assert abs(spread - 0.2) < 0.01


def test_look_up_is_linear_interpolation():
    batch, times = random_batch(5, 2, 20), 19 * torch.rand(5, 20, generator=seeded(3))
    times[0] = torch.arange(20)
    times[1] = torch.arange(20).flip(0)
    found = warp.look_up(batch, times)
    for item in range(5):
        for channel in range(2):
            expected = np.interp(times[item], np.arange(20), batch[item, channel])
            np.testing.assert_allclose(found[item, channel], expected, atol=1e-5)
    assert torch.equal(found[0], batch[0])


def test_all_channels_share_one_clock():
    times = torch.arange(50.0).expand(4, 3, 50)
    warped = vary(times, time_warp=0.3, slice=0.5)
    assert torch.equal(warped[:, 0], warped[:, 2])
    assert (warped.diff(dim=2) > 0).all()


@pytest.mark.parametrize("length", [8, 9, 50])
def test_permutation_moves_two_to_five_whole_pieces(length):
    order = warp.shuffled(500, length, seeded())
    assert torch.equal(order.sort(1).values, torch.arange(length).expand(500, length))
    breaks = (order.diff(dim=1) != 1).sum(1)
    assert set(breaks.tolist()) == {0, 1, 2, 3, 4}
    batch = random_batch(20, 3, length)
    permuted = vary(batch, permute=1.0)
    assert torch.equal(permuted.sort(2).values, batch.sort(2).values)


def test_permutation_falls_on_its_share_of_items():
    batch = random_batch(1000, 1, 60)
    moved = (vary(batch, permute=0.5) != batch).any(2)[:, 0].float().mean()
    always = (vary(batch, permute=1.0) != batch).any(2)[:, 0].float().mean()
    assert abs(moved / always - 0.5) < 0.05
    assert torch.equal(vary(batch, permute=1e-9), batch)


def test_warped_times_can_be_permuted_as_well():
    policy = replace(OFF, time_warp=0.3, slice=0.9)
    clock = torch.arange(40.0).repeat(30, 1, 1)
    plain = retime(clock, policy, seeded())
    both = retime(clock, replace(policy, permute=1.0), seeded())
    torch.testing.assert_close(both.sort(2).values, plain)
    assert not torch.equal(both, plain)


@pytest.mark.parametrize("channels", [1, 2, 3, 6, 9])
def test_some_sensors_fall_silent_never_all(channels):
    mean = tuple(float(number) for number in range(100, 100 + channels))
    batch = random_batch(400, channels)
    dropped = vary(batch, mean=mean, std=(1.0,) * channels, drop=0.5)
    silent = (dropped == torch.tensor(mean)[:, None]).all(2)
    assert torch.equal(dropped[~silent], batch[~silent])
    assert not silent.all(1).any()
    axes = 3 if channels % 3 == 0 else 1
    sensors = silent.unflatten(1, (-1, axes))
    assert torch.equal(sensors.all(2), sensors.any(2))
    share = {1: 0.0, 2: 3 / 8, 3: 11 / 24}[channels // axes]  # 0.5, less the windows that would lose all sensors
    assert abs(sensors.float().mean() - share) < 0.04
    everything = vary(batch, mean=mean, std=(1.0,) * channels, drop=1.0)
    assert ((everything == batch).all(2).sum(1) == axes).all()
