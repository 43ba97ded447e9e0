"""predict --watch sorts what arrives, each item once, also after it was stopped."""

import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from small import shapes_folder

from novakind.app.cli import main

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


def rows(file: Path) -> list[str]:
    return [row["path"] for row in csv.DictReader(file.read_text().splitlines())] if file.exists() else []


def wait(running: subprocess.Popen, out: Path, expected: int) -> None:
    while len(rows(out)) < expected:
        assert running.poll() is None
        time.sleep(0.1)


def test_what_arrives_is_sorted_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shapes_folder(tmp_path / "shapes")
    quick = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet", "--out", "run"]
    assert main(["discover", "shapes", *quick]) == 0
    inbox, out = tmp_path / "inbox", tmp_path / "sorted.csv"
    inbox.mkdir()
    shutil.copy("shapes/across/0.png", inbox)
    for arriving, expected in (("shapes/down/1.png", 2), ("shapes/across/4.png", 3)):  # stopped and started in between
        words = [sys.executable, "-m", "novakind", "predict", "run", "inbox", "--watch", "--out", "sorted.csv"]
        with subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            wait(running, out, expected - 1)
            shutil.copy(arriving, inbox)
            wait(running, out, expected)
            running.kill()
    assert sorted(rows(out)) == ["inbox/0.png", "inbox/1.png", "inbox/4.png"]

    capsys.readouterr()
    assert main(["predict", "run", "shapes/across/0.png", "--watch", "--out", "a.csv"]) == 2
    assert "is no folder, and --watch waits for what arrives in one" in capsys.readouterr().err
    assert main(["predict", "run", "inbox", "--watch"]) == 2
    assert "give --out sorted.csv" in capsys.readouterr().err
