"""Another cut of the merge tree without training again: of clusters that were counted, and of outputs that merged."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import novakind
from novakind import Discovery
from novakind.app.cli import main
from novakind.app.discover import assemble
from novakind.errors import UserError
from novakind.runs.complete import complete
from novakind.runs.recut import Joint, tree_of


def found_in(path: Path, **options) -> Path:
    """Two known classes of vectors, and three novel ones of 160, 30 and 30 items; a run on them."""
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(5), (60, 60, 160, 30, 30))
    rows = 2.5 * rng.normal(size=(5, 12))[truth] + rng.normal(size=(340, 12))
    np.savez(path / "rows.npz", X=rows.astype(np.float32), y=np.where(truth < 2, truth, -1))
    source, config = assemble(str(path / "rows.npz"), "auto", options)
    complete(source, config, path / "run", quiet=True)
    return path / "run"


@pytest.fixture(scope="module")
def counted(tmp_path_factory) -> Path:
    return found_in(tmp_path_factory.mktemp("counted"), epochs=15)


@pytest.fixture(scope="module")
def merged(tmp_path_factory) -> Path:
    options = {"novel": 3, "prior": "auto", "start": "random", "epochs": 40, "batch": 64, "dim": 16}
    more = {"optim.name": "sgd", "optim.lr": 0.05, "objective.kl": 2.0, "objective.var": 1.0}
    return found_in(tmp_path_factory.mktemp("merged"), **options, **more)


@pytest.fixture(params=["counted", "merged"])
def run(request, tmp_path) -> Path:
    return shutil.copytree(request.getfixturevalue(request.param), tmp_path / "run")


def new(found: Discovery) -> list[int]:
    return [one.size for one in found.categories if one.is_new and one.alive and one.size]


def is_merged(run: Path) -> bool:
    """Whether the tree is of outputs that merged, which seldom part again."""
    return bool(json.loads((run / "results.json").read_text())["merging"])


def test_fewer_and_more(run):
    before = (run / "predictions.csv").read_bytes()
    whole = Discovery.load(run)
    assert sum(new(whole)) == 220
    more = (1,) if is_merged(run) else (3, 4)
    for number in (2, 1, *more):
        found = novakind.recut(run, number)
        assert len(new(found)) == number
        assert sum(new(found)) == 220
        assert new(Discovery.load(run)) == new(found)
    assert (run / "predictions.csv").read_bytes() == before


def test_it_can_be_undone(run):
    whole = Discovery.load(run)
    found = novakind.recut(run, len(new(whole)) - 1)
    assert new(found.undo()) == new(whole)


def test_what_a_person_decided_stays(run):
    start = Discovery.load(run)
    named = next(one for one in start.categories if one.is_new and one.size)
    start.rename(named.id, "kept")
    least = novakind.recut(run, 2)
    assert {one.name: one.size for one in least.categories}["kept"] == named.size
    with pytest.raises(UserError, match=r"can be cut to 2 new categories but not to 1, as what was decided by hand"):
        novakind.recut(run, 1)
    assert len(new(Discovery.load(run))) == 2


def test_confirmed_items_stay_where_they_are(run):
    start = Discovery.load(run)
    category = next(one for one in start.categories if one.is_new and one.size)
    items = np.flatnonzero(start.snapshot.category == category.id)[:4]
    start.confirm(items.tolist())
    more = [] if is_merged(run) else [len(new(start)) + 1]
    for number in (*more, 2):
        assert set(novakind.recut(run, number).category[items].tolist()) == {category.id}


def test_outputs_that_merged_in_training_seldom_part(merged, tmp_path):
    run = shutil.copytree(merged, tmp_path / "run")
    with pytest.raises(
        UserError, match=r"can be cut to 3 new categories but not to 7, as parts that merged in training"
    ):
        novakind.recut(run, 7)
    assert not (run / "edits.jsonl").exists()


def test_the_verb(run, capsys):
    assert main(["recut", str(run), "--novel", "3"]) == 0
    assert "new-" in capsys.readouterr().out
    assert main(["recut", str(run)]) == 2
    assert "recut needs a number of new categories: give --novel 7" in capsys.readouterr().err
    assert main(["recut", str(run), "--novel", "500"]) == 2
    assert "--novel 500 is no cut of the tree" in capsys.readouterr().err


def test_a_run_without_a_tree_says_so(counted, tmp_path, capsys):
    run = shutil.copytree(counted, tmp_path / "run")
    results = json.loads((run / "results.json").read_text())
    (run / "results.json").write_text(json.dumps(results | {"estimate": None}))
    assert main(["recut", str(run), "--novel", "3"]) == 2
    assert (
        "has no merge tree to cut, as its number of categories and their shares were given" in capsys.readouterr().err
    )


def test_trees_of_both_kinds_are_groups_of_leaves():
    sides = [Joint(frozenset([0]), frozenset([2])), Joint(frozenset([0, 2]), frozenset([1]))]
    assert tree_of({"merging": {"tree": [[0, 2, 0.1, 0.5], [0, 1, 0.9, 1.0]]}}) == sides
    assert tree_of({"estimate": {"sizes": [5, 5, 5], "tree": [[0, 2, 1.0, 10], [3, 1, 2.0, 15]]}}) == sides
    assert tree_of({"estimate": None, "merging": None}) == []


def test_a_round_after_a_run_whose_outputs_merged(merged, tmp_path):
    """One output is carried over for each category, the one that has its items: no category is lost."""
    found = Discovery.load(merged)
    two = novakind.discover(str(merged.parent / "rows.npz"), tmp_path / "two", after=merged, epochs=2)
    assert (two.category == found.category).mean() > 0.97


def test_a_round_has_nothing_to_sort_where_all_are_in_parts_of_a_split(counted, tmp_path, capsys):
    """No output of the model tells them apart."""
    run = shutil.copytree(counted, tmp_path / "run")
    novakind.recut(run, 1)
    novakind.recut(run, 3)
    data = counted.parent / "rows.npz"
    words = ["discover", str(data), "--after", str(run), "--epochs", "1", "--quiet", "--out", str(tmp_path / "next")]
    assert main(words) == 2
    assert "labeled, confirmed or in a part of a split, so nothing is left to sort" in capsys.readouterr().err
