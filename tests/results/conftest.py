"""One browser for the tests of a file."""

import pytest
from browsing import chromium


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found
