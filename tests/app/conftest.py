"""A folder of pictures to try commands on."""

from pathlib import Path

import pytest
from commands import picture


@pytest.fixture
def photos(tmp_path, monkeypatch) -> Path:
    """Two known classes and forty unlabeled pictures, in the current folder."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "photos"
    for number in range(20):
        picture(root / "dark" / f"{number}.png", 20, number)
        picture(root / "light" / f"{number}.png", 230, number)
        picture(root / "unlabeled" / f"a{number}.png", 90, number)
        picture(root / "unlabeled" / f"b{number}.png", 160, number)
    return root
