"""Data to compare methods on, and a listener to what is run."""

import numpy as np
import pytest

from novakind.compare import plan as compare


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    """Four classes of vectors, all labeled, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.repeat(4 * rng.normal(size=(4, 6)), 40, axis=0) + rng.normal(size=(160, 6))
    np.savez("blobs.npz", X=X, y=np.repeat(np.arange(4), 40))


@pytest.fixture
def calls(monkeypatch):
    """The (method, seed) of every run that is begun from now on."""
    begun, real = [], compare.complete

    def listening(source, config, path, **options):
        begun.append((config.method, config.seed))
        return real(source, config, path, **options)

    monkeypatch.setattr(compare, "complete", listening)
    return begun
