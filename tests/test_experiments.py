"""The paper's tables as declared data: complete, run once, resumed, and written from what was measured alone."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from experiments import __main__ as command  # noqa: E402
from experiments import matrix, paper, stamp, write  # noqa: E402
from experiments.cells import Cell, make_cell  # noqa: E402
from experiments.exhibits import Exhibit, Row  # noqa: E402
from experiments.matrix import Matrix, cell_file, record_of, time_left  # noqa: E402
from experiments.remarks import Line, mergers, order  # noqa: E402
from experiments.scales import DATA, SCALES, At, Data  # noqa: E402
from experiments.tables import EXHIBITS, cells_of, tables_of  # noqa: E402
from novakind.encoders import ENCODERS  # noqa: E402
from novakind.errors import UserError  # noqa: E402
from novakind.methods import METHODS  # noqa: E402
from novakind.source import Source  # noqa: E402

NAMES = [
    *(f"table{number}" for number in range(1, 8)),
    *("additions", "actions", "confusion", "tsne", "kl"),
    *(f"case{number}" for number in range(1, 4)),
    *(f"setting{number}" for number in range(1, 9)),
]
UCF16 = "16 classes of UCF101"
ASKED = {  # what a machine with two cores must be able to show
    "CIFAR-10": ("table2", "table4", "table6", "table7", "confusion", "tsne", "kl", "case1", "case2", "case3"),
    "MobiAct": ("table3", "table6", "table7", "case1", "case2", "case3", "setting3", "setting5", "setting8"),
    UCF16: ("table3", "table5", "table6", "table7"),
}
pytestmark = pytest.mark.usefixtures("one_thread")


def places(scale):
    return [(exhibit, data, row, cell) for exhibit in EXHIBITS.values() for data, row, cell in exhibit.places(scale)]


def test_every_table_figure_setting_and_case_is_declared():
    assert list(EXHIBITS) == NAMES
    assert {exhibit.name for exhibit in tables_of(["all"])} == set(NAMES)
    assert [exhibit.name for exhibit in tables_of(["few", "table2"])] == ["table2", "case2"]
    for data, names in ASKED.items():
        for name in names:
            assert any(where == data and cell for where, _, cell in EXHIBITS[name].places("cpu")), (data, name)


@pytest.mark.parametrize("scale", SCALES)
def test_every_place_has_a_cell_or_says_why_not(scale):
    for exhibit, data, row, cell in places(scale):
        assert cell or row.why or scale not in DATA[data].at, (exhibit.name, data, row.name)
    for exhibit in EXHIBITS.values():
        assert all(set(row.on) <= set(exhibit.data) for row in exhibit.rows), exhibit.name
        assert set(exhibit.data) <= set(DATA)
        if scale != "paper" or exhibit.name not in ("additions", "actions"):  # that scale has the paper's choices alone
            assert any(cell for *_, cell in exhibit.places(scale)), exhibit.name


@pytest.mark.parametrize("scale", SCALES)
def test_the_settings_of_every_cell_are_valid(scale):
    cells = cells_of(EXHIBITS.values(), scale)
    assert len({cell_file(Path(), cell) for cell in cells}) == len(cells)
    for cell in cells:
        source, config = cell.settings()
        assert config.method in METHODS
        assert config.encoder in (*ENCODERS, "auto")
        assert config.batch >= 10 * config.novel
        assert source.known


def test_rows_that_ask_the_same_share_a_cell():
    def cell(name, row_name, scale="cpu", data="CIFAR-10", group=""):
        return next(
            cell
            for where, row, cell in EXHIBITS[name].places(scale)
            if where == data and row.name == row_name and group in row.group
        )

    full = cell("table1", "5/5")
    assert cell("table4", "strong") == cell("table7", "all terms", group="our") == cell("kl", "all assumed as it is")
    assert cell("table4", "strong") == full
    assert cell("table4", "6/4") == cell("table1", "6/4")
    assert cell("table2", "Ours (prototype)") == cell("confusion", "Prototype") == cell("table6", "FastNet")
    assert cell("table6", "ResNet50", "paper") == cell("table2", "Ours", "paper")
    assert cell("setting1", "animal/machine") == cell("table4", "animal/machine")
    for number, case in {3: 3, 4: 3, 5: 2, 6: 2, 7: 1, 8: 1}.items():
        setting = EXHIBITS[f"setting{number}"]
        assert setting.shown == f"case{case}"
        assert cells_of([setting], "cpu").keys() <= cells_of([EXHIBITS[f"case{case}"]], "cpu").keys()


def test_the_priors_are_the_papers():
    given = [cell for *_, cell in EXHIBITS["table4"].places("cpu") if cell and "prior" in dict(cell.changes)]
    assert [dict(cell.changes)["prior"] for cell in given] == [
        "1/3,1/6,1/6,1/6,1/6",
        "3/7,1/7,1/7,1/7,1/7",
        "1/2,1/8,1/8,1/8,1/8",
    ]
    assert all(cell.settings()[0].impose == cell.settings()[1].prior for cell in given)
    wrong = [cell for _, row, cell in EXHIBITS["case1"].places("cpu") if cell and "uniform assumed" in row.name]
    assert wrong
    assert all(cell.settings()[0].impose and cell.settings()[1].prior == "uniform" for cell in wrong)


def test_other_data_are_never_called_by_the_papers_names():
    names = {"SHAR": {"shar"}, "MPSC-ARL": {"mpsc-arl"}, "CIFAR-10": {"cifar10"}, "UCF101": {"ucf101"}}
    for title, sets in names.items():
        for scale, at in DATA[title].at.items():
            assert at.source.data in sets or at.title, (title, scale)
    assert DATA["UCF101"].count == 101
    assert DATA[UCF16].count == 16
    smoke = make_cell("smoke", "CIFAR-10", "short", {"data.known": "bird,truck"})
    assert smoke.id.startswith("digits")
    assert smoke.settings()[0].known == "2,9"


def test_numbers_of_the_paper():
    assert paper.find("table2", "CIFAR-10", "Ours (prototype)") == (90.3, 87.2, 0.5, 0.4)
    assert paper.find("table2", "CIFAR-10", "DTC")[:2] == (58.7, 78.6)
    assert paper.find("table3", "SHAR", "Prototype")[:2] == (95.5, 75.01)
    assert paper.find("table3", "UCF101", "Supervised")[:2] == (92.6, 16.4)
    assert paper.find("table4", "CIFAR-10", "machine/animal")[:2] == (85.7, 60.3)
    assert paper.find("table5", "MPSC-ARL", "[1/2, {1/8}^4]")[:2] == (82.4, 62.4)
    assert paper.find("table6", "MPSC-ARL", "P3D")[:2] == (74.2, 61.2)
    assert paper.find("table7", "SHAR", "no L_kl, no L_var")[:2] == (None, 31.8)
    assert paper.find("table7", "CIFAR-10", "no L_H").novel == 25.5
    assert paper.find("kl", "CIFAR-10", "anything") == (None, None, None, None)


def test_every_number_of_the_paper_stands_in_a_table():
    shown = {
        (exhibit.numbers or exhibit.name, exhibit.data[data], row.paper or row.name)
        for exhibit, data, row, _ in places("cpu")
    }
    wanted = {(table, data, row) for table, sets in paper.TABLES.items() for data, rows in sets.items() for row in rows}
    assert wanted <= shown
    assert set(paper.CLAIMS) <= set(EXHIBITS)


def test_a_key_changes_with_settings_and_code():
    cells = [make_cell("cpu", "CIFAR-10", "short", changes) for changes in ({}, {"objective.kl": 0.0}, {"novel": 2})]
    assert len({cell.key("code") for cell in cells}) == 3
    assert cells[0].key("code") != cells[0].key("other code")
    assert make_cell("cpu", "CIFAR-10", "short", {"data.known": "5"}) == cells[0]
    assert make_cell("cpu", "CIFAR-10", "full", {}).key("code") != cells[0].key("code")


def test_code_counts_and_words_do_not(tmp_path):
    file = tmp_path / "module.py"
    texts = ['"""One."""\nx = 1  # a\n', '"""Two."""\n\nx = 1\n', '"""One."""\nx = 2\n']
    first, second, third = (stamp.statements(file) for text in texts if file.write_text(text))
    assert first == second != third
    reached = {file.relative_to(stamp.PACKAGE).as_posix() for file in stamp.reached()}
    assert {"train.py", "methods/ours.py", "losses.py", "modality/series.py", "datasets.py"} <= reached
    assert not {"cli.py", "report/__init__.py", "picture.py"} & reached


# --- running ---------------------------------------------------------------------------------------------------------

ROWS = (
    Row("plain"),
    Row("broken", {"method": "ours", "encoder": "resnet18"}),
    Row("linear", {"head": "linear"}, paper="Ours"),
    Row("three", {"novel": 3}),
)


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    """Four classes of vectors, two hidden, as a data set and an exhibit of the smoke scale."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.repeat(4 * rng.normal(size=(4, 6)), 40, axis=0) + rng.normal(size=(160, 6))
    np.savez("blobs.npz", X=X, y=np.repeat(np.arange(4), 40))
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
    begun, real = [], matrix.run_discover

    def listening(source, config, path, **options):
        begun.append((config.head, config.novel, config.seed))
        return real(source, config, path, **options)

    monkeypatch.setattr(matrix, "run_discover", listening)
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


@pytest.mark.parametrize("scale", command.REPORTS)
def test_results_are_up_to_date(scale):
    """RESULTS.md holds what its JSON files give, byte for byte: else run `python -m experiments --write`."""
    results, report = command.places(scale, None)
    if scale == "paper" and not (results / "cells" / scale).exists():
        assert not report.exists()
        return
    for file, text in write.documents(scale, results, report).items():
        assert file.exists(), f"{file.name} is missing: python -m experiments --scale {scale} --write"
        assert file.read_bytes() == text.encode(), f"{file.name} is old: python -m experiments --scale {scale} --write"


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
