"""Shapes and types in every signature are checked while the tests run."""

import math
from pathlib import Path

import pytest
import torch
from jaxtyping import install_import_hook
from small import shapes_folder

install_import_hook("novakind", "shapes.check")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Nothing is written to the home; published weights are converted once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOVAKIND_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def read_alone():
    """However slow the machine is: what a test counts or changes in this process would not be so in others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("novakind.data.readers.ALONE", math.inf)
        yield


@pytest.fixture(scope="module")
def one_thread():
    """Two threads wait for each other where the cores are shared: many times slower on small networks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def put(tmp_path):
    """Writes a file, of text or bytes, and tells where."""

    def write(content: str | bytes, name: str = "a.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def shapes(tmp_path, monkeypatch) -> Path:
    """A folder of 160 small pictures, two kinds of them known, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shapes_folder(tmp_path / "shapes")
    return tmp_path / "shapes"
