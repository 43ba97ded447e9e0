"""Recordings: read however they were written, cleaned, brought to one rate and cut; every flaw is named."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


@pytest.fixture
def put(tmp_path):
    def write(content: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def table(columns: dict[str, np.ndarray], delimiter: str = ",") -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([delimiter.join(columns), *(delimiter.join(f"{float(v)!r}" for v in row) for row in rows)])


def timed(times: np.ndarray, name: str = "time") -> str:
    return table({name: times, "x": np.sin(times), "y": np.cos(times)})


# How a file may be written


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1.5,-2\n2.5,4e1\n",
        "x,y\r\n1.5,-2\r\n2.5,4e1\r\n",
        "x,y\r1.5,-2\r2.5,4e1",
        "\n\nx,y\n\n1.5,-2\n\n2.5,4e1\n\n\n",
        "x;y\n1,5;-2,0\n2,5;4e1\n",
        "a;x;b;y\nwalk;1,5;up;-2,0;\nrun;2,5;down;4e1;\n",
        "x;y\n1.5;-2.0\n2.5;40\n",
        "x\ty\n1,5\t-2,0\n2,5\t4e1\n",
        "x\ty\n1.5\t-2.0\n2.5\t4e1\n",
        "x y\n1.5 -2\n2.5 4e1\n",
        "x y\n1,5 -2,0\n2,5 40,0\n",
        "  x     y\n  1.5  -2.0\n  2.5  40.0  \n",
        "x, y\n1.5, -2\n2.5, 4e1\n",
        "x,y,\n1.5,-2,\n2.5,4e1,\n",
        "x,y\n1.5,-2,\n2.5,4e1,\n",
        "x,y,\n1.5,-2\n2.5,4e1\n",
        "x;y\n1.5;-2;\n2.5;4e1;\n",
        "x,y\n1.5,-2;\n2.5,4e1;\n",
        '"x","y"\n"1.5","-2"\n"2.5","4e1"\n',
        '"x","y"\n1.5,-2\n2.5,4e1\n',
        '"x","y"\n"1,5","-2,0"\n"2,5","40,0"\n',
        "'x','y'\n'1.5','-2'\n'2.5','4e1'\n",
        '"x" "y"\n"1" 1.5 -2\n"2" 2.5 4e1\n"3" NA NA\n',
        "# device 7\n% by me, on Monday\n  # again\nx,y\n1.5,-2\n# pause\n2.5,4e1\n",
        "sep=,\nx,y\n1.5,-2\n2.5,4e1\n",
        "Device: 7\nx,y\nm/s2,m/s2\n1.5,-2\n2.5,4e1\n",
        "x,y,activity\n1.5,-2,walk\n2.5,4e1,run\n",
        "activity,x,y\nwalk,1.5,-2\nrun,2.5,4e1\n",
        "x,y,empty\n1.5,-2,\n2.5,4e1,NA\n",
        "index,x,y\n0,1.5,-2\n1,2.5,4e1\n2,nan,nan\n",
        ",x,y\n0,1.5,-2\n1,2.5,4e1\n2,,\n",
        "Unnamed: 0,x,y\n7,1.5,-2\n8,2.5,4e1\n9,,\n",
    ],
)
def test_the_same_table_in_many_hands(put, text):
    recording = read_recording(put(text))
    assert recording.channels == ("x", "y")
    assert recording.rate is None
    np.testing.assert_array_equal(recording.values[:2], [[1.5, -2], [2.5, 40]])
    assert recording.values.dtype == np.float64
    assert np.isnan(recording.values[2:]).all()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(put, encoding):
    text = "Höhe,größe\n1,2\n3,4\n"
    if encoding != "latin-1":
        text = text.replace("größe", "高さ")
    recording = read_recording(put(text.encode(encoding)))
    assert recording.channels == tuple(text.split("\n")[0].split(","))
    np.testing.assert_array_equal(recording.values, [[1, 2], [3, 4]])


def test_big_endian_utf16(put):
    assert read_recording(put(b"\xfe\xff" + "x,y\n1,2\n".encode("utf-16-be"))).channels == ("x", "y")


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "NA", "null", "-", " ", "ERR", "inf", "1e400", "-1e400", "1e39"])
def test_missing_cells(put, cell):
    recording = read_recording(put(f"x,y\n1,2\n{cell},3\n4,{cell}\n5,6\n"))
    np.testing.assert_array_equal(recording.values, [[1, 2], [NAN, 3], [4, NAN], [5, 6]])


def test_names_are_distinct_and_nameless_columns_go_by_place(put):
    assert read_recording(put("acc,acc,,ACC\n1,5,1,2\n3,0,4,3\n")).channels == ("acc", "acc 2", "3", "ACC 3")


def test_without_header_channels_are_numbered(put):
    recording = read_recording(put("5 walk 1\n3 run 2\n4 run 9\n"))
    assert recording.channels == ("1", "2")
    np.testing.assert_array_equal(recording.values, [[5, 1], [3, 2], [4, 9]])


def test_a_single_column(put):
    for text in ("1.5\n0.5\n2\n", "x\n1.5\n0.5\n2", '"1.5"\n"0.5"\n"2"\n'):
        np.testing.assert_array_equal(read_recording(put(text)).values[:, 0], [1.5, 0.5, 2])


def test_row_numbers_without_a_name_are_neither_time_nor_channel(put):
    recording = read_recording(put("0,5,1\n1,3,2\n2,4,9\n"))
    assert (recording.channels, recording.rate) == (("1", "2"), None)
    np.testing.assert_array_equal(recording.values, [[5, 1], [3, 2], [4, 9]])


def test_a_constant_id_is_a_channel(put):
    assert read_recording(put("id,x\n3,1\n3,2\n3,4\n")).channels == ("id", "x")


@pytest.mark.parametrize("last", ["1,2,3", ",NA,3"])
def test_long_files_are_read_in_blocks_and_soon(put, monkeypatch, last):
    monkeypatch.setattr("novakind.modality.tables.BLOCK", 10_000)
    values = np.random.default_rng(0).normal(size=(30_000, 3)).round(3)
    path = put("x,y,z\n" + "".join(f"{a},{b},{c}\n" for a, b, c in values.tolist()) + last)
    start = time.process_time()
    read = read_recording(path).values
    assert time.process_time() - start < 3
    np.testing.assert_array_equal(read[:-1], values)
    np.testing.assert_array_equal(read[-1], [1, 2, 3] if last == "1,2,3" else [NAN, NAN, 3])


# Time


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


# What cannot be read

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b" \r\n \n", "empty file"),
        (b"\xef\xbb\xbf", "empty file"),
        (b"\xff\xfe", "empty file"),
        (b"\xff\xfe1", "not a text file"),
        (PNG, "not a text file"),
        (bytes(range(256)), "not a text file"),
        ("1,2\n3,4\n".encode("utf-16-le"), "not a text file"),
        (b"x,y,z\n", "holds no numbers"),
        (b"x,y,z", "holds no numbers"),
        (b"# nothing\n# at all\n", "holds no numbers"),
        (b"a,b\nc,d\ne,f\n", "holds no numbers"),
        (b"x,y\n,\nNaN,nan\n-,null\n", "holds no numbers"),
        (b"x,y\n1e400,1e400\n-1e400,inf\n", "holds no numbers"),
        (b"time,x\n0,\n1,\n2,\n", "holds no numbers besides its time column"),
        (b"time\n0\n1\n2\n", "holds no numbers besides its time column"),
        (b"index,name\n0,a\n1,b\n2,c\n", "holds no numbers"),
        (b"x,y\n1,2\n3\n5,6\n", "line 3 has 1 cells, not 2"),
        (b"# a\n\nx,y\n1,2\n3,4,5\n5,6\n", "line 5 has 3 cells, not 2"),
        (b"time,x\n0,1\n1,2\n0.5,3\n2,4\n", "its time runs backwards after 1 s"),
        (b"time,x\n4,1\n3,2\n2,3\n1,4\n", "its time runs backwards after 0 s"),
        (b"time,x\n3,1\n3,2\n3,3\n3,4\n", "its time stands still from most rows to the next"),
        (b"time (s),x\n0,1\n60,2\n120,3\n", "its time column means 0.0167 samples a second, not 0.1 to 20000"),
        (b"time (ns),x\n0,1\n1,2\n2,3\n", "its time column means 1e+09 samples a second, not 0.1 to 20000"),
        (b"time (s),x\n0,1\n0.02,2\n0.04,3\n9e9,3\n", "its time jumps by 9e+09 s"),
        (b"time,x\n2024-13-01 00:00:00,1\n2024-13-01 00:00:01,2\n", "has a date-time that no calendar knows"),
    ],
)
def test_unreadable_files_say_why(put, content, reason):
    with pytest.raises(UnreadableError) as error:
        read_recording(put(content))
    assert str(error.value) == reason


def test_missing_files_and_folders_say_why(tmp_path):
    with pytest.raises(UnreadableError, match="No such file"):
        read_recording(tmp_path / "none.csv")
    with pytest.raises(UnreadableError, match="directory"):
        read_recording(tmp_path)


def test_quotes_that_never_close(put):
    with pytest.raises(UnreadableError, match="quotes that do not close"):
        read_recording(put('x,y\n1,2\n"3,' + "4\n5,6" * 40_000))


def test_one_row_is_read_but_too_short(put):
    for text in ("x,y\n1,2\n", "time,x,y\n0,1,2\n"):
        recording = read_recording(put(text))
        assert (recording.channels, recording.rate) == (("x", "y"), None)
        np.testing.assert_array_equal(recording.values, [[1, 2]])
        with pytest.raises(UnreadableError, match=r"holds 0\.0 s, less than a window of 3\.0 s"):
            read_windows(put(text), ("x", "y"), 50, 150, 75, "keep")


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
    with pytest.raises(UnreadableError, match=r"^has 2000 samples a second, too far from 0\.5$"):
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
