"""experiments/cifar.py: tables from the runs that are there, and what is recorded of them."""

import json
import subprocess
from pathlib import Path

import pytest

from experiments import cifar


def finish(runs: Path, method: str, seed: int, known: float, novel: float) -> None:
    """A run as `novakind compare` leaves it."""
    folder = runs / "fast" / method / str(seed)
    folder.mkdir(parents=True)
    scores = {"known_acc": known, "novel_acc": novel}
    metrics = {f"{name}/test/{how}": value for name, value in scores.items() for how in ("agnostic", "aware")}
    (folder / "cell.json").write_text(json.dumps({"metrics": metrics, "minutes": 20.0 + seed}))
    course = {f"{name}/val/agnostic": value for name, value in scores.items()}
    (folder / "metrics.jsonl").write_text(json.dumps({"seconds": 90.0} | course) + "\n")


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def at_commit(monkeypatch, name: str) -> None:
    answer = subprocess.CompletedProcess([], 0, stdout=f"{name}\n")
    monkeypatch.setattr(cifar.subprocess, "run", lambda *_, **__: answer)


def test_tables_show_what_was_run_and_name_what_was_not(tmp_path, results, monkeypatch):
    at_commit(monkeypatch, "abc")
    finish(tmp_path, "ours", 0, 0.9, 0.8)
    finish(tmp_path, "ours", 1, 0.92, 0.84)
    cifar.write(tmp_path)
    page = (results / "cifar10.md").read_text()
    assert "| ours | 91.0 ± 1.4 | 91.0 ± 1.4 | 82.0 ± 2.8 | 82.0 ± 2.8 | 2 | 20.5 ± 0.7 |" in page
    assert "| the paper, ResNet-50, prototypes (its Table 2) | 90.3 | | 87.2 | | | |" in page
    assert page.count("Not run here: `") == len(cifar.TABLES) - 1
    record = json.loads((results / "cifar10.json").read_text())
    assert record["tables"]["fast"]["runs"]["ours"][1]["course"] == [[1.5, 0.92, 0.84]]


def test_runs_keep_the_commit_that_they_were_made_at(tmp_path, results, monkeypatch):
    def commit() -> str:
        cifar.write(tmp_path)
        return json.loads((results / "cifar10.json").read_text())["tables"]["fast"]["commit"]

    finish(tmp_path, "ours", 0, 0.9, 0.8)
    at_commit(monkeypatch, "abc")
    assert commit() == "abc"
    at_commit(monkeypatch, "def")
    assert commit() == "abc"
    finish(tmp_path, "ours", 1, 0.9, 0.8)
    assert commit() == "def"
    (tmp_path / "fast").rename(tmp_path / "elsewhere")
    assert commit() == "def"  # runs that are gone stay recorded
