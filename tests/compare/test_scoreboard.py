"""What a comparison shows: one table, one line per run, pictures; what was measured, and how long."""

import statistics
from pathlib import Path
from xml.etree import ElementTree

import pytest
from comparisons import CELLS, COMMAND, DATA, OUT, cell, markdown, table

from novakind.app.cli import main
from novakind.compare.bars import Row, draw
from novakind.compare.board import Cell, Scoreboard

pytestmark = pytest.mark.usefixtures("blobs")


def test_one_table_of_all_methods_and_seeds(capsys):
    assert main(COMMAND) == 0
    printed = capsys.readouterr()
    rows = markdown()
    assert list(rows) == ["ours", "supervised"]
    for column, key in (
        ("known accuracy", "known_acc/test/agnostic"),
        ("known, task-aware", "known_acc/test/aware"),
        ("novel ACC, task-aware", "novel_acc/test/aware"),
        ("novel ACC, task-agnostic", "novel_acc/test/agnostic"),
        ("novel ACC, joint", "novel_acc/test/joint"),
        ("NMI", "novel_nmi/test/agnostic"),
        ("ARI", "novel_ari/test/agnostic"),
    ):
        values = {m: [100 * cell(m, seed)["metrics"][key] for seed in (0, 1)] for m in rows}
        means = {method: round(statistics.mean(found), 1) for method, found in values.items()}
        for method, found in values.items():
            bold = "**" if means[method] == max(means.values()) else ""
            assert rows[method][column] == f"{bold}{statistics.mean(found):.1f} ± {statistics.stdev(found):.1f}{bold}"
            assert f"{statistics.mean(found):.1f} ± {statistics.stdev(found):.1f}" in printed.out
    text = (OUT / "compare.md").read_text()
    for fact in (
        "Data: blobs",
        "split: random",
        "equal work: ",
        "as 2 epochs of ours",
        "encoder: flat",
        "batch: 20",
        "the test part",
    ):
        assert fact in text
    assert "`novakind compare blobs.npz --known 2 --test 0.2 --batch 20 --methods ours,supervised" in text
    assert "**" not in printed.out
    assert "run 4 of 4: supervised, seed 1" in printed.err
    assert "left" in printed.err


def test_every_run_is_a_line_and_a_run_folder():
    assert main(COMMAND) == 0
    rows = table()
    assert [(row["method"], int(row["seed"])) for row in rows] == CELLS
    for row in rows:
        answer = cell(row["method"], row["seed"])
        assert {key: float(row[key]) for key in answer["metrics"]} == answer["metrics"]
        assert float(row["minutes"]) == answer["minutes"]
        assert (answer["asked"]["method"], answer["asked"]["seed"]) == (row["method"], int(row["seed"]))
        assert answer["asked"]["data"]["known"] == "2"
        folder = OUT / row["method"] / row["seed"]
        assert (folder / "model.safetensors").exists()
        assert not (folder / "report.html").exists()


def test_the_picture_has_two_dots_per_run():
    assert main([*COMMAND, "--quiet"]) == 0
    circles = ElementTree.parse(OUT / "compare.svg").iter("{http://www.w3.org/2000/svg}circle")
    assert len(list(circles)) == 2 * len(CELLS)


def test_curves_have_one_line_per_run_and_one_for_the_mean():
    assert main([*COMMAND, "--val", "0.2", "--quiet"]) == 0
    lines = list(ElementTree.parse(OUT / "curves.svg").iter("{http://www.w3.org/2000/svg}polyline"))
    methods = {method for method, _ in CELLS}
    assert len(lines) == 2 * (len(CELLS) + len(methods))
    epochs = {len(line.attrib["points"].split()) for line in lines}
    assert min(epochs) == 2  # of ours; supervised has as many as the same work allows
    assert len(epochs) == 2
    assert main([*COMMAND, "--val", "0", "--quiet"]) == 0  # there are no validation items, so there is nothing to draw
    assert not (OUT / "curves.svg").exists()


def test_a_time_to_keep_in_place_of_epochs():
    assert main([*DATA, "--methods", "supervised", "--seeds", "1", "--minutes", "0.02"]) == 0
    text = (OUT / "compare.md").read_text()
    assert "0.02 minutes each" in text
    assert "±" not in "".join(markdown()["supervised"].values())


def test_variants_and_the_upper_bound():
    words = ["--methods", "oracle,ours-linear", "--seeds", "1", "--epochs", "1", "--out", "here"]
    assert main([*DATA, *words]) == 0
    out = Path("here")
    assert cell("ours-linear", 0, out)["asked"]["head"] == "linear"
    assert cell("oracle", 0, out)["asked"]["head"] == "prototype"
    assert list(markdown(out)) == ["ours-linear", "oracle"]
    assert "**" not in "".join(markdown(out)["oracle"].values())
    assert "upper bound" in (out / "compare.svg").read_text()


def test_without_a_test_part_the_items_trained_on_are_scored():
    words = ["compare", "blobs.npz", "--known", "2", "--batch", "20", "--methods", "kmeans", "--seeds", "1"]
    assert main(words) == 0
    score = 100 * cell("kmeans", 0)["metrics"]["novel_acc/train/agnostic"]
    assert markdown()["kmeans"]["novel ACC, task-agnostic"] == f"**{score:.1f}**"
    assert "the train part" in (OUT / "compare.md").read_text()


def test_names_and_scores_of_any_kind_can_be_drawn():
    rows = [
        Row("a<b>&\x00\udc80", {}, {0: 0.0, 1: 1.0}, "-", "50.0 ± 70.7"),
        Row("c", {0: 1.0}, {0: 0.5}, "1", "2", "x"),
    ]
    root = ElementTree.fromstring(draw('"quoted" & \ud800 ' + 200 * "long ", "", rows).encode())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 4


def test_equal_means_are_equally_best_and_gaps_are_left_out():
    board = Scoreboard([Cell(name, 0) for name in ("a", "b", "c")], "data", "test", "terms", "command")
    assert [row[1:] for row in board.table()[1:]] == [["0", *"--------"]] * 3
    for name, score in (("a", 0.80001), ("b", 0.80004), ("c", float("nan"))):
        board.finished[Cell(name, 0)] = {"metrics": {"novel_acc/test/agnostic": score}, "minutes": 1.0, "warnings": []}
    assert [row[5] for row in board.table("**")] == ["novel ACC, task-agnostic", "**80.0**", "**80.0**", "-"]
    assert [row.name for row in board.picture_rows()] == ["a", "b"]
