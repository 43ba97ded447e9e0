"""The tables about published encoders, on small made-up data: what is asked, how it is scored, what is kept."""

import itertools
import json
from argparse import Namespace
from dataclasses import replace
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest
from published import publish_pictures

from experiments.pretrained import __main__ as command
from experiments.pretrained import few, learnt, photographs, pictures, text, vectors
from experiments.pretrained.baselines import AS_GIVEN, baselines, one_matching
from experiments.pretrained.cases import OURS, Asked, run, true_known_share
from experiments.pretrained.mixtures import MIXTURES, Mixture, draw
from experiments.pretrained.reduced import offer_part, offer_vectors, per_class, some_classes
from experiments.pretrained.semi import spread_out
from experiments.pretrained.sheet import Sheet
from novakind.app.discover import assemble
from novakind.data.collection import from_arrays
from novakind.data.split import hide, part, standardise, unlabel
from novakind.datasets import DATASETS, Named
from novakind.modality.image import Image
from novakind.objective.prior import Prior

pytestmark = pytest.mark.usefixtures("one_thread", "own_names")
SMALL = Mixture(4, 8, 5.0)


@pytest.fixture
def own_names(monkeypatch, tmp_path):
    """Data sets that a test offers are gone after it; vectors are kept in a folder of its own; trainings are short."""
    before = dict(DATASETS)
    monkeypatch.setattr("novakind.training.loop.choose_epochs", lambda *_: 5)
    monkeypatch.setenv("NOVAKIND_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield
    DATASETS.clear()
    DATASETS.update(before)


def blobs(labeled=1.0, mixture=SMALL, each=40):
    """Two known classes and two novel ones, divided as a run divides them."""
    X, y, test = draw(mixture, 0, each)
    collection = hide(replace(from_arrays(X, y), official_test=test), str(mixture.classes // 2))
    collection = unlabel(collection, labeled)
    split = part(collection, 0.1, 0.0)
    return standardise(collection, split), split


def offer_pictures(name="shapes", each=60, classes=10):
    """Pictures that are told apart by their tone."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(classes), each)
    X = np.clip(25 * y[:, None, None, None] + rng.integers(0, 9, (len(y), 12, 12, 3)), 0, 255).astype(np.uint8)
    test = np.arange(len(y)) >= len(y) * 2 // 3

    def load(root, reading, watch):
        return replace(from_arrays(X, [f"class {n}" for n in y], name, reading), official_test=test)

    DATASETS[name] = Named(Image, "default", load)
    return name


def test_baselines_find_classes_that_lie_apart():
    collection, split = blobs()
    found = baselines(collection, split, Prior.uniform(2, 2), 0)
    assert {"k-means, 10 starts", "k-means, 1 start"} <= set(found)
    for name in ("known_acc/test/agnostic", "novel_acc/test/agnostic", "novel_acc/test/aware"):
        assert found["k-means, 10 starts"][name] > 0.95
        assert "all_acc/unlabeled" not in found["k-means, 10 starts"]


def test_baselines_where_known_classes_are_mixed_in():
    collection, split = blobs(labeled=0.2)
    found = baselines(collection, split, Prior.uniform(2, 2, 0.4), 0)
    names = {"semi-supervised k-means", "k-means of all items, 10 starts", "k-means of all items, 1 start"}
    assert {name.removesuffix(AS_GIVEN) for name in found} == names
    for name in ("semi-supervised k-means", "k-means of all items, 10 starts"):
        assert all(value > 0.95 for metric, value in found[name].items() if "_acc/" in metric)
        assert "old_acc/unlabeled" in found[name]


def test_vectors_as_they_are_stand_beside_scaled_ones():
    collection, split = blobs(mixture=Mixture(6, 16, 1.5, scales=100.0))
    assert any(name.endswith(AS_GIVEN) for name in baselines(collection, split, Prior.uniform(3, 3), 0))


def test_one_matching_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(5):
        truth, predicted = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
        right = [np.array(order)[predicted] == truth for order in itertools.permutations(range(4))]
        best = max(right, key=np.sum)
        found = one_matching(truth, predicted, 2)
        assert found["all_acc/unlabeled"] == pytest.approx(best.mean())
        old = (truth < 2).mean()
        parts = old * found["old_acc/unlabeled"] + (1 - old) * found["new_acc/unlabeled"]
        assert parts == pytest.approx(best.mean())


def test_new_centres_are_far_from_the_known_ones():
    known = np.zeros((1, 2))
    free = np.concatenate([np.zeros((50, 2)), np.full((50, 2), 7.0)])
    for seed in range(20):
        np.testing.assert_array_equal(spread_out(known, free, 1, np.random.default_rng(seed))[1], [7, 7])
    assert spread_out(known, np.zeros((5, 2)), 3, np.random.default_rng(0)).shape == (4, 2)  # all items are alike


def test_parts_of_a_data_set():
    whole = DATASETS[offer_pictures()].load(None, Image.Reading(), None)
    some = per_class(whole, 7, seed=1, tested=3)
    for chosen, count in ((~some.official_test, 7), (some.official_test, 3)):
        assert np.bincount(some.truth[chosen]).tolist() == [count] * 10
    assert per_class(whole, 7, seed=2, tested=3).paths != some.paths
    uneven = replace(whole, truth=np.where(whole.truth == 9, 8, whole.truth), truth_classes=whole.classes[:9])
    even = per_class(uneven, 0, seed=0)
    assert set(np.bincount(even.truth[~even.official_test])) == {40}
    assert even.official_test.sum() == whole.official_test.sum()
    classes = some_classes(whole, 4, seed=0)
    assert len(classes.classes) == len(set(classes.labels.tolist())) == 4
    told = dict(zip(whole.paths, np.array(whole.classes)[whole.labels], strict=True))
    assert [told[path] for path in classes.paths] == [classes.classes[number] for number in classes.labels]
    offer_part("fewer", "shapes", partial(per_class, count=2, seed=0))
    assert DATASETS["fewer"].load(None, Image.Reading(), None).name == "fewer"


def test_what_the_tables_ask_is_what_novakind_takes():
    data = offer_pictures()
    given = Namespace(epochs=3, scratch_epochs=[15, 0], tested=2)
    cases = [*pictures.cases(given, data), *few.cases(given, data)]
    cases += photographs.cases(Namespace(epochs=3, scratch_epochs=30), data)
    assert len({case.name for case in cases}) == len(cases) == 2 + 4 + 6 + 12
    for case in cases:
        asked = case.ask(1)
        source, config = assemble(asked.data, asked.preset, asked.options)
        assert bool(source.published.get("frozen")) == case.vectors
        assert (config.tune == "partly") == ("partly" in case.name)
        assert bool(source.published) != ("from scratch" in case.name)
    assert [case.name for case in text.cases(given)][1].endswith("mixed")
    assert {len(set(draw(each, 0, 4)[1])) for each in MIXTURES.values()} == {each.classes for each in MIXTURES.values()}


def test_the_true_share_of_known_items():
    name = offer_vectors("blobs", partial(draw, SMALL, 0))
    asked = Asked(name, {"known": "2", "labeled": 0.2})
    assert true_known_share(asked) == pytest.approx(0.8 / 1.8, abs=0.03)


def test_a_table_is_run_once(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(vectors, "MIXTURES", {"small": SMALL})
    monkeypatch.setattr(vectors, "draw", partial(draw, each=40))
    words = ["vectors", "--only", "small", "--seeds", "1", "--out", "out", "--runs", "runs"]
    assert command.main(words) == 0
    record = json.loads((tmp_path / "out" / "vectors.json").read_text())
    assert record["command"] == "python -m experiments.pretrained vectors --seeds 1"
    assert record["seeds"] == [0]
    runs = record["rows"]["mixture, small (4 classes, 8 numbers)"]
    assert runs["0"]["metrics"][OURS]["novel_acc/test/aware"] > 0.9
    assert {"commit", "machine", "minutes", "total_minutes", "protocol", "asked"} <= set(runs["0"])
    assert runs["0"]["protocol"]["tested"] == 40
    page = (tmp_path / "out" / "vectors.md").read_text()
    assert "| mixture, small (4 classes, 8 numbers) | k-means, 10 starts |" in page
    monkeypatch.setattr(command, "run", None)
    capsys.readouterr()
    assert command.main(words) == 0
    assert capsys.readouterr().out.startswith("# Vectors of many origins")
    assert command.main([*words[:4], "2", *words[5:]]) == 1  # a second seed is not there, and cannot be run
    assert "seed 1\n  failed: TypeError" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "vectors.json").read_text()) == record


def test_another_question_is_asked_again(tmp_path):
    sheet = Sheet("few", "about", tmp_path, "command")
    asked = Asked("digits", {"known": "5"})
    answer = {"asked": asked.plain(), "minutes": 1.0, "total_minutes": 2.0, "commit": "c", "machine": "m"}
    sheet.keep("row", 0, answer | {"metrics": {OURS: {"known_acc/test/agnostic": 0.5}}})
    again = Sheet("few", "about", tmp_path, "command")
    assert again.finished("row", 0, asked)
    assert not again.finished("row", 1, asked)
    assert not again.finished("row", 0, Asked("digits", {"known": "6"}))
    assert "| row | ours | 50.0 | 1 | 1.0 (2.0) |" in again.markdown([])


def test_a_frozen_encoder_and_few_items(monkeypatch, tmp_path):
    pytest.importorskip("transformers")
    publish_pictures("vit", tmp_path / "vit")
    monkeypatch.setattr(few, "ENCODER", f"hf:{tmp_path / 'vit'}")
    monkeypatch.setattr(few, "SIZE", 32)
    given = Namespace(tested=4, scratch_epochs=[2])
    cases = {case.name: case for case in few.cases(given, offer_pictures())}
    found = run(cases["frozen, 20 items per class"], 0, tmp_path / "run")
    assert found["protocol"]["labeled"] == found["protocol"]["unlabeled"] == 90
    assert found["protocol"]["tested"] == 40
    assert set(found["metrics"]) >= {OURS, few.KMEANS}
    scratch = {"metrics": {OURS: found["metrics"][OURS]}}
    rows = {name: {"0": found if case.vectors else scratch} for name, case in cases.items()}
    picture = few.pictures(rows)["few.svg"]
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert all(title in picture for title in ("ours, frozen", "k-means, frozen", "ours, from scratch, 2 epochs"))


def test_vectors_that_were_learnt_on_known_classes(monkeypatch, tmp_path):
    monkeypatch.setitem(learnt.LEARNT, "Shapes", learnt.Learnt(offer_pictures(each=30, classes=4), "2", 1))
    asked = vectors.ask_learnt("Shapes", tmp_path / "learnt", 0)
    assert asked.options == {"known": '"class 0","class 1"'}
    X, y, test = learnt.read(tmp_path / "learnt" / "shapes-1.npz")
    assert (X.shape[0], len(y), test.sum()) == (120, 120, 40)
    monkeypatch.setattr(learnt, "complete", None)
    assert vectors.ask_learnt("Shapes", tmp_path / "learnt", 1) == asked
