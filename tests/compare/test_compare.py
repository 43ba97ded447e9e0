"""Several methods on the same data: what is finished stays, interruptions do no harm, failures are named."""

from pathlib import Path

import numpy as np
import pytest
from comparisons import COMMAND, DATA, OUT, cell, markdown, table
from PIL import Image as Pillow

from novakind.app.cli import VERBS, main
from novakind.app.help import COMPARE_HELP
from novakind.app.options import read_words
from novakind.compare import plan as compare
from novakind.methods import METHODS
from novakind.methods.supervised import Supervised
from novakind.progress import Reporter

pytestmark = pytest.mark.usefixtures("blobs")


class Broken(Supervised):
    def loss(self, model, batch):
        raise RuntimeError("no such\nluck")


class Greedy(Supervised):
    def __init__(self, config, prior):
        raise MemoryError


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
    real, count = compare.remove, 0

    def dying(path):
        nonlocal count
        count += path.parent == OUT / "kmeans" / "0" and not path.name.startswith(".")
        if count > unlinked:
            raise KeyboardInterrupt
        real(path)

    with monkeypatch.context() as patch:
        patch.setattr(compare, "remove", dying)
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
