"""Recordings: cleaned, brought to one rate and cut into windows; every flaw is named."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sheets import PNG, table, timed

from novakind.errors import UnreadableError, UserError
from novakind.modality.recordings import (
    Recording,
    Survey,
    clean,
    cut,
    read_recording,
    read_windows,
    remove_gravity,
    resample,
    rounded_rate,
    survey,
)

NAN = float("nan")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=80), st.text("0123456789.,;:-\t \n\r\"'#exyntTZ", max_size=120).map(str.encode)))
def test_any_bytes_are_read_or_unreadable(put, content):
    path = put(content)
    for rate, hop, gravity in ((0, 2, "keep"), (20, 0, "remove")):
        try:
            for _, window in read_windows(path, read_recording(path).channels, rate, 4, hop, gravity):
                assert window.shape[1] == 4
                assert np.isfinite(window).all()
        except UnreadableError as error:
            assert len(str(error)) < 400  # noqa: PT017


# Cleaning


def test_short_gaps_are_bridged_and_long_ones_stay():
    values = np.arange(200.0)[:, None].repeat(2, 1)
    values[50:75, 0] = NAN  # exactly half a second
    values[50:76, 1] = NAN
    cleaned = clean(values, 50)
    np.testing.assert_allclose(cleaned[:, 0], np.arange(200))
    assert np.isnan(cleaned[50:76, 1]).all()
    assert np.isfinite(cleaned[:50, 1]).all()
    assert np.isnan(values[60, 0])  # the input is left alone


def test_gaps_at_the_ends_take_the_nearest_value():
    values = np.arange(100.0)[:, None].repeat(2, 1)
    values[:10, 0] = values[90:, 0] = values[:40, 1] = NAN
    cleaned = clean(values, 50)
    assert (cleaned[:10, 0] == 10).all()
    assert (cleaned[90:, 0] == 89).all()
    assert np.isnan(cleaned[:40, 1]).all()


def test_a_channel_without_values_stays_missing():
    assert np.isnan(clean(np.full((3, 1), NAN), 50)).all()
    assert clean(np.zeros((0, 2)), 50).shape == (0, 2)


# Resampling


@pytest.mark.parametrize(("old", "new"), [(50, 100), (100, 50), (100, 20), (51.2, 50), (49.97, 50), (20, 31.25)])
def test_slow_waves_keep_their_form(old, new):
    wave = lambda rate: 9.81 + np.sin(2 * np.pi * 1.3 * np.arange(int(20 * rate)) / rate)[:, None]  # noqa: E731
    moved = resample(wave(old), old, new)
    assert abs(len(moved) - 20 * new) <= 1
    count = min(len(moved), int(20 * new))
    edge = int(new)
    np.testing.assert_allclose(moved[edge : count - edge], wave(new)[edge : count - edge], atol=0.01)
    assert np.abs(moved[:count] - wave(new)[:count]).max() < 0.5  # no ringing to zero: it stands at 9.81


def test_what_the_new_rate_cannot_hold_is_filtered_out():
    times = np.arange(2000) / 100
    moved = resample(np.sin(2 * np.pi * 18 * times)[:, None], 100, 20)  # 18 Hz would return as 2 Hz
    assert np.abs(moved[40:-40]).max() < 0.01


@pytest.mark.parametrize("new", [20, 33.3, 75, 1, 0.01])
@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_constants_stay(new, count):
    np.testing.assert_allclose(resample(np.full((count, 2), 9.81), 50, new), 9.81)


def test_the_same_rate_returns_the_input():
    values = np.random.default_rng(0).normal(size=(10, 2))
    assert resample(values, 50, 50) is values
    assert resample(values, 50.0000001, 50) is values


@pytest.mark.parametrize("new", [20, 100, 37])
def test_missing_stretches_stay_where_they_are(new):
    values = np.ones((500, 2))
    values[200:250, 0] = NAN
    moved = resample(values, 50, new)
    times = np.arange(len(moved)) / new
    missing = np.isnan(moved[:, 0])
    assert missing[(times >= 4) & (times < 5)].all()
    assert not missing[(times < 3.97) | (times > 5.01)].any()
    np.testing.assert_allclose(moved[~missing], 1)
    assert np.isfinite(moved[:, 1]).all()


# Gravity


def test_gravity_goes_and_movement_stays():
    times = np.arange(3000) / 50
    movement = np.sin(2 * np.pi * 2 * times)
    moving = remove_gravity(np.stack([movement + 9.81, 2 * movement - 3], 1), 50)
    np.testing.assert_allclose(moving[200:-200], np.stack([movement, 2 * movement], 1)[200:-200], atol=0.02)
    np.testing.assert_allclose(moving, np.stack([movement, 2 * movement], 1), atol=0.5)


def test_stretches_between_gaps_are_filtered_alone():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1000, 1))
    values[400:450] = NAN
    moving = remove_gravity(values, 50)
    np.testing.assert_array_equal(moving[:400], remove_gravity(values[:400], 50))
    np.testing.assert_array_equal(moving[450:], remove_gravity(values[450:], 50))
    np.testing.assert_array_equal(np.isnan(moving), np.isnan(values))


@pytest.mark.parametrize(("count", "rate"), [(1, 50), (100, 50), (100, 0.5)])
def test_short_or_slow_recordings_lose_their_mean(count, rate):
    values = np.random.default_rng(0).normal(5, 1, (count, 2))
    np.testing.assert_allclose(remove_gravity(values, rate), values - values.mean(0))


def test_constant_channels_become_zero():
    np.testing.assert_allclose(remove_gravity(np.full((500, 3), 9.81), 50), 0, atol=1e-6)


# Windows


def test_windows_that_fit_and_have_no_gap():
    values = np.arange(20.0)[:, None]
    assert [start for start, _ in cut(values, 6, 4)] == [0, 4, 8, 12]
    assert [start for start, _ in cut(values, 20, 4)] == [0]
    assert cut(values, 21, 4) == []
    values[9] = NAN
    assert [start for start, _ in cut(values, 6, 4)] == [0, 12]
    assert [start for start, _ in cut(values, 6, 1)] == [0, 1, 2, 3, 10, 11, 12, 13, 14]
    np.testing.assert_array_equal(cut(values, 6, 4)[1][1][:, 0], range(12, 18))


def test_windows_are_named_by_their_start(put):
    path = put(table({"x": np.arange(400), "y": -np.arange(400)}))
    windows = read_windows(path, ("x", "y"), 50, 150, 75, "keep")
    assert [name for name, _ in windows] == ["@0.0s", "@1.5s", "@3.0s", "@4.5s"]
    assert all(window.shape == (2, 150) and window.dtype == np.float32 for _, window in windows)
    np.testing.assert_array_equal(windows[1][1][0], np.arange(75, 225))
    unknown = read_windows(path, ("x", "y"), 0, 150, 75, "keep")
    assert [name for name, _ in unknown] == ["@0", "@75", "@150", "@225"]
    names = [name for name, _ in read_windows(path, ("x", "y"), 50, 16, 1, "keep")]
    assert len(set(names)) == 385  # also where tenths of a second would repeat


def test_files_with_a_clock_are_resampled_and_others_are_not(put):
    times = np.arange(1000) / 100
    clocked = read_windows(put(timed(times)), ("x", "y"), 50, 500, 500, "keep")
    assert [name for name, _ in clocked] == ["@0.0s"]
    np.testing.assert_allclose(clocked[0][1], np.stack([np.sin(times[::2]), np.cos(times[::2])]), atol=0.01)
    assert len(read_windows(put(timed(times)), ("x", "y"), 0, 500, 500, "keep")) == 2
    bare = table({"x": np.sin(times), "y": np.cos(times)})
    assert len(read_windows(put(bare), ("x", "y"), 50, 500, 500, "keep")) == 2


def test_rates_too_far_apart_are_refused(put):
    with pytest.raises(UnreadableError, match=r"^has 2000 samples per second, too far from 0\.5$"):
        read_windows(put(timed(np.arange(100) / 2000)), ("x", "y"), 0.5, 10, 5, "keep")


def test_channels_are_picked_by_name(put):
    path = put("Y , x,extra\n1,2,3\n4,5,6\n7,8,9\n5,5,5\n")
    [(_, window)] = read_windows(path, (" X", "y"), 0, 4, 4, "keep")
    np.testing.assert_array_equal(window, [[2, 5, 8, 5], [1, 4, 7, 5]])


def test_channels_without_names_are_taken_in_order(put):
    path = put("1 2\n4 5\n7 8\n5 5\n")
    [(_, window)] = read_windows(path, ("x", "y"), 0, 4, 4, "keep")
    np.testing.assert_array_equal(window, [[1, 4, 7, 5], [2, 5, 8, 5]])
    [(_, window)] = read_windows(path, ("2",), 0, 4, 4, "keep")
    np.testing.assert_array_equal(window, [[2, 5, 8, 5]])


def test_a_whole_file_is_cut_at_the_centre_or_continued(put):
    read = lambda count, length: read_windows(put(table({"x": np.arange(count)})), ("x",), 50, length, 0, "keep")  # noqa: E731
    for count, first, last in ((100, 0, 99), (140, 20, 119)):
        [(name, window)] = read(count, 100)
        assert (name, window.shape, window[0, 0], window[0, -1]) == ("", (1, 100), first, last)
    [(name, window)] = read(51, 100)
    np.testing.assert_array_equal(window[0], [0] * 24 + list(range(51)) + [50] * 25)
    assert read(50, 100)[0][1].shape == (1, 100)
    with pytest.raises(UnreadableError, match=r"^holds 1\.0 s, less than half of 2\.0 s$"):
        read(49, 100)


@pytest.mark.parametrize(
    ("columns", "rate", "hop", "reason"),
    [
        ({"x": 60, "y": 60}, 50, 50, 'has no channel "z" (it has x, y)'),
        ({"1": 60, "2": 60}, 50, 50, "has 2 channels without names, not 3: x, y, z"),
        ({"x": 60, "y": 60, "z": 60}, 50, 50, "holds 1.2 s, less than a window of 3.0 s"),
        ({"x": 60, "y": 60, "z": 60}, 0, 50, "holds 60 samples, less than a window of 150 samples"),
        ({"x": 60, "y": 60, "z": 60}, 50, 0, "holds 1.2 s, less than half of 3.0 s"),
        ({"x": 60, "y": 60, "z": 60}, 0, 0, "holds 60 samples, less than half of 150 samples"),
    ],
)
def test_files_that_do_not_serve_say_why(put, columns, rate, hop, reason):
    text = table({name: np.sin(np.arange(count)) for name, count in columns.items()})
    with pytest.raises(UnreadableError) as error:
        read_windows(put(text.split("\n", 1)[1] if "1" in columns else text), ("x", "y", "z"), rate, 150, hop, "keep")
    assert str(error.value) == reason


@pytest.mark.parametrize("hop", [0, 10])
def test_long_gaps_are_named_by_channel(put, hop):
    values = np.ones(200)
    values[80:120] = NAN
    path = put(table({"x": np.ones(200), "y": values, "z": values}))
    with pytest.raises(UnreadableError, match=r"^has no 3\.0 s without a long gap in y, z$"):
        read_windows(path, ("x", "y", "z"), 50, 150, hop, "keep")
    assert len(read_windows(path, ("x",), 50, 150, hop, "keep")) == (6 if hop else 1)


def test_gravity_is_removed_at_the_rate(put):
    times = np.arange(1000) / 50
    path = put(table({"x": 9.81 + np.sin(12 * times), "y": np.full(1000, 3.0)}))
    windows = read_windows(path, ("x", "y"), 50, 100, 100, "remove")
    np.testing.assert_allclose(windows[4][1][0], np.sin(12 * times[400:500]), atol=0.02)
    np.testing.assert_allclose(windows[4][1][1], 0, atol=1e-6)
    with pytest.raises(UserError, match="--rate"):
        read_windows(path, ("x", "y"), 0, 100, 100, "remove")


# Survey


def test_survey_tells_what_most_files_have(put):
    files = [put(timed(np.arange(100 + k) / 49.97), f"{k}.csv") for k in range(5)]
    files += [put("a,b\n1,2\n3,4\n", "other.csv"), put(PNG, "picture.csv")]
    assert survey(files) == Survey(("x", "y"), 50.0, 102)
    assert survey(files[5:]) == Survey(("a", "b"), None, 2)


def test_survey_looks_at_fifty_files_spread_evenly(monkeypatch):
    seen = []

    def look(path: Path) -> Recording:
        seen.append(int(path.name))
        return Recording(np.zeros((10, 1)), ("x",), None)

    monkeypatch.setattr("novakind.modality.recordings.read_recording", look)
    survey([Path(str(k)) for k in range(1000)])
    assert len(seen) == 50
    assert (seen[0], seen[-1]) == (0, 999)
    assert set(np.diff(seen).tolist()) <= {20, 21}


def test_survey_of_nothing_readable_is_the_users_to_mend(put):
    with pytest.raises(UserError, match=r"none of 2 files can be read as a recording: .*a\.csv not a text file"):
        survey([put(PNG), put(b"", "b.csv")])
    with pytest.raises(UserError, match="none of 0 files"):
        survey([])


@pytest.mark.parametrize(
    ("rate", "meant"),
    [(49.97, 50), (50.1, 50), (12.5, 12.5), (31.25, 31.25), (51.2, 51.2), (0.5, 0.5), (0.2, 0.2), (99.8, 100)],
)
def test_measured_rates_are_rounded(rate, meant):
    assert rounded_rate(rate) == meant
