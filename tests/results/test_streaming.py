"""predict in pieces: killed it goes on, several processes read and sort, and the table is the same."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small import shapes_folder

from novakind.app.cli import main
from novakind.data import readers
from novakind.results import predict
from novakind.results.growing import Growing

pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = ["--novel", "2", "--epochs", "1", "--batch", "20", "--quiet"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run, 320 files and one that is no picture."""
    folder = tmp_path_factory.mktemp("streaming")
    shapes_folder(folder / "shapes")
    assert main(["discover", str(folder / "shapes"), "--out", str(folder / "run"), *WORDS]) == 0
    for copy in "ab":
        shutil.copytree(folder / "shapes", folder / "inbox" / copy)
    (folder / "inbox" / "b" / "torn.png").write_bytes(b"nothing")
    return folder


@pytest.fixture(scope="module")
def whole(folder):
    place = os.getcwd()
    os.chdir(folder)
    try:
        assert main(["predict", "run", "inbox", "--out", "whole.csv"]) == 0
    finally:
        os.chdir(place)
    return (folder / "whole.csv").read_bytes()


def test_the_table_is_whole_and_nothing_else_is_left(folder, whole):
    rows = list(csv.DictReader(whole.decode().splitlines()))
    assert len(rows) == len({row["path"] for row in rows}) == 320
    assert [row["path"] for row in rows] == sorted(row["path"] for row in rows)
    assert not list(folder.glob(".whole*"))


def test_interrupted_it_goes_on_where_it_was(folder, whole, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    read, real = [], predict.read_piece

    def interrupted(reads, piece):
        read.append(piece)
        if len(read) == 3:
            raise KeyboardInterrupt
        return real(reads, piece)

    monkeypatch.setattr(predict, "read_piece", interrupted)
    assert main(["predict", "run", "inbox", "--out", "again.csv"]) == 130
    assert not Path("again.csv").exists()
    with Path(".again.csv.0.rows").open("ab") as torn:
        torn.write(b"half a li")
    assert main(["predict", "run", "inbox", "--out", "again.csv"]) == 0
    assert "320 items sorted, 1 skipped" in capsys.readouterr().out
    assert Path("again.csv").read_bytes() == whole
    assert len(read) == 3 + 6 - 2  # of six pieces two were done


def test_other_work_does_not_go_on_with_what_was_left(tmp_path):
    share = Growing(tmp_path / "a.csv", ["one"])
    share.add([["x", "cat", "1"]], 0)
    assert not Growing(tmp_path / "a.csv", ["one"]).wants(0)
    assert Growing(tmp_path / "a.csv", ["two"]).wants(0)


def test_several_processes_read(folder, whole, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(readers, "ALONE", 0.0)
    assert main(["predict", "run", "inbox", "--out", "readers.csv", "--readers", "2"]) == 0
    assert Path("readers.csv").read_bytes() == whole


def test_parquet_says_the_same(folder, whole, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(folder)
    assert main(["predict", "run", "inbox", "--out", "whole.parquet"]) == 0
    table = parquet.read_table("whole.parquet").to_pylist()
    rows = list(csv.DictReader(whole.decode().splitlines()))
    assert [{**row, "probability": f"{row['probability']:.6f}"} for row in table] == rows


def test_names_that_are_no_utf8_stand_in_parquet_too(folder, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(folder)
    os.makedirs("odd", exist_ok=True)
    shapes_folder(Path("plain"))
    shutil.copy(next(Path("plain").rglob("*.png")), os.fsdecode(b"odd/\xff.png"))
    assert main(["predict", "run", "odd", "--out", "odd.parquet"]) == 0
    assert parquet.read_table("odd.parquet")["path"].to_pylist() == ["odd/\ufffd.png"]


def test_under_torchrun_each_process_sorts_its_share_and_all_are_joined(folder, whole):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    words = ["novakind", "predict", "run", "inbox", "--out", "joined.csv"]
    done = subprocess.run([*torchrun, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "320 items sorted, 1 skipped" in done.stdout
    assert (folder / "joined.csv").read_bytes() == whole


def test_killed_it_goes_on(folder, whole):
    words = [sys.executable, "-m", "novakind", "predict", "run", "inbox", "--out", "killed.csv"]
    running = subprocess.Popen(words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    index = folder / ".killed.csv.0.index"
    while running.poll() is None and not (index.exists() and index.read_text().count("\n") > 1):
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    again = subprocess.run(words, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert (folder / "killed.csv").read_bytes() == whole
