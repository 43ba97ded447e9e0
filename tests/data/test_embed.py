"""A frozen encoder looks at every item once: it is killed and goes on, and two of it share what they find."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from novakind.data import embed as embedding
from novakind.data.collection import from_arrays
from novakind.data.embed import embed, seen, vectors_of
from novakind.data.files import quiet
from novakind.data.split import part
from novakind.encoders.front import Front, origin_of
from novakind.modality.features import Features
from novakind.modality.image import Image, ImageReading

pytestmark = pytest.mark.usefixtures("one_thread")
ROWS = np.random.default_rng(0).integers(0, 256, (24, 3, 32, 32), dtype=np.uint8)
LITE0 = origin_of("efficientnet-lite0")
SEEN = Image(32, seen=32)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, own_cache) -> Path:
    """Small chunks, and a cache that is new but for the weights, which take a while to convert."""
    shared = Path(os.environ["NOVAKIND_CACHE"]) / "weights"
    shared.mkdir(exist_ok=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "weights").symlink_to(shared)
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(embedding, "CHUNK", 4)
    return tmp_path / "cache" / "embeddings"


@pytest.fixture
def looked(monkeypatch) -> list[int]:
    """How many items the encoder looks at, each time."""
    counts, real = [], Front.forward

    def counting(self, rows):
        counts.append(len(rows))
        return real(self, rows)

    monkeypatch.setattr(Front, "forward", counting)
    return counts


def test_computed_once(looked, monkeypatch):
    told = []
    first = vectors_of(ROWS, SEEN, LITE0, lambda done, total: told.append((done, total)))
    assert looked == [4] * 6
    assert told == [(0, 24), (4, 24), (8, 24), (12, 24), (16, 24), (20, 24), (24, 24)]
    assert first.shape == (24, 1280)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-5)
    monkeypatch.setattr(Front, "opened", lambda *given: pytest.fail("the encoder is not even built"))
    told.clear()
    np.testing.assert_array_equal(vectors_of(ROWS, SEEN, LITE0, lambda *point: told.append(point)), first)
    assert told == [(24, 24)]
    order = np.random.default_rng(1).permutation(24)
    np.testing.assert_array_equal(vectors_of(ROWS[order], SEEN, LITE0, quiet), first[order])  # by content, not by place


def test_only_what_is_new_is_looked_at(looked):
    vectors_of(ROWS[:10], SEEN, LITE0, quiet)
    looked.clear()
    vectors_of(ROWS, SEEN, LITE0, quiet)
    assert sum(looked) == 14


def test_another_way_of_seeing_is_computed_anew(looked):
    vectors_of(ROWS[:4], SEEN, LITE0, quiet)
    vectors_of(ROWS[:4], replace(SEEN, seen=64), LITE0, quiet)
    vectors_of(ROWS[:4], replace(SEEN, flips=True), LITE0, quiet)
    vectors_of(ROWS[:4], replace(SEEN, mean=(0.1, 0.2, 0.3)), LITE0, quiet)  # which the encoder does not follow
    assert looked == [4, 4, 4]


def test_the_folded_network_gives_what_the_network_gives():
    front = Front.opened(LITE0, SEEN)
    batch = front.modality.normalise(front.modality.collate(ROWS))
    np.testing.assert_allclose(front(ROWS), front.network(batch).numpy(), atol=1e-5)


def test_a_collection_becomes_vectors_and_keeps_what_it_was(looked):
    pictures = ROWS.transpose(0, 2, 3, 1)
    collection = from_arrays(pictures, np.arange(24) % 3 - 1, reading=ImageReading(size=32))
    found = embed(collection, LITE0, quiet)
    assert isinstance(found.modality, Features)
    assert (found.items.shape, found.before, found.origin) == ((24, 1280), collection, LITE0)
    assert found.digest() == collection.digest()
    split = part(collection, 0.2, 0.0)
    frozen = seen(collection, split, {"name": "efficientnet-lite0", "frozen": True}, quiet)
    np.testing.assert_array_equal(frozen.items, found.items)
    assert sum(looked) == 24
    tuned = seen(collection, split, {"name": "efficientnet-lite0", "frozen": False}, quiet)
    assert tuned.items is collection.items
    assert (tuned.modality.mean, tuned.before, tuned.origin) == (LITE0.mean, None, LITE0)
    assert seen(collection, split, {}, quiet).origin is None


def test_a_damaged_database_costs_nothing_but_time(folder, looked):
    first = vectors_of(ROWS, SEEN, LITE0, quiet)
    (file,) = folder.glob("*.sqlite")
    with sqlite3.connect(file) as opened:
        opened.execute("UPDATE vectors SET sum = sum + 1 WHERE rowid <= 5")
    opened.close()
    looked.clear()
    np.testing.assert_allclose(vectors_of(ROWS, SEEN, LITE0, quiet), first, atol=1e-6)
    assert sum(looked) == 5
    for damaged in (file.read_bytes()[:20000], b"\xa5" * 5000, b""):
        file.write_bytes(damaged)
        looked.clear()
        np.testing.assert_allclose(vectors_of(ROWS, SEEN, LITE0, quiet), first, atol=1e-6)
        assert sum(looked) > 0
        looked.clear()
        vectors_of(ROWS, SEEN, LITE0, quiet)
        assert looked == []


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, looked, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    for place in ("file", "file/below"):
        monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / place))
        looked.clear()
        assert vectors_of(ROWS[:4], SEEN, LITE0, quiet).shape == (4, 1280)
        assert looked == [4]


def test_a_user_without_a_home_has_no_cache(looked, monkeypatch):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    assert vectors_of(ROWS[:4], SEEN, LITE0, quiet).shape == (4, 1280)
    assert looked == [4]


SCRIPT = """
import sys, time
import numpy as np, torch
torch.set_num_threads(1)
from novakind.data import embed
from novakind.encoders.front import origin_of
from novakind.modality.image import Image
embed.CHUNK = 4
def watch(done, total):
    print(done, flush=True)
    time.sleep(float(sys.argv[1]))
rows = np.random.default_rng(0).integers(0, 256, (24, 3, 32, 32), dtype=np.uint8)
vectors = embed.vectors_of(rows, Image(32, seen=32), origin_of("efficientnet-lite0"), watch)
np.save(sys.argv[2], vectors)
"""


def begin(out: Path, pause: float) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(pause), str(out)], stdout=subprocess.PIPE, text=True)


def test_killed_in_the_middle_only_the_rest_is_computed(tmp_path, folder, looked):
    process = begin(tmp_path / "never.npy", 0.2)
    assert process.stdout is not None
    while process.stdout.readline().strip() != "12":  # three chunks are kept
        pass
    time.sleep(0.1)
    process.kill()
    process.wait()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    found = vectors_of(ROWS, SEEN, LITE0, quiet)
    assert sum(looked) == 12
    for file in folder.glob("*.sqlite"):
        file.unlink()
    np.testing.assert_array_equal(found, vectors_of(ROWS, SEEN, LITE0, quiet))  # to the last bit


def test_two_at_once_find_the_same(tmp_path, folder, looked):
    processes = [begin(tmp_path / f"{number}.npy", 0.02) for number in range(2)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    first, second = (np.load(tmp_path / f"{number}.npy") for number in range(2))
    np.testing.assert_allclose(first, second, atol=1e-6)
    np.testing.assert_allclose(vectors_of(ROWS, SEEN, LITE0, quiet), first, atol=1e-6)
    assert looked == []
    (file,) = folder.glob("*.sqlite")
    with sqlite3.connect(file) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert opened.execute("SELECT count(*) FROM vectors").fetchone() == (24,)
    opened.close()
