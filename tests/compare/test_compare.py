"""Several methods on the same data: what is finished stays, failures are named, the table says what was measured."""

import csv
import io
import json
import statistics
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image as Pillow

from novakind.app.cli import VERBS, main
from novakind.app.help import COMPARE_HELP
from novakind.app.options import read_words
from novakind.compare import plan as compare
from novakind.compare.bars import Row, draw
from novakind.compare.board import Cell, Scoreboard
from novakind.methods import METHODS
from novakind.methods.supervised import Supervised
from novakind.progress import Reporter

DATA = ["compare", "blobs.npz", "--known", "2", "--test", "0.2", "--batch", "20"]
COMMAND = [*DATA, "--methods", "ours,supervised", "--seeds", "2", "--epochs", "2"]
OUT = Path("runs/compare-blobs")
CELLS = [("ours", 0), ("ours", 1), ("supervised", 0), ("supervised", 1)]


class Broken(Supervised):
    def loss(self, model, batch):
        raise RuntimeError("no such\nluck")


class Greedy(Supervised):
    def __init__(self, config, prior):
        raise MemoryError


@pytest.fixture(autouse=True)
def blobs(tmp_path, monkeypatch):
    """Four classes of vectors, all labeled, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.repeat(4 * rng.normal(size=(4, 6)), 40, axis=0) + rng.normal(size=(160, 6))
    np.savez("blobs.npz", X=X, y=np.repeat(np.arange(4), 40))


@pytest.fixture
def calls(monkeypatch):
    """The (method, seed) of every run that is begun from now on."""
    begun, real = [], compare.complete

    def listening(source, config, path, **options):
        begun.append((config.method, config.seed))
        return real(source, config, path, **options)

    monkeypatch.setattr(compare, "complete", listening)
    return begun


def cell(method, seed, out=OUT):
    return json.loads((out / method / str(seed) / "cell.json").read_text())


def markdown(out=OUT):
    """The cells of the Markdown table by method and column."""
    lines = [line for line in (out / "compare.md").read_text().splitlines() if line.startswith("|")]
    header, _, *rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def table(out=OUT):
    return list(csv.DictReader(io.StringIO((out / "compare.csv").read_text())))


def test_one_table_of_all_methods_and_seeds(capsys):
    assert main(COMMAND) == 0
    printed = capsys.readouterr()
    rows = markdown()
    assert list(rows) == ["ours", "supervised"]
    for column, key in (
        ("known accuracy", "known_acc/test/agnostic"),
        ("novel ACC, task-aware", "novel_acc/test/aware"),
        ("novel ACC, task-agnostic", "novel_acc/test/agnostic"),
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
    for fact in ("Data: blobs", "split: random", "2 epochs", "encoder: mlp", "batch: 20", "the test part"):
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
    assert {len(line.attrib["points"].split()) for line in lines} == {2}  # epochs
    assert main([*COMMAND, "--val", "0", "--quiet"]) == 0  # there are no validation items, so there is nothing to draw
    assert not (OUT / "curves.svg").exists()


def test_what_is_finished_is_not_run_again(monkeypatch, capsys):
    assert main(COMMAND) == 0
    first = (OUT / "compare.md").read_bytes()
    monkeypatch.setattr(compare, "complete", None)
    assert main(COMMAND) == 0
    assert (OUT / "compare.md").read_bytes() == first
    assert "0 of them to do" in capsys.readouterr().err


def test_more_seeds_and_methods_run_only_what_is_missing(calls):
    assert main(COMMAND) == 0
    calls.clear()
    assert main([*DATA, "--methods", "ours,kmeans", "--seeds", "3", "--epochs", "2"]) == 0
    assert calls == [("kmeans", 0), ("kmeans", 1), ("ours", 2), ("kmeans", 2)]
    assert list(markdown()) == ["ours", "kmeans"]


def test_an_interruption_between_runs(calls, monkeypatch, capsys):
    listening = compare.complete

    def stopping(*arguments, **options):
        if calls:
            raise KeyboardInterrupt
        return listening(*arguments, **options)

    monkeypatch.setattr(compare, "complete", stopping)
    assert main(COMMAND) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert [row["method"] for row in table()] == ["ours"]
    assert "3 of 4 runs are still to do" in (OUT / "compare.md").read_text()
    monkeypatch.setattr(compare, "complete", listening)
    assert main(COMMAND) == 0
    assert calls == [("ours", 0), ("supervised", 0), ("ours", 1), ("supervised", 1)]
    assert len(table()) == 4


def test_an_interruption_within_a_run(monkeypatch):
    def stop(self, line, total):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Reporter, "epoch", stop)
        assert main(COMMAND) == 130
    log = OUT / "ours" / "0" / "metrics.jsonl"
    first = log.read_bytes()
    assert first.count(b"\n") == 1
    assert main(COMMAND) == 0
    assert log.read_bytes().startswith(first)
    assert log.read_bytes().count(b"\n") == 2


def test_another_question_starts_again(calls):
    assert main(COMMAND) == 0
    calls.clear()
    assert main([*COMMAND, "--epochs", "3"]) == 0
    assert len(calls) == 4
    assert cell("ours", 0)["asked"]["epochs"] == 3
    assert (OUT / "ours" / "0" / "metrics.jsonl").read_text().count("\n") == 3


def test_other_data_are_another_question_and_another_place_is_not(calls):
    assert main(COMMAND) == 0
    calls.clear()
    Path("elsewhere").mkdir()
    Path("blobs.npz").rename("elsewhere/blobs.npz")
    moved = ["compare", "elsewhere/blobs.npz", *COMMAND[2:]]
    assert main(moved) == 0
    assert calls == []
    arrays = np.load("elsewhere/blobs.npz")
    np.savez("elsewhere/blobs.npz", X=arrays["X"] + 1, y=arrays["y"])
    assert main(moved) == 0
    assert len(calls) == 4


@pytest.mark.parametrize("unlinked", [0, 1, 6, 9])
def test_a_kill_while_an_old_run_is_cleared_does_no_harm(monkeypatch, unlinked):
    one = [*DATA, "--methods", "kmeans", "--seeds", "1", "--quiet"]
    assert main(one) == 0
    real, count = Path.unlink, 0

    def dying(path, missing_ok=False):
        nonlocal count
        count += path.parent == OUT / "kmeans" / "0" and not path.name.startswith(".")
        if count > unlinked:
            raise KeyboardInterrupt
        real(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", dying)
        assert main([*one, "--dim", "4"]) == 130
    assert main([*one, "--dim", "4"]) == 0
    assert cell("kmeans", 0)["asked"]["dim"] == 4


def test_one_that_fails_does_not_stop_the_others(monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "broken", Broken)
    monkeypatch.setitem(METHODS, "greedy", Greedy)
    command = [*DATA, "--methods", "broken,greedy,supervised", "--seeds", "2", "--epochs", "2"]
    assert main(command) == 1
    printed = capsys.readouterr()
    assert "novakind: 4 of 6 runs failed, the first broken, seed 0: RuntimeError: no such luck\n" in printed.err
    assert "Traceback" not in printed.err
    assert "Failed: greedy, seed 1: MemoryError" in printed.out
    rows = markdown()
    assert rows["broken (seeds 0, 1 failed)"]["NMI"] == "-"
    assert rows["supervised"]["n"] == "2"
    assert [row["failed"] for row in table()][:2] == ["RuntimeError: no such luck"] * 2
    monkeypatch.setitem(METHODS, "broken", Supervised)
    monkeypatch.setitem(METHODS, "greedy", Supervised)
    assert main(command) == 0
    assert {row["n"] for row in markdown().values()} == {"2"}


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


def test_all_methods_by_one_word():
    assert set(compare.parse_methods(" all")) == {*METHODS, "ours-linear"}


def test_files_are_decoded_once_for_all_runs():
    rng = np.random.default_rng(0)
    for number in range(40):
        for name in ("dark", "grey", "light"):
            file = Path("photos") / name / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            tone = {"dark": 20, "grey": 120, "light": 220}[name]
            Pillow.fromarray((tone + rng.integers(0, 20, (8, 8, 3))).astype(np.uint8)).save(file)
    assert main(["compare", "photos", "--known", "2", "--methods", "kmeans", "--seeds", "2"]) == 0
    assert [path.parent for path in Path("runs").rglob("store")] == [Path("runs/compare-photos")]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--methods", "ours,magic"], 'unknown method "magic": choose from all, ours, supervised, '),
        (["--methods", ""], "an empty name"),
        (["--methods", "ours,,uno"], "an empty name"),
        (["--methods", "ours,uno, ours"], '"ours" twice'),
        (["--seeds", "0"], "--seeds 0 is out of range"),
        (["--method", "uno"], "give --methods uno"),
        (["--seed", "1"], "give --seeds 3"),
        (["--known", ""], "--known 5, or give the true classes with --truth"),
        (["--known", "9"], "--known 9 must name from 1 to 3"),
        (["--novel", "30"], "--batch 20 is below 10 x 30"),
        (["--batch", "10"], "--batch 10 is below 10 x 2"),
        (["--out", "mine"], "mine holds other files than a comparison"),
        (["--out", "blobs.npz"], "blobs.npz cannot be written"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_comparisons_that_cannot_be(monkeypatch, capsys, words, sentence):
    monkeypatch.setattr(compare, "complete", None)
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    assert main([*COMMAND, *words]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert sentence in lines[0]


def test_a_truth_without_novel_classes_is_refused(capsys):
    np.savez("half.npz", X=np.load("blobs.npz")["X"], y=np.repeat([0, 1, -1, -1], 40))
    Path("truth.csv").write_text("path,label\n" + "".join(f"{row},0\n" for row in range(160)))
    words = ["compare", "half.npz", "--novel", "2", "--batch", "20", "--truth", "truth.csv"]
    assert main(words) == 2
    assert "has no item of a novel class" in capsys.readouterr().err
    Path("truth.csv").write_text("path,label\n" + "".join(f"{row},{row // 40}\n" for row in range(160)))
    assert main([*words, "--methods", "kmeans", "--seeds", "1"]) == 0


def test_every_option_in_the_short_help_exists():
    words = dict.fromkeys(word for word in COMPARE_HELP.split() if word.startswith("--") and word != "--help-all")
    values = {"--truth": "t.csv", "--methods": "ours,uno", "--preset": "glyphs", "--out": "x", "--test": "0.2"}
    line = [part for word in words for part in (word, values.get(word, "5"))]
    given = read_words(["data", *line], VERBS["compare"].known())
    assert (given.options["seeds"], given.options["methods"]) == ("5", "ours,uno")
    assert given.typed == ("data", *line)


def test_names_and_scores_of_any_kind_can_be_drawn():
    rows = [
        Row("a<b>&\x00\udc80", {}, {0: 0.0, 1: 1.0}, "-", "50.0 ± 70.7"),
        Row("c", {0: 1.0}, {0: 0.5}, "1", "2", "x"),
    ]
    root = ElementTree.fromstring(draw('"quoted" & \ud800 ' + 200 * "long ", "", rows).encode())
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 4


def test_equal_means_are_equally_best_and_gaps_are_left_out():
    board = Scoreboard([Cell(name, 0) for name in ("a", "b", "c")], "data", "test", "terms", "command")
    assert [row[1:] for row in board.table()[1:]] == [["0", *"------"]] * 3
    for name, score in (("a", 0.80001), ("b", 0.80004), ("c", float("nan"))):
        board.finished[Cell(name, 0)] = {"metrics": {"novel_acc/test/agnostic": score}, "minutes": 1.0, "warnings": []}
    assert [row[4] for row in board.table("**")] == ["novel ACC, task-agnostic", "**80.0**", "**80.0**", "-"]
    assert [row.name for row in board.picture_rows()] == ["a", "b"]
