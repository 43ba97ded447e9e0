"""Results are written in the place of files alone: a pipe or a device that is asked for stays."""

import os
from pathlib import Path

import pytest
from small import shapes_folder

from novakind.app.cli import main


@pytest.mark.parametrize("verb", [["export", "run", "--to", "csv"], ["predict", "run", "shapes"]])
def test_a_pipe_stays_a_pipe(tmp_path, monkeypatch, capsys, verb):
    monkeypatch.chdir(tmp_path)
    shapes_folder(tmp_path / "shapes")
    quick = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet", "--out", "run"]
    assert main(["discover", "shapes", *quick]) == 0
    os.mkfifo("pipe")
    Path("link").symlink_to("/dev/null")
    for place in ("pipe", "link"):
        capsys.readouterr()
        assert main([*verb, "--out", place]) == 2
        assert f"{place} is no file, and cannot be written: remove it, or give another" in capsys.readouterr().err
    assert Path("pipe").is_fifo()
    assert Path("/dev/null").is_char_device()
