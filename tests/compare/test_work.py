"""Equal work for every method, what a search chooses for each, and what a method without a joint answer shows."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comparisons import DATA, OUT, cell, markdown
from short import blobs as short_blobs

from novakind.app.cli import main
from novakind.compare.search import RATES, known_alone, tuned
from novakind.config import starting
from novakind.data.collection import from_arrays
from novakind.data.split import hide, part
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.training.loop import budget_of, choose_epochs
from novakind.training.setup import make_sampler

pytestmark = pytest.mark.usefixtures("blobs")


def epochs_of(method: str) -> int:
    return (OUT / method / "0" / "metrics.jsonl").read_text().count("\n")


def test_methods_get_equal_work_and_not_equal_epochs():
    """A step of supervised sees a third of the items that a step of ours sees: labeled ones in a single view."""
    words = ["--methods", "ours,supervised,mcl", "--seeds", "1", "--epochs", "4", "--preset", "learnt"]
    assert main([*DATA, *words]) == 0
    assert {cell(method, 0)["asked"]["work"] for method in ("ours", "supervised", "mcl")} == {
        cell("ours", 0)["asked"]["work"]
    }
    assert epochs_of("ours") == 4
    assert epochs_of("supervised") in (11, 12, 13)
    assert "equal work: " in (OUT / "compare.md").read_text()
    row = markdown()["mcl"]
    for column in ("known accuracy", "novel ACC, task-agnostic", "novel ACC, joint", "NMI", "ARI"):
        assert row[column] == "-"
    for column in ("known, task-aware", "novel ACC, task-aware"):
        assert row[column] != "-"


def test_no_method_gets_fewer_epochs_than_ours():
    """On vectors the eight heads of UNO take a thousand times the operations of ours, and it ended after two epochs."""
    words = ["--methods", "ours,ours-linear,uno,spacing", "--seeds", "1", "--epochs", "3"]
    assert main([*DATA, *words]) == 0
    assert [epochs_of(method) for method in ("ours", "uno")] == [3, 3]
    assert epochs_of("spacing") >= 3
    assert "as 3 epochs of ours, and no fewer epochs than these" in (OUT / "compare.md").read_text()


def test_a_start_from_clusters_gets_the_work_of_a_long_training():
    """Ours needs half the steps where categories start at clusters; every method gets what a start from random weights
    takes, ours too."""
    collection = short_blobs()
    split, config = part(collection, 0.1, 0.0), replace(starting(Features), novel=3, batch=64)
    steps = make_sampler(collection, split, config).steps
    usual = choose_epochs(steps)
    (given, least), (clustered, _), (whole, _) = (
        budget_of(collection, split, replace(config, epochs=epochs)) for epochs in (0, choose_epochs(steps, 300), usual)
    )
    assert config.clustered
    assert given == pytest.approx(whole)
    assert given > 1.9 * clustered
    assert least == usual
    assert budget_of(collection, split, replace(config, work=clustered)) == (clustered, choose_epochs(steps, 300))


def test_a_search_is_written_down_and_used(capsys):
    blobs = np.random.default_rng(0)
    kinds = np.repeat(np.arange(6), 60)
    np.savez("six.npz", X=4 * blobs.normal(size=(6, 5))[kinds] + blobs.normal(size=(360, 5)), y=kinds)
    words = ["six.npz", "--known", "5", "--test", "0.2", "--batch", "20", "--epochs", "2"]
    assert main(["search", *words, "--methods", "supervised,dtc,kmeans", "--out", "search.json", "--quiet"]) == 0
    assert "supervised " in capsys.readouterr().out
    found = json.loads(Path("search.json").read_text())
    assert found["held out"] == ["3", "4"]
    assert list(found["methods"]) == ["supervised", "dtc"]
    for name, one in found["methods"].items():
        rates = {try_["changes"].get("optim.lr") for try_ in one["tried"]}
        assert len(rates) == len(RATES)
        assert any("views.strength" in try_["changes"] for try_ in one["tried"])
        assert any("pretraining" in try_["changes"] for try_ in one["tried"]) == (name == "dtc")
        for try_ in one["tried"]:
            assert try_["score"] == (try_["novel"] if name == "dtc" else (try_["known"] + try_["novel"]) / 2)
        best = max(one["tried"], key=lambda try_: try_["score"])
        assert one["chosen"] in [try_["changes"] for try_ in one["tried"] if try_["score"] == best["score"]]
    found["methods"]["supervised"]["chosen"] = {"optim.lr": 0.0123}
    Path("search.json").write_text(json.dumps(found))
    assert main(["search", *words, "--methods", "supervised", "--out", "search.json", "--quiet"]) == 0  # kept
    assert "optim.lr 0.0123" in capsys.readouterr().out
    both = ["--methods", "supervised,kmeans", "--seeds", "1", "--tuned", "search.json", "--out", "here", "--quiet"]
    assert main(["compare", *words, *both]) == 0
    asked = {name: cell(name, 0, Path("here"))["asked"] for name in ("supervised", "kmeans")}
    assert asked["supervised"]["optim"]["lr"] == 0.0123
    assert asked["kmeans"]["optim"]["lr"] != 0.0123


def test_a_search_sees_neither_novel_classes_nor_test_items():
    kinds = np.arange(500) % 10
    whole = hide(from_arrays(np.random.default_rng(0).normal(size=(500, 3)), kinds), "5")
    split = part(whole, 0.1, 0.2)
    inside, parts = known_alone(whole, split)
    assert inside.classes == ("0", "1", "2")
    assert inside.truth_classes == ("0", "1", "2", "3", "4")
    assert not set(inside.paths) & {whole.paths[row] for row in split.test}
    assert not set(inside.paths) & {whole.paths[row] for row in np.flatnonzero(kinds >= 5)}
    assert len(parts.train) + len(parts.val) == len(inside)
    assert len(parts.val) == pytest.approx(0.25 * len(inside), rel=0.1)


def test_what_cannot_be_searched_or_used_is_refused():
    whole = hide(from_arrays(np.zeros((90, 3)), np.arange(90) % 4), "3")
    with pytest.raises(UserError, match="--known 4 or more"):
        known_alone(whole, part(whole, 0.1, 0.0))
    for content in (
        {},
        [],
        {"methods": []},
        {"methods": {"uno": "x"}},
        {"methods": {"uno": {"chosen": {"batch": [1]}}}},
    ):
        Path("other.json").write_text(json.dumps(content))
        with pytest.raises(UserError, match="not written by novakind search"):
            tuned(Path("other.json"))
    assert tuned(None) == {}
