"""Data to compare methods on, and a listener to what is run."""

from pathlib import Path

import pytest
from small import blobs_file

from novakind.compare import plan as compare


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    """Four classes of vectors, all labeled, in the current folder."""
    monkeypatch.chdir(tmp_path)
    blobs_file(Path("blobs.npz"))


@pytest.fixture
def calls(monkeypatch):
    """The (method, seed) of every run that is begun from now on."""
    begun, real = [], compare.complete

    def listening(source, config, path, **options):
        begun.append((config.method, config.seed))
        return real(source, config, path, **options)

    monkeypatch.setattr(compare, "complete", listening)
    return begun
