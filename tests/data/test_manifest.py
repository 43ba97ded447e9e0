"""Manifests: every name that a file can have survives, and every way to write the same table is read."""

import csv
import os

import pytest
from small import paint

from novakind.data.files import load
from novakind.data.manifest import is_manifest, read_manifest
from novakind.data.paths import list_items
from novakind.disk import csv_bytes
from novakind.errors import UserError


def test_names_with_line_ends_stay_in_one_row(tmp_path):
    rows = [["Icon\r", "a"], ["b\nc", ""], ["d\r\ne", 'f"g'], ["h,i", "\r"]]
    (tmp_path / "table.csv").write_bytes(csv_bytes(["path", "label"], rows))
    with (tmp_path / "table.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["path", "label"], *rows]


def test_a_quoted_heading_is_one_too(tmp_path):
    (tmp_path / "m.csv").write_text('"label","path"\n"cat","a.png"\n')
    assert is_manifest(tmp_path / "m.csv")
    assert list_items(tmp_path / "m.csv", labeled=False).names == ["a.png"]


def test_names_of_files_that_are_not_utf8_are_read(tmp_path):
    odd = os.fsdecode(b"odd\xff.png")
    for name in ("plain.png", odd):
        paint(tmp_path / name, 9)
    (tmp_path / "m.csv").write_bytes(csv_bytes(["path", "label"], [["plain.png", "cat"], [odd, ""]]))
    assert is_manifest(tmp_path / "m.csv")
    assert load(tmp_path / "m.csv", tmp_path / "store").paths == ("plain.png", odd)
    (tmp_path / odd).unlink()  # then the table is more likely in another encoding
    with pytest.raises(UserError, match="cannot be read as UTF-8 CSV"):
        read_manifest(tmp_path / "m.csv")


def test_a_label_that_is_not_utf8_is_refused(tmp_path):
    paint(tmp_path / "a.png", 9)
    (tmp_path / "m.csv").write_bytes("path,label\na.png,Bär\n".encode("latin-1"))
    with pytest.raises(UserError, match="cannot be read as UTF-8 CSV"):
        read_manifest(tmp_path / "m.csv")


@pytest.mark.parametrize("again", ["./a.png", "x/../a.png", "{folder}/a.png", "a.png"])
def test_a_file_that_is_named_in_two_ways_is_refused(tmp_path, again):
    (tmp_path / "m.csv").write_text(f"path,label\na.png,cat\nb.png,\n{again.format(folder=tmp_path)},\n")
    with pytest.raises(UserError, match=r'names "a\.png" more than once'):
        list_items(tmp_path / "m.csv")


def test_parquet_text_may_be_kept_as_bytes(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"path": [b"a.png"], "label": [b"cat"]}), tmp_path / "m.parquet")
    assert read_manifest(tmp_path / "m.parquet") == (["a.png"], ["cat"])
