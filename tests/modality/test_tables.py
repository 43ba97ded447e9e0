"""Tables of recordings: read however they were written, with the time that they tell; every flaw is named."""

import time

import numpy as np
import pytest
from sheets import PNG, table, timed

from novakind.errors import UnreadableError
from novakind.modality.recordings import read_recording, read_windows

NAN = float("nan")


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
        (b"time (s),x\n0,1\n60,2\n120,3\n", "its time column means 0.0167 samples per second, not 0.1 to 20000"),
        (b"time (ns),x\n0,1\n1,2\n2,3\n", "its time column means 1e+09 samples per second, not 0.1 to 20000"),
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
