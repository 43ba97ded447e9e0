"""Vectors by content: whatever happens to the database, what comes out of it is right, or nothing."""

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from full import Full

from novakind import disk
from novakind.data.cache import Cache, content_key

KEYS = [bytes([number]) * 16 for number in range(100)]
VECTORS = np.random.default_rng(0).normal(size=(100, 64)).astype(np.float32)
WAY = {"encoder": "some", "size": 32}


def filled(folder: Path) -> Cache:
    cache = Cache(folder, WAY, 64)
    cache.put(KEYS, VECTORS)
    cache.close()
    return cache


def read(folder: Path) -> dict[bytes, np.ndarray]:
    cache = Cache(folder, WAY, 64)
    found = cache.get(KEYS)
    cache.close()
    return found


def assert_right(found: dict[bytes, np.ndarray]) -> None:
    for key, vector in found.items():
        np.testing.assert_array_equal(vector, VECTORS[KEYS.index(key)])


def mended(folder: Path) -> None:
    """What is read is right, and what is kept again is all there."""
    cache = Cache(folder, WAY, 64)
    found = cache.get(KEYS)
    assert_right(found)
    missing = [number for number, key in enumerate(KEYS) if key not in found]
    cache.put([KEYS[number] for number in missing], VECTORS[missing])
    cache.close()
    again = read(folder)
    assert_right(again)
    assert len(again) == 100
    with sqlite3.connect(cache.file) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    opened.close()


def test_what_was_kept_is_there(tmp_path):
    filled(tmp_path)
    found = read(tmp_path)
    assert len(found) == 100
    assert_right(found)


def test_keys_tell_contents_apart_and_nothing_else():
    rows = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert content_key(rows[0]) == content_key(rows[0].copy())
    assert content_key(rows[0]) != content_key(rows[1])
    assert content_key(rows[0].T) == content_key(np.ascontiguousarray(rows[0].T))
    assert content_key(np.array([0, 7, 0], np.uint8)) == content_key(np.array([0, 7], np.uint8))  # filled up at the end


def test_another_way_is_another_database(tmp_path):
    filled(tmp_path)
    other = Cache(tmp_path, WAY | {"size": 64}, 64)
    assert other.get(KEYS) == {}
    other.close()
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_more_keys_than_fit_in_a_question(tmp_path):
    many = [number.to_bytes(16, "big") for number in range(2500)]
    vectors = np.arange(2500 * 2, dtype=np.float32).reshape(2500, 2)
    cache = Cache(tmp_path, WAY, 2)
    cache.put(many, vectors)
    found = cache.get(many)
    np.testing.assert_array_equal([found[key] for key in many], vectors)
    cache.close()


@pytest.mark.parametrize("change", ["sum = 1", "vector = x'00'", "vector = 'text'", "vector = NULL", "sum = NULL"])
def test_a_row_that_is_not_whole_counts_as_missing(tmp_path, change):
    file = filled(tmp_path).file
    with sqlite3.connect(file) as opened:
        opened.execute(f"UPDATE vectors SET {change} WHERE key = ?", (KEYS[3],))
    opened.close()
    assert set(KEYS) - set(read(tmp_path)) == {KEYS[3]}
    mended(tmp_path)


@pytest.mark.parametrize("place", [0, 16, 100, 4096, 9000, 16384])
def test_overwritten_bytes_are_seen_and_mended(tmp_path, place):
    file = filled(tmp_path).file
    content = bytearray(file.read_bytes())
    content[place : place + 700] = b"\xa5" * 700
    file.write_bytes(content)
    mended(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.99])
def test_a_truncated_database_is_seen_and_mended(tmp_path, share):
    file = filled(tmp_path).file
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    mended(tmp_path)


@pytest.mark.parametrize("content", [b"not a database, but long enough to look like one" * 99, b"short"])
def test_another_file_in_its_place_is_replaced(tmp_path, content):
    filled(tmp_path).file.write_bytes(content)
    mended(tmp_path)


def test_a_table_of_another_layout_is_replaced(tmp_path):
    file = filled(tmp_path).file
    file.unlink()
    with sqlite3.connect(file) as opened:
        opened.execute("CREATE TABLE vectors (name TEXT)")
    opened.close()
    mended(tmp_path)


def test_an_old_journal_is_not_played_back_into_a_new_database(tmp_path):
    file = filled(tmp_path).file
    file.write_bytes(b"damaged" * 1000)
    journal = file.with_name(file.name + "-journal")
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + b"\0" * 4000)
    mended(tmp_path)


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, folder):
    (tmp_path / "file").write_text("in the way")
    cache = filled(tmp_path / folder)
    assert read(tmp_path / folder) == {}
    assert not cache.file.exists()
    assert (tmp_path / "file").read_text() == "in the way"
    assert "cannot be written (" in cache.unkept
    assert cache.unkept.endswith("): free some space, or name another folder by NOVAKIND_CACHE")


@pytest.mark.parametrize("at", range(1, 5))
def test_a_full_disk_costs_only_what_is_not_kept(tmp_path, monkeypatch, at):
    """A disk that is full from any step on: nothing is raised, what was kept is read, and it is said."""
    steps = Full(at)
    monkeypatch.setattr(disk, "act", steps)
    cache = Cache(tmp_path / "new", WAY, 64)
    for some in (slice(0, 50), slice(50, 100)):
        cache.put(KEYS[some], VECTORS[some])
    found = cache.get(KEYS)
    cache.close()
    assert_right(found)
    assert len(found) == {1: 0, 2: 0, 3: 0, 4: 50}[at]
    assert "cannot be written (No space left on device): free some space" in cache.unkept
    monkeypatch.undo()
    mended(tmp_path / "new")


def test_a_database_for_reading_alone_says_so(tmp_path):
    filled(tmp_path)
    cache = Cache(tmp_path, WAY, 64)
    assert cache.open is not None
    assert cache.unkept == ""
    cache.open.execute("PRAGMA query_only = ON")
    cache.put([b"new" * 5], VECTORS[:1])
    assert "cannot be written (attempt to write a readonly database)" in cache.unkept
    cache.close()


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache = Cache(None, WAY, 64)
    cache.put(KEYS, VECTORS)
    assert cache.get(KEYS) == {}
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_written_is_still_read(tmp_path):
    filled(tmp_path)
    cache = Cache(tmp_path, WAY, 64)
    assert cache.open is not None
    cache.open.execute("PRAGMA query_only = ON")
    cache.put([b"new" * 5], VECTORS[:1])
    assert len(cache.get(KEYS)) == 100
    cache.close()


def test_one_that_another_process_holds_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("novakind.data.cache.PATIENCE", 0.05)
    file = filled(tmp_path).file
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    cache = Cache(tmp_path, WAY, 64)
    cache.put(KEYS, VECTORS)
    assert cache.get(KEYS) == {}
    other.execute("COMMIT")
    other.close()
    assert len(read(tmp_path)) == 100
