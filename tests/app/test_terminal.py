"""Terminals that cannot show a name, outputs that are full, paths that no disk takes: never a traceback."""

import errno
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import QUICK, picture, refused

from novakind.app.cli import main
from novakind.training import loop

TWO = ["--novel", "2", *QUICK]
COMPARED = ["--truth", "truth.csv", "--methods", "kmeans", "--seeds", "1", *TWO]


def kinds(root: Path, names: tuple[str, str]) -> Path:
    for number in range(60):
        name = (*names, "unlabeled", "unlabeled")[number % 4]
        picture(root / name / f"{number}.png", 20 + 60 * (number % 4), number)
    return root


def unlabeled(place: str) -> list[Path]:
    return sorted(Path(place, "unlabeled").iterdir())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_is_not_utf_8_shows_what_it_can(tmp_path, monkeypatch, encoding):
    """After a training nothing may fail that only prints."""
    monkeypatch.chdir(tmp_path)
    place = os.fsdecode(b"ph\xffotos") + " 🦊"
    kinds(Path(place), ("fox 🦊", os.fsdecode(b"caf\xe9")))
    rows = [
        f"{file.relative_to(place)},{'one' if number % 2 else 'two'}" for number, file in enumerate(unlabeled(place))
    ]
    Path("truth.csv").write_text("\n".join(["path,label", *rows]))
    written = io.BytesIO()
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(written, encoding=encoding, write_through=True))
    for words in (
        ["discover", place, *TWO[:-1], "--out", place + "-run"],
        ["report", place + "-run"],
        ["export", place + "-run", "--out", place + ".csv"],
        ["predict", place + "-run", place],
        ["compare", place, *COMPARED, "--out", place + "-compared"],
    ):
        assert main(words) == 0, written.getvalue()[-300:]
    assert b"Traceback" not in written.getvalue()


def test_names_that_are_read_as_ascii_are_refused_before_anything_is_done(tmp_path):
    words = (sys.executable, "-m", "novakind", "discover", "photos")
    ascii = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    done = subprocess.run(words, env=os.environ | ascii, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "PYTHONUTF8=1" in done.stderr


class Full(io.StringIO):
    """What is written to it stays in its buffer, until it has to go."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_output_that_is_full_is_one_sentence(photos, monkeypatch, capsys):
    assert main(["discover", "photos", *TWO]) == 0
    capsys.readouterr()
    monkeypatch.setattr("novakind.app.terminal.silence", lambda: None)
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["report", "runs/photos"]) == 2
    assert "the output cannot be used (No space left on device): free some space" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--split-seed", "-1"],
        ["--minutes", "inf"],
        ["--minutes", "nan"],
        ["--dim", "99999999999"],
        ["--novel", "99999999999"],
        ["--heads", "100000"],
        ["--out", ""],
        ["--out", "x" * 5000],
        ["--out", "x/" * 2500],
        ["--truth", "x" * 5000],
        ["--encoder-weights", "x" * 5000],
        ["--optim.weight-decay", "nan"],
        ["--epochs", "99999999999"],
        ["--megapixels", "0"],
    ],
    ids=lambda words: f"{words[0]} {words[1][:12]}",
)
def test_options_out_of_all_ranges(photos, capsys, words):
    assert len(refused(capsys, "discover", "photos", *TWO, *words)) < 7000
    refused(capsys, "discover", "x" * 5000, *TWO)


def test_a_rate_that_is_no_number(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "unlabeled"):
        Path("walks", name).mkdir(parents=True)
        Path("walks", name, "1.csv").write_text("x,y\n" + "1,2\n" * 50)
    assert "--rate nan is out of range" in refused(capsys, "discover", "walks", *TWO, "--rate", "nan")


def test_a_model_that_the_last_step_has_spoilt_is_no_result(photos, monkeypatch, capsys):
    """The sums of the losses were still numbers; nothing is written that says nan."""
    step = loop.take_step

    def spoil(loss, optimizer, batch):
        terms = step(loss, optimizer, batch)
        for group in optimizer.param_groups:
            for weight in group["params"]:
                weight.data.fill_(np.nan)
        return dict.fromkeys(terms, 1.0)

    monkeypatch.setattr(loop, "take_step", spoil)
    assert "no longer numbers" in refused(capsys, "discover", "photos", *TWO, "--epochs", "1")
    assert not Path("runs/photos/predictions.csv").exists()
    assert not Path("runs/photos/state.pt").exists()


@pytest.mark.parametrize("line", ["compare --help-all | true", "--version >&-", "export nothing >&-"])
def test_an_output_that_nobody_reads_or_that_was_closed_is_no_traceback(tmp_path, line):
    command = f"{shlex.quote(sys.executable)} -m novakind {line}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr.count("\n") == line.startswith("export")
