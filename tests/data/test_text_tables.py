"""Tables of texts: every way to write one, and what is wrong with one in a sentence."""

import json

import numpy as np
import pytest

from novakind.data.collection import from_arrays
from novakind.data.files import load
from novakind.data.paths import kind_of, list_items
from novakind.data.source import Source
from novakind.datasets.gather import gather
from novakind.disk import csv_bytes
from novakind.errors import UserError
from novakind.modality import KINDS
from novakind.modality.strings import from_row

TEXTS = ['He said "yes", twice.\nThen no.', "世界 🦊", "  наш дом  ", "plain"]
LABELS = ["talk", "", "place", ""]


def write_table(path, columns: dict[str, list]):
    """The same table in the format of its ending."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table(columns), path)
    elif path.suffix == ".csv":
        path.write_bytes(b"\xef\xbb\xbf" + csv_bytes(list(columns), [row.values() for row in rows]))
    else:
        path.write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def said(collection) -> list[str]:
    return [from_row(row) for row in collection.items]


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.parquet", "t.jsonl", "t.ndjson"])
def test_every_format_is_read_alike(tmp_path, name):
    path = write_table(tmp_path / name.lower(), {"text": TEXTS, "label": LABELS, "other": [1, 2, 3, 4]})
    path = path.rename(tmp_path / name)
    assert kind_of(path) is KINDS["text"]
    found = load(path, tmp_path / "store")
    assert said(found) == [text.strip() for text in TEXTS]
    assert found.paths == ("0", "1", "2", "3")
    assert found.classes == ("place", "talk")
    assert found.labels.tolist() == [1, -1, 0, -1]
    assert not (tmp_path / "store").exists()


def test_ids_name_the_items_and_empty_rows_are_passed_over(tmp_path):
    columns = {"id": ["a", "b", "c", "d"], "text": ["one", "", "three", " \n"], "label": ["x", "y", "unlabeled", ""]}
    found = load(write_table(tmp_path / "t.csv", columns), tmp_path / "store")
    assert found.paths == ("a", "c")
    assert found.classes == ("x",)
    assert found.skipped == (("b", "row 1 has no text"), ("d", "row 3 has no text"))
    del columns["id"]
    assert load(write_table(tmp_path / "t.csv", columns), tmp_path / "store").paths == ("0", "2")


def test_labels_may_be_absent_where_none_are_needed(tmp_path):
    path = write_table(tmp_path / "t.jsonl", {"text": ["one", "two"], "id": [7, 9]})
    listing = list_items(path, labeled=False)
    assert listing.names == ["7", "9"]
    assert listing.arrays is not None
    assert listing.arrays["X"].tolist() == ["one", "two"]
    with pytest.raises(UserError, match=r'has no column "label" among those it has \(text, id\)'):
        list_items(path)


def test_a_column_path_makes_a_table_of_files(tmp_path):
    for name in ("t.csv", "t.jsonl"):
        path = write_table(tmp_path / name, {"path": ["a.png", "b.png"], "text": ["x", "y"], "label": ["cat", ""]})
        assert list_items(path).arrays is None
        assert list_items(path).names == ["a.png", "b.png"]
        assert kind_of(path) is KINDS["image"]


def test_long_cells_are_read_and_cost_no_more_than_they_are(tmp_path):
    texts = ["x" * 1_000_000, *("short" for _ in range(999))]
    found = load(write_table(tmp_path / "t.csv", {"text": texts, "label": ["a"] * 500 + [""] * 500}), tmp_path)
    assert found.items.shape == (1000, 2048)  # as an array of strings they would take four gigabytes


def test_json_lines_may_lack_keys(put, tmp_path):
    path = put('{"text": "one", "label": 3}\n{"text": "two"}\n{"text": null, "label": 1}\n', "t.jsonl")
    found = load(path, tmp_path / "store")
    assert (found.classes, found.labels.tolist()) == (("3",), [0, -1])
    assert found.skipped == (("2", "row 2 has no text"),)


BROKEN = [
    ("t.csv", "text,label\nKäse,food\n".encode("cp1252"), "cannot be read as UTF-8 CSV .*: save it as CSV with UTF-8"),
    ("t.csv", b"text,label\nyes, of course,talk\n", "has more cells in row 0 than it has columns: put every text with"),
    ("t.csv", b'text,label\na,b\n"open,c\nd,e\n', "has a quote that is opened and never closed: close or remove it"),
    (
        "t.csv",
        b"text;label\na;b\n",
        'has no column "path" among those it has .text;label.: it needs path',
    ),
    ("t.csv", b"text,label\n", "holds no row: give the columns text and label"),
    ("t.csv", b"text,label\n,a\n  ,b\n", "has no text in any of its 2 rows: fill in its column text"),
    ("t.csv", b"text,class\na,b\n", 'has no column "label"'),
    ("t.csv", b"id,text,label\n1,a,b\n1,c,d\n", 'has the id "1" in row 0 and in row 1, but an item has one row'),
    ("t.csv", b"id,text,label\n1,a,b\n,c,d\n", "has no id in row 1, but a column id names every item: fill it in"),
    ("t.jsonl", b'{"text": "a", "label": ""}\n{"text": }\n', r"has no JSON in UTF-8 in line 2 \(Expecting value\)"),
    ("t.jsonl", b'\n\n{"text": "a\xff"}\n', "has no JSON in UTF-8 in line 3 .'utf-8' codec"),
    ("t.jsonl", b"[" * 99_999, "has no JSON in UTF-8 in line 1"),
    ("t.jsonl", b'{"text": "a", "label": "b"}\n["c"]\n', 'has no JSON object in line 2: write each as {"text"'),
    ("t.jsonl", b'{"text": ["a", "b"], "label": "b"}\n', "has several values for text in row 0, but an item has one"),
    ("t.jsonl", b'{"text": "a", "label": ["b"]}\n', "has several values for label in row 0"),
    ("t.jsonl", b'{"words": "a"}\n', 'has no column "path" among those it has .words.: it needs'),
    ("t.jsonl", b"", "holds no row"),
    ("t.parquet", b"text,label\n", "is no Parquet file, or damaged"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN, ids=[message[:25] for *_, message in BROKEN])
def test_a_broken_table_in_one_sentence(put, tmp_path, name, content, message):
    with pytest.raises(UserError, match=message) as error:
        load(put(content, name), tmp_path / "store")
    assert "\n" not in str(error.value)


def test_a_folder_of_text_files_is_one_of_pictures_but_for_the_pictures(tmp_path):
    for name, content in {"a/1.txt": "one", "a/2.md": "two", "unlabeled/3.txt": "drei", "unlabeled/4.txt": ""}.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(content)
    assert kind_of(tmp_path / "notes") is KINDS["text"]
    found = load(tmp_path / "notes", tmp_path / "store")
    assert dict(zip(found.paths, said(found), strict=True)) == {
        "a/1.txt": "one",
        "a/2.md": "two",
        "unlabeled/3.txt": "drei",
    }
    assert found.skipped == (("unlabeled/4.txt", "empty file"),)
    (tmp_path / "m.csv").write_text("path,label\nnotes/a/1.txt,a\nnotes/unlabeled/3.txt,\n")
    assert kind_of(tmp_path / "m.csv") is KINDS["text"]
    assert said(load(tmp_path / "m.csv", tmp_path / "store 2")) == ["one", "drei"]


def test_arrays_of_strings_in_a_file(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array(["one", "two"]), y=np.array(["a", ""]))
    assert kind_of(tmp_path / "t.npz") is KINDS["text"]
    assert said(load(tmp_path / "t.npz", tmp_path / "store")) == ["one", "two"]


def test_the_digest_is_that_of_the_texts():
    first, second = (from_arrays(np.array(["one", word]), ["a", ""]) for word in ("two", "too"))
    assert first.digest() != second.digest()


def test_the_whole_table_may_be_the_truth(tmp_path):
    texts, kinds = [f"text {number}" for number in range(40)], [f"kind {number % 4}" for number in range(40)]
    known = [kind if kind in ("kind 0", "kind 1") else "" for kind in kinds]
    data = write_table(tmp_path / "data.csv", {"text": texts, "label": known})
    truth = write_table(tmp_path / "truth.jsonl", {"text": texts, "label": kinds})
    source = Source(str(data), truth=str(truth))
    collection, _ = gather(source, tmp_path / "store", 0.1, lambda done, total: None)
    assert [collection.truth_classes[number] for number in collection.truth] == kinds


SWALLOWED = 'text,label\nfirst,x\n"second,y\nthird,x\nfourth",y\nfifth,\n'


def test_a_quote_that_swallows_rows_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text(SWALLOWED)
    with pytest.raises(UserError, match=r"a quote in row 1 that swallows the rows behind it, the first .second,y"):
        list_items(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('text,label\n"Dear John,\nno, thanks",x\nother,y\n')
    assert list_items(tmp_path / "t.csv").labels == ["x", "y"]


@pytest.mark.parametrize("header", ["text,label,label", "text,text,label"])
def test_two_columns_of_one_name_are_refused(tmp_path, header):
    (tmp_path / "t.csv").write_text(f"{header}\na,b,c\n")
    with pytest.raises(UserError, match=r"has two columns (text|label), but an item has one"):
        list_items(tmp_path / "t.csv")


def test_half_a_sign_is_replaced_in_a_text_and_refused_elsewhere(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "cut \\ud83e off", "label": "a"}\n{"text": "b", "label": ""}\n')
    assert said(load(tmp_path / "t.jsonl", tmp_path / "store"))[0] == "cut ? off"
    (tmp_path / "t.jsonl").write_text('{"text": "a", "label": "\\ud83e"}\n')
    with pytest.raises(UserError, match=r"half a sign, '\\ud83e', in line 1: correct it"):
        list_items(tmp_path / "t.jsonl")
