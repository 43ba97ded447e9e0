"""Shapes and types in every signature are checked while the tests run."""

import pytest
import torch
from jaxtyping import install_import_hook

install_import_hook("novakind", "shapes.check")


@pytest.fixture(scope="module")
def one_thread():
    """Two threads wait for each other where the cores are shared: many times slower on small networks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
