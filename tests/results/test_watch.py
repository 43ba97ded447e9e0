"""predict --watch sorts what arrives, each item once, also after it was stopped."""

import csv
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small import shapes_folder

from novakind.app.cli import main
from novakind.errors import UserError
from novakind.results.watch import arrived, earlier

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


HEAD = "path,category,probability\n"


@pytest.mark.parametrize(
    ("left", "kept", "names"),
    [
        ("", HEAD, set()),
        (HEAD[:9], HEAD, set()),
        (HEAD[:-1], HEAD, set()),
        (f"{HEAD}a,x,1\nb,", f"{HEAD}a,x,1\n", {"a"}),
        (f'{HEAD}a,x,1\n"b\nc', f"{HEAD}a,x,1\n", {"a"}),
        (f"{HEAD}\na,x,1\n", f"{HEAD}\na,x,1\n", {"a"}),
    ],
)
def test_what_a_killed_process_left_of_a_line_is_taken_away(tmp_path, left, kept, names):
    out = tmp_path / "sorted.csv"
    out.write_text(left)
    assert earlier(out) == names
    assert out.read_text() == kept


def test_other_tables_stay_as_they_are(tmp_path):
    out = tmp_path / "sorted.csv"
    for content, sentence in (
        ("my notes\n", "is no table of predict"),
        (f'{HEAD}"{"x" * 200_000}",x,1\n', "is no table of predict"),
        (f'{HEAD}"a,x,1\nb,x,1\n', "a quote that nothing closes"),
    ):
        out.write_text(content)
        with pytest.raises(UserError, match=sentence):
            earlier(out)
        assert out.read_text() == content
    out.unlink()
    os.mkfifo(out)
    with pytest.raises(UserError, match=r"cannot be added to \(a pipe, not a file\): give another place"):
        earlier(out)


def test_tables_that_arrive_are_no_lists_and_pipes_are_said(tmp_path):
    shutil.copy(__file__, tmp_path / "a.png")
    (tmp_path / "tasks.json").write_text("{")
    (tmp_path / "metadata.csv").write_text("file_name,label\nother.png,a\n")
    os.mkfifo(tmp_path / "pipe.png")
    found, odd = arrived([tmp_path, tmp_path / "gone"])
    assert {Path(name).name for name in found} == {"a.png", "tasks.json", "metadata.csv"}
    assert any(line.endswith("pipe.png: not a file") for line in odd)
    assert any("gone: a folder that cannot be opened" in line for line in odd)
