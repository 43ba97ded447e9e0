"""Tables of recordings: read however they were written; every flaw is named."""

import time

import numpy as np
import pytest
from sheets import PNG

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
    with pytest.raises(UnreadableError, match="a folder"):
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
