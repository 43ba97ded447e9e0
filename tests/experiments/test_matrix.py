"""A matrix of runs: each once, failures survived, interruptions resumed; the report tells what was measured alone."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from small import blobs_file

from experiments import __main__ as command
from experiments import matrix, paper, write
from experiments.cells import Cell, make_cell
from experiments.exhibits import Exhibit, Row
from experiments.matrix import Matrix, time_left
from experiments.records import cell_file, record_of
from experiments.remarks import Line, mergers, order
from experiments.scales import DATA, At, Data
from experiments.tables import EXHIBITS, cells_of, tables_of
from novakind.data.source import Source
from novakind.errors import UserError

UCF16 = "16 classes of UCF101"
pytestmark = pytest.mark.usefixtures("one_thread")


# --- running ---------------------------------------------------------------------------------------------------------

ROWS = (
    Row("plain"),
    Row("broken", {"method": "ours", "encoder": "resnet18"}),
    Row("linear", {"head": "linear"}, paper="Ours"),
    Row("three", {"novel": 3}),
)


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    """Four classes of vectors, two of them novel, as a data set and an exhibit of the smoke scale."""
    monkeypatch.chdir(tmp_path)
    blobs_file(Path("blobs.npz"))
    at = At(Source("blobs.npz", known="2", test=0.2), "default", {"epochs": 2, "batch": 30})
    monkeypatch.setitem(DATA, "blobs", Data("features", 4, {"smoke": at}))
    exhibit = Exhibit(
        "blobs",
        "Blobs",
        {"blobs": "CIFAR-10"},
        ROWS,
        numbers="table2",
        pictures=("confusion", "merge", "recall", "map", "kl"),
        remarks=("mergers",),
    )
    declared = dict(EXHIBITS)
    EXHIBITS.clear()
    EXHIBITS["blobs"] = exhibit
    yield exhibit
    EXHIBITS.clear()
    EXHIBITS.update(declared)  # in their order


@pytest.fixture
def calls(monkeypatch):
    """The settings of every run that is begun."""
    begun, real = [], matrix.complete

    def listening(source, config, path, **options):
        begun.append((config.head, config.novel, config.seed))
        return real(source, config, path, **options)

    monkeypatch.setattr(matrix, "complete", listening)
    return begun


def make_matrix(**options):
    return Matrix("smoke", Path("results"), Path("runs"), **options)


def test_a_matrix_runs_once_and_survives_a_failure(blobs, calls, monkeypatch):
    cells = cells_of([blobs], "smoke")
    assert make_matrix().run(cells, 2) == 2  # the broken row, with each seed
    assert len(calls) == 8
    record = json.loads(cell_file(Path("results"), next(iter(cells))).read_text())
    assert record["seeds"] == [0, 1]
    assert record["settings"]["epochs"] == 2
    run = record["runs"]["1"]
    assert {"code", "commit", "machine", "minutes", "epochs", "protocol", "metrics", "confusion", "losses"} <= set(run)
    assert run["protocol"]["tested"] == 32
    assert "novel_acc/test/agnostic" in run["metrics"]
    assert "map" in record["runs"]["0"]
    assert len(run["losses"]["kl"]) == run["epochs"] == 2
    assert not list(Path("runs").rglob("state.pt"))

    calls.clear()
    assert make_matrix().run(cells, 2) == 2
    assert calls == [("prototype", 0, 0), ("prototype", 0, 1)]  # what failed is tried again, nothing else

    calls.clear()
    monkeypatch.setattr(matrix, "code_digest", lambda: "changed")
    assert make_matrix(keep_old=True).run(cells, 1) == 1
    assert len(calls) == 1
    assert make_matrix().run(cells, 1) == 1
    assert len(calls) == 1 + 4


def test_other_settings_begin_a_cell_anew(blobs, calls, monkeypatch):
    cell = next(iter(cells_of([blobs], "smoke")))
    make_matrix().run({cell: 99}, 2)
    at = DATA["blobs"].at["smoke"]
    longer = {"smoke": At(at.source, at.preset, at.changes | {"epochs": 3})}
    monkeypatch.setitem(DATA, "blobs", Data("features", 4, longer))
    assert not make_matrix().finished(cell, 0)
    assert record_of(Path("results"), cell) == {}  # so that no table shows it
    make_matrix().run({cell: 99}, 1)
    record = json.loads(cell_file(Path("results"), cell).read_text())
    assert (record["seeds"], record["runs"]["0"]["epochs"]) == ([0], 3)  # seed 1 had other settings
    assert len(calls) == 3


def test_an_interrupted_matrix_goes_on(blobs, calls, monkeypatch):
    cells = {cell: 1 for cell in cells_of([blobs], "smoke") if ("encoder", "resnet18") not in cell.changes}
    real, count = matrix.embedding_map, []

    def stopping(*given, **options):
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(matrix, "embedding_map", stopping)
    with pytest.raises(KeyboardInterrupt):
        make_matrix().run(cells, 3)
    assert [make_matrix().finished(cell, 0) for cell in cells] == [True, False, False]
    calls.clear()
    assert make_matrix().run(cells, 3) == 0
    assert [head for head, _, _ in calls] == ["linear", "prototype"]


def test_data_that_are_not_here_are_left_out(blobs, calls, monkeypatch):
    cell = next(iter(cells_of([blobs], "smoke")))
    at = DATA["blobs"].at["smoke"]
    monkeypatch.setitem(DATA, "blobs", Data("features", 16, {"smoke": at}))
    asked = make_matrix()
    assert asked.run({cell: 1}, 1) == 0
    assert "4 classes are here, 16 are needed" in asked.missing["blobs"]
    Path("blobs.npz").unlink()
    asked = make_matrix()
    assert asked.run({cell: 1}, 1) == 0
    assert asked.missing["blobs"]
    assert not calls
    assert not Path("results").exists()


def test_time_left_is_judged_by_like_runs():
    short, other = (make_cell("cpu", "CIFAR-10", "short", {}), make_cell("cpu", "MobiAct", "short", {}))
    assert time_left([other, other], {"MobiAct; ": [10.0, 30.0]}) == 40
    assert time_left([short], {"MobiAct; ": [10.0]}) == 5 * 60
    assert time_left([], {"x": [1.0]}) == 0


# --- writing ---------------------------------------------------------------------------------------------------------


def test_the_report_is_written_from_the_cells_alone(blobs):
    cells = cells_of([blobs], "smoke")
    report = Path("results/RESULTS.md")
    write.write("smoke", Path("results"), report)
    assert report.read_text().count("not run here") >= 8
    make_matrix().run(dict.fromkeys(list(cells)[:3], 1), 1)
    before = write.documents("smoke", Path("results"), report)
    assert before[report] != report.read_text()  # older than the cells
    write.write("smoke", Path("results"), report)
    text = report.read_text()
    assert write.documents("smoke", Path("results"), report) == {file: file.read_text() for file in before}
    linear = next(line for line in text.splitlines() if line.startswith("| linear"))
    assert "90.2 ± 0.5" in linear
    assert "85.5 ± 0.6" in linear
    assert "failed: " in next(line for line in text.splitlines() if line.startswith("| broken"))
    assert "not run here" in next(line for line in text.splitlines() if line.startswith("| three"))
    assert "32 tested" in text
    assert str(Path.cwd()) not in text
    index = Path("results/cells/smoke/INDEX.md")
    assert "(cells/smoke/INDEX.md)" in text
    lines = {cell: line for cell in cells for line in index.read_text().splitlines() if f"[{cell.id}]" in line}
    assert list(lines) == list(cells)[:3]
    for cell, line in lines.items():
        assert (index.parent / line.split("](")[1].split(")")[0]) == cell_file(Path("results"), cell)
    plain, broken, changed = lines.values()
    assert re.fullmatch(r"\| \S+ \| blobs \| - \| - \| 0 \| [\d.]+ \| [\d.]+ \|", plain)
    assert "| `encoder=resnet18` | failed |  |  |" in broken
    assert "| `head=linear` | 0 |" in changed
    drawn = sorted(Path("results/figures/smoke").glob("*.svg"))
    assert [file.stem.split("-")[-1] for file in drawn] == ["confusion", "kl", "map", "merge", "recall"]
    for file in drawn:
        ElementTree.fromstring(file.read_text())
        assert f"(figures/smoke/{file.name})" in text
    (drawn[0].parent / "old.svg").write_text("<svg/>")
    write.write("smoke", Path("results"), report)
    assert sorted(drawn[0].parent.glob("*.svg")) == drawn


def test_numbers_that_stand_beside_other_data_are_not_shown_twice():
    exhibit, run = EXHIBITS["table3"], {"metrics": {}}

    def line(name: str, novel: float | None, *runs: dict) -> Line:
        return Line(Row(name), paper.Reported(None, novel), list(runs))

    shar, mobiact = [line("Ours", 70.2), line("UNO", 64.2), line("upper bound", None)], [line("Ours", 70.2, run)]
    assert write.stand_in("SHAR", exhibit, {"SHAR": shar, "MobiAct": mobiact}) == ""  # a number would be lost
    mobiact.append(line("UNO", 64.2))
    assert write.stand_in("SHAR", exhibit, {"SHAR": shar, "MobiAct": mobiact}) == "MobiAct"
    assert write.stand_in("SHAR", exhibit, {"SHAR": shar, "16 classes of UCF101": mobiact}) == ""  # beside another set
    assert write.stand_in("SHAR", exhibit, {"SHAR": shar, "MobiAct": [line("Ours", 70.2), *shar]}) == ""  # not run


def confused(counts, known=1):
    classes = ["old", "dog", "horse", "ship"]
    categories = ["old", *(f"new-{number + 1}" for number in range(len(counts[0]) - known))]
    return {"confusion": {"known": known, "classes": classes, "categories": categories, "counts": counts}}


def test_mergers_and_order_are_told():
    few = Line(Row("U = 2 assumed"), paper.Reported(), [confused([[9, 0, 0], [0, 9, 1], [1, 8, 1], [6, 0, 4]])])
    (said,) = mergers([few])
    assert "[dog 90 %, horse 80 %]; [ship 40 %]; taken for known classes: ship 60 %; ACC is 66.7 at most" in said
    lines = [
        Line(Row(name, group="terms"), paper.Reported(None, theirs), [{"metrics": {"novel_acc/test/agnostic": ours}}])
        for name, theirs, ours in (("a", 10.0, 0.1), ("b", 20.0, 0.3), ("c", 30.0, 0.2))
    ]
    (said,) = order(lines)
    assert "a < c < b" in said
    assert "a < b < c" in said
    assert "2 of 3 pairs" in said
    assert order([*lines[:2], lines[2]._replace(runs=[])]) == []
    (said,) = order([*lines[:2], lines[2]._replace(runs=lines[1].runs)])
    assert "a < b = c" in said


def test_commentary_names_exhibits():
    told = write.commentary(write.COMMENTARY.read_text(encoding="utf-8"))
    assert set(told) <= {"summary", *EXHIBITS}
    assert write.commentary("x\n## table1\nIt\nis.\n\n## case2\n\nSo.") == {"table1": "It\nis.", "case2": "So."}


def test_the_command(blobs, capsys):
    assert command.main(["table99"]) == 2
    assert "table99" in capsys.readouterr().err
    assert command.main([]) == 2
    assert command.main(["blobs", "--list"]) == 0
    assert "0 of    4 runs" in capsys.readouterr().out
    assert command.main(["blobs", "--list", "--data", "MobiAct"]) == 0
    assert "0 of    0 runs" in capsys.readouterr().out
    assert command.main(["blobs", "--scale", "smoke", "--out", "results", "--runs", "runs"]) == 1
    assert Path("results/RESULTS.md").exists()
    with pytest.raises(UserError):
        tables_of(["nothing"])
    assert isinstance(next(iter(cells_of([blobs], "smoke"))), Cell)
