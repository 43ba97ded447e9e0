"""The time that a table of recordings tells: in any column, unit and language, with jitter, gaps and repeated rows."""

import numpy as np
import pytest
from sheets import table, timed

from novakind.modality.recordings import read_recording


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("time", 0.02),
        ("Time", 20),
        ("timestamp", 20_000),
        ("TIMESTAMP", 20_000_000),
        ("t", 0.02),
        ("t(s)", 0.02),
        ("seconds", 0.02),
        ("seconds_elapsed", 0.02),
        ("sec", 0.02),
        ("ms", 20),
        ("time (ms)", 20),
        ("time [us]", 20_000),
        ("time_µs", 20_000),
        ("Time (μs)", 20_000),
        ("time_ns", 20_000_000),
        ("Timestamp (ns)", 20_000_000),
        ("elapsed (s)", 0.02),
        ("Zeit in s", 0.02),
        ("Zeit", 20),
        ("temps", 0.02),
        ("tiempo (ms)", 20),
        ("tempo", 0.02),
        ("tid", 0.02),
        ("czas", 0.02),
        ("время", 0.02),
        ("时间", 20),
        ("時間 (秒)", 0.02),
    ],
)
def test_time_columns_by_name(put, name, step):
    ticks = np.arange(100) * step
    for start in (0, 1_700_000_000 * 50 * step):
        recording = read_recording(put(table({"x": ticks % 7, name: start + ticks})))
        assert recording.channels == ("x",)
        assert recording.rate == pytest.approx(50, rel=1e-3)
        np.testing.assert_allclose(recording.values[:, 0], ticks % 7)


@pytest.mark.parametrize("name", ["temperature", "time to peak", "step_time_diff", "s", "timer", "x_t", "us", "rate"])
def test_other_columns_are_no_time(put, name):
    assert read_recording(put(table({name: np.arange(9) * 0.02, "x": np.ones(9)}))).channels == (name, "x")


def test_the_named_unit_counts_more_than_the_guess(put):
    assert read_recording(put(timed(np.arange(50) * 20.0, "time (ms)"))).rate == 50
    assert read_recording(put(timed(np.arange(50) * 2.0, "time (s)"))).rate == 0.5
    assert read_recording(put(timed(np.arange(50) * 2.0, "time"))).rate == 500
    assert read_recording(put(timed(np.arange(50) / 10_000, "time"))).rate == 10_000


@pytest.mark.parametrize("step", [0.01, 10, 10_000, 10_000_000])
def test_a_first_column_that_ticks_is_time(put, step):
    rng = np.random.default_rng(0)
    ticks = (np.arange(100) + rng.uniform(-0.1, 0.1, 100)) * step
    rows = "\n".join(f"{t} {v}" for t, v in zip(ticks.tolist(), rng.normal(size=100).tolist(), strict=True))
    recording = read_recording(put(rows))
    assert recording.channels == ("1",)
    assert recording.rate == pytest.approx(100, rel=0.01)


def test_a_first_column_that_stumbles_is_a_channel(put):
    assert read_recording(put("0.1 5\n0.2 5\n0.2 5\n0.3 5\n")).rate is None
    assert read_recording(put("0.1 5\n0.2 5\n0.9 5\n1.7 5\n5.1 5\n9 5\n")).rate is None


@pytest.mark.parametrize(
    "form",
    [
        "2024-02-28T23:59:{:06.3f}",
        "2024-02-28 23:59:{:06.3f}Z",
        "2024-02-28T23:59:{:012.9f}123+02:00",
        "23:59:{:06.3f}",
    ],
)
@pytest.mark.parametrize("header", ["when,timestamp,x\n", ""])
def test_date_times(put, form, header):
    before = "a," if header else ""
    rows = "".join(f"{before}{form.format(k / 25)},{k % 5}\n" for k in range(60))
    recording = read_recording(put(header + rows))
    assert recording.channels == (("x",) if header else ("1",))
    assert recording.rate == 25
    np.testing.assert_array_equal(recording.values[:, 0], np.arange(60) % 5)


def test_of_several_time_columns_the_first_counts_and_none_is_a_channel(put):
    ticks = np.arange(30) * 20.0
    assert read_recording(put(table({"epoc (ms)": ticks, "elapsed (s)": ticks / 1000, "x": ticks}))).channels == ("x",)


def test_rounded_clocks_leave_the_samples_alone(put):
    wave = np.random.default_rng(0).normal(size=600)
    recording = read_recording(put(table({"time (ms)": np.round(np.arange(600) * 1000 / 60), "x": wave})))
    assert recording.rate == pytest.approx(60, rel=1e-3)
    np.testing.assert_array_equal(recording.values[:, 0], wave)


def test_jitter_is_interpolated_onto_a_grid(put):
    rng = np.random.default_rng(0)
    times = (np.arange(500) + rng.uniform(-0.4, 0.4, 500)) / 100
    recording = read_recording(put(timed(times)))
    assert recording.rate == pytest.approx(100, rel=0.01)
    grid = times[0] + np.arange(len(recording.values)) / recording.rate
    np.testing.assert_allclose(recording.values, np.stack([np.sin(grid), np.cos(grid)], 1), atol=1e-4)


def test_gaps_in_time_become_missing_only_where_they_are_long(put):
    times = np.arange(500) / 50
    kept = (times < 2) | ((times >= 2.4) & (times < 5)) | (times >= 6)
    recording = read_recording(put(timed(times[kept])))
    assert recording.rate == 50
    assert len(recording.values) == 500
    missing = np.isnan(recording.values)
    np.testing.assert_array_equal(missing, np.repeat(((times > 4.985) & (times < 5.995))[:, None], 2, 1))
    np.testing.assert_allclose(recording.values[~missing[:, 0], 0], np.sin(times[~missing[:, 0]]), atol=0.03)


def test_rows_of_a_repeated_or_missing_time_are_dropped(put):
    recording = read_recording(put("time,x\n0,0\n1,1\n1,9\n2,2\n,7\n3,3\n4,4\n5,5\n"))
    assert recording.rate == 1
    np.testing.assert_allclose(recording.values[:, 0], range(6))


def test_slow_recordings_have_no_gaps_between_samples(put):
    recording = read_recording(put(timed(np.array([0, 5, 10, 15.8, 20, 25, 30, 35, 40, 45]), "time (s)")))
    assert recording.rate == pytest.approx(0.2, rel=0.05)
    assert np.isfinite(recording.values).all()
