"""What a model must not see: the truth of unlabeled items, and items that it is not trained on."""

from dataclasses import replace

import numpy as np
import pytest
from short import QUICK, blobs

from novakind.config import Config
from novakind.data.collection import Collection, from_arrays
from novakind.data.source import Source
from novakind.data.split import part, standardise
from novakind.methods import METHODS
from novakind.methods.oracle import Oracle
from novakind.model import to_bytes
from novakind.objective.heads import MLPHead
from novakind.runs.complete import complete
from novakind.training.loop import fit

SHORT = replace(QUICK, epochs=2)
EVERY_FIFTH, PEOPLE = np.arange(600) % 5 == 0, {"person": np.random.default_rng(0).integers(0, 40, 600)}
SPLITS = {
    "random": ({}, 0.2),
    "grouped": ({"groups": PEOPLE}, 0.2),
    "official": ({"official_test": EVERY_FIFTH}, 0.0),
    "official-grouped": ({"official_test": EVERY_FIFTH, "groups": PEOPLE}, 0.0),
}


def without_truth(collection: Collection) -> Collection:
    return replace(collection, truth=collection.labels, truth_classes=collection.classes)


def trained(collection: Collection, test: float, config: Config = SHORT) -> tuple[list[str], bytes]:
    """The part of each item, and the weights."""
    split = part(collection, 0.15, test)
    return split.names(len(collection)), to_bytes(fit(standardise(collection, split), split, config)[0])


@pytest.mark.parametrize("kind", SPLITS)
def test_truth_changes_neither_the_parts_nor_the_model(kind):
    change, test = SPLITS[kind]
    told = replace(blobs(), **change)
    names, weights = trained(told, test)
    assert set(names) == {"train", "val", "test"}
    shuffled = np.random.default_rng(1).permutation(told.truth)
    mistaken = replace(told, truth=np.where(told.labels < 0, shuffled, told.labels))
    for other in (without_truth(told), mistaken):
        assert trained(other, test) == (names, weights)


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name] is not Oracle])
def test_no_method_learns_from_truth_but_the_upper_bound(method, monkeypatch):
    monkeypatch.setattr(MLPHead, "hidden", 32)
    config, told = replace(SHORT, method=method, epochs=4, batch=40, dim=16, ema=0.5), blobs(items=240)
    assert trained(told, 0.2, config) == trained(without_truth(told), 0.2, config)


def test_the_upper_bound_learns_from_truth():
    config = replace(SHORT, method="oracle")
    assert trained(blobs(), 0.2, config) != trained(without_truth(blobs()), 0.2, config)


def test_a_file_of_truth_changes_nothing_but_the_scores(tmp_path):
    collection = blobs()
    np.savez(tmp_path / "blobs.npz", X=collection.items, y=collection.labels)
    rows = [f"{path},{truth}" for path, truth in zip(collection.paths, collection.truth, strict=True)]
    (tmp_path / "truth.csv").write_text("\n".join(["path,label", *rows]))
    source = Source(str(tmp_path / "blobs.npz"), test=0.2)
    told = complete(replace(source, truth=str(tmp_path / "truth.csv")), SHORT, tmp_path / "told", quiet=True)
    untold = complete(source, SHORT, tmp_path / "untold", quiet=True)
    assert "novel_acc/test/agnostic" in told.results["metrics"]
    assert "novel_acc/test/agnostic" not in untold.results["metrics"]
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("told", "untold"))
    assert first == second


def pictures(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(60, 120, (120, 12, 12), dtype=np.uint8)


def series(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(120, 32, 3))


def vectors(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(120, 6))


@pytest.mark.parametrize("make", [vectors, pictures, series])
def test_items_outside_the_training_part_change_neither_normalisation_nor_model(make):
    labels = np.where(np.arange(120) < 60, np.arange(120) % 2, -1)
    collection = from_arrays(make(np.random.default_rng(0)), labels)
    split = part(collection, 0.1, 0.2)
    config = Config(novel=2, batch=20, epochs=2, dim=16)

    def with_wild(chosen: np.ndarray) -> tuple[dict, bytes]:
        items = collection.items.copy()
        items[chosen] = 255 if items.dtype == np.uint8 else 1e4
        normalised = standardise(replace(collection, items=items), split)
        return normalised.modality.settings(), to_bytes(fit(normalised, split, config)[0])

    tame = with_wild(split.train[:0])
    assert with_wild(split.test) == with_wild(split.val) == tame
    assert with_wild(split.train[:1]) != tame
