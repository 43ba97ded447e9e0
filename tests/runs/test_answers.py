"""What a model says of all items is written piece by piece, and read back without all of it in memory."""

import numpy as np
import pytest
from runs import write_run

from novakind.errors import UserError
from novakind.runs import record
from novakind.runs.discovery import Discovery


@pytest.fixture
def discovered(tmp_path):
    write_run(tmp_path / "run")
    return tmp_path / "run"


def parts_of(file, names=("embedding", "logp")):
    return record.read_arrays(file, names)


def test_large_arrays_stay_on_disk_and_say_the_same(discovered, monkeypatch):
    """As numpy wrote and reads them; a run that is read so has the same table."""
    file = discovered / "embeddings.npz"
    with np.load(file) as arrays:
        expected = [arrays["embedding"], arrays["logp"]]
    whole = repr(Discovery.load(discovered).categories)
    monkeypatch.setattr(record, "LARGE", 0)
    found = parts_of(file)
    assert all(isinstance(array, np.memmap) for array in found)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert repr(Discovery.load(discovered).categories) == whole


def test_compressed_arrays_are_not_mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "LARGE", 0)
    np.savez_compressed(tmp_path / "a.npz", embedding=np.ones((3, 2), np.float32), logp=np.ones((3, 2), np.float32))
    with pytest.raises(UserError, match="it is compressed"):
        parts_of(tmp_path / "a.npz")


@pytest.mark.parametrize("size", [0, 10, 100, 400])
def test_what_is_cut_off_is_refused(discovered, tmp_path, monkeypatch, size):
    monkeypatch.setattr(record, "LARGE", 0)
    (tmp_path / "a.npz").write_bytes((discovered / "embeddings.npz").read_bytes()[:size])
    with pytest.raises(UserError, match="is damaged"):
        parts_of(tmp_path / "a.npz")
