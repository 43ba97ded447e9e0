"""The paper's tables as declared data: complete, valid, and under their own names."""

import re
from pathlib import Path

import pytest

from experiments import paper, stamp
from experiments.cells import make_cell
from experiments.records import cell_file
from experiments.scales import DATA, SCALES
from experiments.tables import EXHIBITS, cells_of, tables_of
from novakind.encoders import ENCODERS
from novakind.methods import METHODS

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
    assert all(re.fullmatch("[0-9a-f]{8}", cell.id) for cell in cells)
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
    assert smoke.question.startswith("digits")
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
    assert {"training/loop.py", "methods/ours.py", "objective/losses.py", "datasets/images.py"} <= reached
    assert not {"app/cli.py", "results/report/__init__.py", "compare/bars.py"} & reached
