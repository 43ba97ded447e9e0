"""What is not told is found: in Python, from a file, and what results.json says of it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import novakind
from novakind import Discoverer
from novakind.config import starting
from novakind.data.collection import from_arrays
from novakind.data.split import part
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.objective import number
from novakind.progress import Reporter
from novakind.training import unknown
from novakind.training.unknown import as_options, limits_of, settle, warning

pytestmark = pytest.mark.usefixtures("one_thread")


def blobs(known=3, classes=6, each=40, seed=0):
    """Separate classes; a third of the known ones has lost its labels."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(classes), each)
    X = (8 * np.eye(classes, 12)[truth] + rng.normal(size=(len(truth), 12))).astype(np.float32)
    return X, np.where((truth < known) & (rng.random(len(truth)) < 0.66), truth, -1), truth


def test_limits_and_words_in_place_of_a_number():
    assert as_options({"novel": "auto", "seed": 1}) == {"novel": 0, "between": "auto", "seed": 1}
    assert as_options({"novel": "3-20"}) == {"novel": 0, "between": "3-20"}
    assert as_options({"novel": "5"}) == {"novel": "5"}
    assert limits_of("3 - 20") == (3, 20)
    with pytest.raises(UserError, match="--novel 5-2 is no number"):
        as_options({"novel": "5-2"})


def test_the_estimator_counts_classes_and_finds_known_ones():
    X, y, truth = blobs()
    found = Discoverer(n_novel="auto", epochs=3, random_state=0).fit(X, y)
    assert len(found.classes_) == 6
    assert found.estimate_ is not None
    assert found.estimate_.known_share == pytest.approx(float((truth[y < 0] < 3).mean()), abs=0.05)
    assert Discoverer(n_novel=2, epochs=1, random_state=0).fit(X, y).estimate_ is None


def test_a_file_without_a_number_is_enough(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y, truth = blobs()
    names = np.array([f"class {number}" for number in range(6)])
    np.savez("toys.npz", X=X, y=np.where(y >= 0, names[truth], ""))
    Path("truth.csv").write_text("path,label\n" + "".join(f"{i},{names[t]}\n" for i, t in enumerate(truth)))
    found = novakind.discover("toys.npz", "run", epochs=3, truth="truth.csv")
    assert len(found.names) == 6
    results = json.loads(Path("run/results.json").read_text())
    assert (results["estimate"]["novel"], results["metrics"]["number_error/train/estimated"]) == (3, 0)
    assert results["metrics"]["all_acc/train/matched"] > 0.95
    assert results["estimate"]["tree"]


def test_pictures_may_start_from_clusters_with_nothing_told():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 30)
    X = (60 * truth[:, None, None] + rng.integers(0, 20, (120, 8, 8))).astype(np.uint8)
    y = np.where(truth < 2, truth, -1)
    found = Discoverer(n_novel="auto", epochs=1, random_state=0, settings={"start": "clusters"}).fit(X, y)
    assert found.estimate_ is not None


def test_of_very_many_items_only_some_are_copied(monkeypatch):
    """As many as the estimate looks at: a copy of a million would not fit beside them."""
    rng = np.random.default_rng(0)
    truth = np.arange(9000) % 6
    X = (8 * np.eye(6, 12)[truth] + rng.normal(size=(9000, 12))).astype(np.float32)
    collection = from_arrays(X, np.where(truth < 3, truth, -1))
    rows: list[int] = []
    collate = Features.collate
    monkeypatch.setattr(number, "MOST", 500)
    monkeypatch.setattr(Features, "collate", lambda self, some: rows.append(len(some)) or collate(self, some))
    config = replace(starting(Features), novel=3)
    settled, _ = settle(collection, part(collection, 0.1, 0.0), config, False, Reporter(quiet=True))
    assert rows == [1000]
    assert settled.known_share == pytest.approx(0.0, abs=0.1)


def test_a_network_that_learns_from_scratch_looks_for_known_classes_first(monkeypatch):
    """Also where the number is given; not where somebody denies it, or hides classes for a benchmark."""
    X, y, truth = blobs()
    collection, config = from_arrays(X, y), replace(starting(Features, "learnt"), novel=3, epochs=30)
    split = part(collection, 0.1, 0.0)
    settled, found = settle(collection, split, config, False, Reporter(quiet=True))
    assert settled.novel == 3
    assert settled.known_share == pytest.approx(float((truth[y < 0] < 3).mean()), abs=0.1)
    assert found is not None
    for denied, benchmark in ((replace(config, mixed="no"), False), (config, True)):
        assert settle(collection, split, denied, benchmark, Reporter(quiet=True)) == (denied, None)
    monkeypatch.setattr(unknown, "SURE", 1.1)  # what hardly tells known classes apart is not believed unasked
    settled, found = settle(collection, split, config, False, Reporter(quiet=True))
    assert found is not None
    assert (settled.known_share, found.untold) == (0.0, True)


def test_a_known_share_is_called_a_guess_where_known_classes_hardly_lie_apart():
    X, y, _ = blobs()
    found = number.estimate(X / np.linalg.norm(X, axis=1, keepdims=True), y, (1, 10))
    assert not any("known classes is a guess" in text for text in warning(found, False))
    assert any("known classes is a guess" in text for text in warning(replace(found, recognised=0.3), False))
    assert not warning(replace(found, recognised=0.3, known_share=0.0), False)


def test_a_first_look_that_diverges_ends_only_what_asked_for_it(monkeypatch):
    def diverges(*given):
        raise UserError("the model's answers are no longer numbers")

    monkeypatch.setattr(unknown, "learnt", diverges)
    collection = from_arrays(*blobs()[:2])
    split = part(collection, 0.1, 0.0)
    config = replace(starting(Features, "learnt"), novel=3)
    assert settle(collection, split, config, False, Reporter(quiet=True)) == (config, None)
    for asked in (replace(config, mixed="yes"), replace(config, novel=0)):
        with pytest.raises(UserError, match="no longer numbers"):
            settle(collection, split, asked, False, Reporter(quiet=True))
