"""A new kind of data is one file: with it discover, predict, report and export work as with any other."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from beads import Beads

import novakind
from novakind import modality
from novakind.app.cli import main

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def strings(tmp_path, monkeypatch) -> Path:
    """Four kinds of strings, two of them known, and one file that is none."""
    monkeypatch.setitem(modality.KINDS, Beads.kind, Beads)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(4, 12))
    for number in range(240):
        kind = number % 4
        folder = tmp_path / "strings" / (("red", "blue")[kind] if kind < 2 else "unlabeled")
        folder.mkdir(parents=True, exist_ok=True)
        np.savetxt(folder / f"{kind}-{number}.beads", centres[kind] + 0.3 * rng.normal(size=12))
    (tmp_path / "strings" / "unlabeled" / "torn.beads").write_text("1 2 three")
    return tmp_path / "strings"


def test_a_kind_in_one_file_goes_through_every_verb(strings, capsys):
    assert main(["discover", "strings", "--novel", "2", "--epochs", "40", "--beads", "10", "--views.noise", "0.3"]) == 0
    run = Path("runs/strings")
    assert 'kind = "beads"' in (run / "config.toml").read_text()
    assert "torn.beads" in (run / "skipped.csv").read_text()
    with (run / "predictions.csv").open() as file:
        found = {(row["path"].split("/")[1][0], row["category"]) for row in csv.DictReader(file)}
    assert len(found) == 4  # each kind in one category of its own
    assert main(["predict", str(run), "strings/red", "--out", "new.csv"]) == 0
    with Path("new.csv").open() as file:
        assert {row["category"] for row in csv.DictReader(file)} == {"red"}
    page = (run / "report.html").read_bytes()
    assert main(["report", str(run)]) == 0
    assert (run / "report.html").read_bytes() == page
    assert main(["export", str(run), "--out", "sorted"]) == 0
    assert len(list(Path("sorted").rglob("*.beads"))) == 120
    assert main(["export", str(run), "--out", "again.csv"]) == 0
    assert main(["discover", "again.csv", "--novel", "2", "--epochs", "1", "--beads", "10"]) == 0
    capsys.readouterr()
    assert main(["discover", "--help-all"]) == 0
    assert "For strings of beads; presets: beads, default" in capsys.readouterr().out


def test_its_options_are_its_own(strings, capsys):
    assert main(["discover", "strings", "--novel", "2", "--size", "32"]) == 2
    assert "--size 32 is for pictures and videos, and strings holds strings of beads" in capsys.readouterr().err
    assert main(["discover", "strings", "--novel", "2", "--beads", "5000"]) == 2
    assert "--beads 5000 is out of range, it must be from 0 to 1,000" in capsys.readouterr().err


def test_nothing_else_asks_which_kind_it_has():
    """No ladder of kinds outside of the kinds themselves, and only data sets of a kind import it."""
    root = Path(novakind.__file__).parent
    names = "|".join(modality.KINDS)
    asks = rf"modality\.kind\b|isinstance\([a-z_.]*modality, |(==|in \() ?.?[\"']({names})[\"']"
    imports = rf"from novakind\.modality\.({names}) import"
    found = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if file.parent.name != "modality" and re.search(f"{asks}|{imports}", file.read_text(encoding="utf-8"))
    }
    assert found == {
        *(f"datasets/{name}.py" for name in ("__init__", "clothing", "images", "sensors", "texts", "videos")),
        "app/demo.py",
    }
