"""The store, which decodes each file once, whatever happens."""

import os
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import paint

from novakind.data import readers, shards, store
from novakind.data.store import Stored, decode
from novakind.errors import UserError
from novakind.modality.image import Image


@dataclass(frozen=True)
class Counting(Image):
    """Pictures of 4 x 4 pixels; notes what it is asked to read, and can be interrupted at a file."""

    size: int = 4
    stop_at: str = ""
    seen: list[str] = field(default_factory=list)

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        if path.name == self.stop_at:
            raise KeyboardInterrupt
        self.seen.append(path.name)
        return super().read(path)

    def settings(self) -> dict[str, Any]:
        return Image(self.size).settings()


NAMES = [f"{number:02}.png" for number in range(20)]
BROKEN = {"00.png", "07.png", "19.png"}


@pytest.fixture
def pictures(tmp_path, monkeypatch) -> Path:
    """Twenty files, three of them broken; and a store that flushes after every fourth."""
    monkeypatch.setattr(store, "FILES", 4)
    for number, name in enumerate(NAMES):
        paint(tmp_path / name, 10 * number)
        if name in BROKEN:
            (tmp_path / name).write_text("broken")
    return tmp_path


def read_all(root: Path, modality: Counting, names: list[str] = NAMES) -> Stored:
    return decode([root / name for name in names], names, root / "store", modality, lambda done, total: None)


def check(stored: Stored, names: list[str] = NAMES) -> None:
    readable = [number for number, name in enumerate(names) if name not in BROKEN]
    assert stored.kept == readable
    assert stored.rows[:, 0, 0, 0].tolist() == [10 * int(names[number][:2]) for number in readable]
    assert stored.skipped == [(number, "not an image") for number, name in enumerate(names) if name in BROKEN]


def test_every_file_is_read_once(pictures):
    modality = Counting()
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == NAMES
    check(read_all(pictures, modality))
    assert len(modality.seen) == 20


@pytest.mark.parametrize("stop_at", ["00.png", "05.png", "12.png", "19.png"])
def test_interrupted_decoding_goes_on_where_it_stopped(pictures, stop_at):
    with pytest.raises(KeyboardInterrupt):
        read_all(pictures, Counting(stop_at=stop_at))
    modality = Counting()
    check(read_all(pictures, modality))
    assert stop_at in modality.seen
    assert set(NAMES[: 4 * (NAMES.index(stop_at) // 4)]).isdisjoint(modality.seen)


def cut(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes())) and None


ROW = 3 * 4 * 4
FIRST = "rows-0-0000.bin"
READABLE = [name for name in NAMES if name not in BROKEN]


def without(lines: slice) -> Callable[[bytes], bytes]:
    """Leaves out some lines of the index, of which the first is its head."""

    def change(text: bytes) -> bytes:
        kept = text.splitlines(keepends=True)
        del kept[lines]
        return b"".join(kept)

    return change


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (cut("index.jsonl", lambda text: text[:-1]), NAMES[19:]),  # the last line lacks its end
        (cut("index.jsonl", lambda text: text[:-9]), NAMES[19:]),  # half a line
        (cut("index.jsonl", without(slice(11, None))), NAMES[10:]),
        (cut("index.jsonl", without(slice(4, 6))), NAMES[3:5]),  # a line that is not there is one file's
        (cut("index.jsonl", lambda text: without(slice(11, None))(text)[:-1]), NAMES[9:]),
        (cut("index.jsonl", lambda text: without(slice(11, None))(text) + bytes(50)), NAMES[10:]),  # zeros
        (cut("index.jsonl", lambda text: without(slice(11, None))(text) + b"\xff\xfe 5\n"), NAMES[10:]),
        (cut("index.jsonl", lambda text: without(slice(11, None))(text) + b"5\n[]\n{}\n"), NAMES[10:]),
        (cut("index.jsonl", lambda text: text.replace(b'["11.png", ', b'["11.png", -')), NAMES[11:12]),
        (cut("index.jsonl", lambda text: re.sub(rb'("11.png", .*)""\]', rb'\1"\\ud800"]', text)), NAMES[11:12]),
        (cut("index.jsonl", lambda text: text[:10]), NAMES),
        (cut("index.jsonl", lambda text: b""), NAMES),
        (cut("index.jsonl", lambda text: text.replace(b'"size": 4', b'"size": 8')), NAMES),  # of another size
        (cut(FIRST, lambda rows: rows + b"half a row"), []),
        (cut(FIRST, lambda rows: rows[:-1]), NAMES[18:19]),  # 19 could not be read, so has no row; 18 lost a byte
        (cut(FIRST, lambda rows: rows[: 8 * ROW + 5]), READABLE[8:]),
        (cut(FIRST, lambda rows: b""), READABLE),
        (lambda folder: (folder / FIRST).unlink(), READABLE),
        (lambda folder: (folder / "index.jsonl").unlink(), NAMES),
    ],
)
def test_a_store_that_is_damaged_anywhere_reads_what_it_lost_and_nothing_else(pictures, damage, lost):
    read_all(pictures, Counting())
    damage(pictures / "store")
    modality = Counting()
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == lost
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == lost


@pytest.mark.parametrize("what", ["contents", "time"])
def test_a_changed_file_is_read_again_and_no_other(pictures, what):
    read_all(pictures, Counting())
    if what == "contents":
        (pictures / "07.png").write_bytes((pictures / "08.png").read_bytes())  # mended
    else:
        os.utime(pictures / "07.png", ns=(1, 1))
    modality = Counting()
    stored = read_all(pictures, modality)
    assert modality.seen == ["07.png"]
    assert (7 in stored.kept) == (what == "contents")
    assert stored.rows[-1, 0, 0, 0] == 180


def test_a_file_that_is_added_anywhere_is_the_one_that_is_read(pictures):
    some = NAMES[:4] + NAMES[5:]
    read_all(pictures, Counting(), some)
    modality = Counting()
    check(read_all(pictures, modality))
    assert modality.seen == ["04.png"]
    check(read_all(pictures, modality, some), some)  # and one that is gone
    check(read_all(pictures, modality, NAMES[::-1]), NAMES[::-1])  # in any order
    assert modality.seen == ["04.png"]
    (pictures / "05.png").unlink()
    stored = read_all(pictures, Counting())
    assert (5, "no such file") in stored.skipped


def test_rows_are_kept_in_shards(pictures, monkeypatch):
    monkeypatch.setattr(shards, "SIZE", 5 * ROW)
    check(read_all(pictures, Counting()))
    sizes = {file.name: file.stat().st_size // ROW for file in (pictures / "store").glob("rows-*")}
    assert sizes == {"rows-0-0000.bin": 5, "rows-0-0001.bin": 5, "rows-0-0002.bin": 5, "rows-0-0003.bin": 2}
    (pictures / "store" / "rows-0-0001.bin").write_bytes(bytes(3 * ROW + 7))  # of its five rows three are left
    modality = Counting()
    stored = read_all(pictures, modality)
    assert modality.seen == READABLE[8:10]
    assert stored.rows[[8, 9]][:, 0, 0, 0].tolist() == [10 * int(name[:2]) for name in READABLE[8:10]]


def test_rows_of_files_that_are_gone_make_room_when_they_are_most(pictures):
    mapped = read_all(pictures, Counting()).rows
    before = np.array(mapped)
    few, modality = NAMES[8:12], Counting()
    check(read_all(pictures, modality, few), few)
    assert not modality.seen
    assert [file.name for file in (pictures / "store").glob("rows-*")] == ["rows-1-0000.bin"]
    assert (pictures / "store" / "rows-1-0000.bin").stat().st_size == 4 * ROW
    np.testing.assert_array_equal(mapped, before)  # who has them mapped keeps them
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == NAMES[:8] + NAMES[12:]


@pytest.mark.parametrize("key", [3, -1, slice(2, 9, 3), [5, 0, 16], np.arange(17) % 3 == 0, (4, 1), (slice(3), 2, 0)])
def test_rows_are_asked_for_as_those_of_an_array(pictures, monkeypatch, key):
    monkeypatch.setattr(shards, "SIZE", 4 * ROW)
    rows = read_all(pictures, Counting()).rows
    np.testing.assert_array_equal(rows[key], np.array(rows)[key])
    assert (rows.shape, len(rows), rows.nbytes) == ((17, 3, 4, 4), 17, 17 * ROW)


def test_several_processes_read_what_takes_long(pictures, monkeypatch):
    """Also of a file that is not there and of broken ones; a script that asks is not begun again by each of them."""
    monkeypatch.setattr(readers, "ALONE", 0.0)
    monkeypatch.setattr(readers, "cores", lambda: 2)
    told = []
    names = [*NAMES, "none.png"]
    files = [pictures / name for name in names]
    stored = decode(files, names, pictures / "store", Image(4), lambda *point: told.append(point))
    assert (20, "no such file") in stored.skipped
    check(Stored(stored.rows, stored.kept, stored.suffixes, stored.skipped[:-1]))
    assert told == [(0, 21), (4, 21), (8, 21), (12, 21), (16, 21), (20, 21), (21, 21)]


class Hushed(Counting):
    """Silences warnings while it reads, as decoders do, for times of its own: threads leave in another order."""

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            time.sleep(0.002 * (int(path.stem) % 3 + 1))
            return super().read(path)


def test_decoding_leaves_the_filters_of_warnings_alone(pictures):
    before = list(warnings.filters)
    check(read_all(pictures, Hushed()))
    assert warnings.filters == before


def test_a_store_that_leads_elsewhere_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "index.jsonl").write_text("mine")
    (tmp_path / "store").symlink_to(elsewhere)
    with pytest.raises(UserError, match="leads out of the run"):
        decode([], [], tmp_path / "store", Image(4), lambda done, total: None)
    assert [file.read_text() for file in elsewhere.iterdir()] == ["mine"]
