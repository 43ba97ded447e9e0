"""The store, which decodes each file once, whatever happens."""

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small import paint

from novakind.data import store
from novakind.data.store import Stored, decode
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
    monkeypatch.setattr(store, "CHUNK", 4)
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


@pytest.mark.parametrize(
    ("damage", "first_read"),
    [
        (cut("index.jsonl", lambda text: text[:-1]), 19),  # the last line lacks its end
        (cut("index.jsonl", lambda text: text[:-9]), 19),  # half a line
        (cut("index.jsonl", lambda text: b"\n".join(text.split(b"\n")[:11]) + b"\n"), 10),
        (cut("index.jsonl", lambda text: b"\n".join(text.split(b"\n")[:11])), 9),
        (cut("index.jsonl", lambda text: b"\n".join(text.split(b"\n")[:11]) + b"\n" + bytes(50)), 10),  # zeros
        (cut("index.jsonl", lambda text: b"\n".join(text.split(b"\n")[:11]) + b"\n\xff\xfe 5\n"), 10),
        (cut("index.jsonl", lambda text: b"\n".join(text.split(b"\n")[:11]) + b"\n5\n[]\n{}\n"), 10),
        (cut("index.jsonl", lambda text: text[:10]), 0),
        (cut("index.jsonl", lambda text: b""), 0),
        (cut("index.jsonl", lambda text: text.replace(b'"size": 4', b'"size": 8')), 0),  # of another size
        (cut("rows.bin", lambda rows: rows + b"half a row"), 20),
        (cut("rows.bin", lambda rows: rows[:-1]), 18),  # 19 could not be read, so has no row; 18 lost a byte
        (cut("rows.bin", lambda rows: rows[: 8 * ROW + 5]), 10),  # 00 and 07 have no row
        (cut("rows.bin", lambda rows: b""), 1),
        (lambda folder: (folder / "rows.bin").unlink(), 0),
        (lambda folder: (folder / "index.jsonl").unlink(), 0),
    ],
)
def test_a_store_cut_off_anywhere_is_completed_exactly(pictures, damage, first_read):
    read_all(pictures, Counting())
    whole = [(pictures / "store" / name).read_bytes() for name in ("index.jsonl", "rows.bin")]
    damage(pictures / "store")
    modality = Counting()
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == NAMES[first_read:]
    assert [(pictures / "store" / name).read_bytes() for name in ("index.jsonl", "rows.bin")] == whole


@pytest.mark.parametrize("what", ["contents", "time"])
def test_a_changed_file_is_read_again(pictures, what):
    read_all(pictures, Counting())
    if what == "contents":
        (pictures / "07.png").write_bytes((pictures / "08.png").read_bytes())  # mended
    else:
        os.utime(pictures / "07.png", ns=(1, 1))
    modality = Counting()
    stored = read_all(pictures, modality)
    assert sorted(modality.seen) == NAMES[7:]
    assert (7 in stored.kept) == (what == "contents")
    assert stored.rows[-1, 0, 0, 0] == 180


def test_files_added_and_removed(pictures):
    read_all(pictures, Counting(), NAMES[:10])
    modality = Counting()
    check(read_all(pictures, modality))
    assert sorted(modality.seen) == NAMES[10:]
    fewer = NAMES[:3] + NAMES[4:]
    check(read_all(pictures, Counting(), fewer), fewer)
    (pictures / "05.png").unlink()
    stored = read_all(pictures, Counting())
    assert (5, "no such file") in stored.skipped


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
