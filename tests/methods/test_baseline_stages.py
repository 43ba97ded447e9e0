"""The baselines of several stages, as whole runs: blobs found, and runs that are killed in every stage resumed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from short import blobs, fit_in_halves

from novakind.config import Config, Optim
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import Split, part, standardise
from novakind.methods import METHODS, Batch, make_method
from novakind.methods.autonovel import AutoNovel
from novakind.methods.dtc import DTC
from novakind.model import Card, Model, load_model, predict, to_bytes
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.runs.finish import finish
from novakind.runs.folder import Run
from novakind.training.loop import fit

STAGED = ["kcl", "mcl", "dtc", "autonovel", "spacing"]
PRIOR = Prior.uniform(2, 3)


# Stages and whole runs


@pytest.mark.parametrize("name", STAGED)
def test_stages_add_up(name):
    for epochs in (1, 2, 3, 4, 7, 30):
        stages = make_method(Config(method=name, novel=3), PRIOR).stages(epochs)
        assert sum(stage.epochs for stage in stages) == epochs
        assert all(stage.epochs for stage in stages)
        assert stages[-1].name == "discover"
    assert len(make_method(Config(method=name, novel=3), PRIOR).stages(30)) == (3 if name == "autonovel" else 2)


def parted_blobs(known: int = 3, each: int = 60, spread: float = 1.5) -> tuple[Collection, Split]:
    collection = blobs(known, 3, each * (known + 3), spread)
    split = part(collection, 0.1, 0.2)
    return standardise(collection, split), split


def test_frozen_layers_and_their_statistics_do_not_move():
    collection, split = parted_blobs()
    method = AutoNovel(Config(novel=3), Prior.uniform(3, 3))
    torch.manual_seed(0)
    model = Model(Card("mlp", "prototype", 16, 0.1, 3, tuple("abcdef"), collection.modality.settings()))
    (stage,) = method.stages(1)
    method.begin(model.train(), stage)
    method.before_epoch(model, stage, 0, [], lambda: pytest.fail("no need of embeddings"))
    before = {name: value.clone() for name, value in model.encoder.state_dict().items()}
    optimizer = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], 0.1)
    x = collection.modality.collate(collection.items[split.train[:30]])
    sum(method.loss(model, Batch(x, torch.zeros(10).long(), 0.5, torch.arange(10))).values()).backward()
    optimizer.step()
    moved = {name.split(".")[1] for name, value in model.encoder.state_dict().items() if not value.equal(before[name])}
    assert moved == {"3", "4"}


BLOBS = Config(novel=3, batch=30, epochs=40, dim=32, optim=Optim(lr=0.1))
EASY = {"known": 20, "each": 30, "spread": 1.0}  # what "same class" means must be learnt from many classes
FOUND = {  # the data, the change of settings, how many starts, and what they must find in the mean
    "kcl": (EASY, {}, 3, 0.75),
    "mcl": (EASY, {}, 3, 0.7),
    "dtc": ({}, {}, 1, 0.9),
    "dtc-average": ({}, {"ema": 0.9}, 1, 0.9),
    "autonovel": ({"spread": 1.0, "each": 120}, {"epochs": 80}, 3, 0.5),
    "spacing": ({"known": 20, "each": 30}, {}, 1, 0.9),
    "spacing-average": ({"known": 20, "each": 30}, {"ema": 0.9}, 1, 0.9),
}


@pytest.mark.parametrize("case", FOUND)
def test_blobs_are_found_saved_and_loaded(case, tmp_path):
    data, change, starts, enough = FOUND[case]
    collection, split = parted_blobs(**data)
    found = []
    for seed in range(starts):
        run = Run.claim(tmp_path / str(seed))
        config = replace(BLOBS, method=case.split("-")[0], seed=seed, **change)
        results = finish(run, collection, split, *fit(collection, split, config, run, Reporter(quiet=True)))
        assert results["metrics"]["known_acc/test/agnostic"] > 0.9
        found.append(results["metrics"]["novel_acc/test/agnostic"])
        loaded = load_model(run.model_file)
        with np.load(run.path / "embeddings.npz") as arrays:
            np.testing.assert_array_equal(predict(loaded, collection.items)[1], arrays["logp"])
    assert np.mean(found) > enough


@pytest.mark.parametrize("name", STAGED)
def test_nothing_of_the_training_stays_in_the_model(name):
    collection, split = parted_blobs(each=30)
    assert not len(fit(collection, split, replace(BLOBS, method=name, epochs=3))[0].extra)


@pytest.mark.parametrize("name", STAGED)
@pytest.mark.parametrize("change", [{"epochs": 1}, {"epochs": 3, "steps": "alternating"}], ids=["short", "alternating"])
def test_short_and_alternating_runs(name, change):
    collection, split = parted_blobs(each=30)
    model, _, history = fit(collection, split, replace(BLOBS, method=name, **change))
    assert len(history) == change["epochs"]
    assert np.isfinite(predict(model, collection.items)[1]).all()


def pictures() -> tuple[Collection, Split]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (100, 8, 8), dtype=np.uint8)
    collection = from_arrays(X, np.arange(100) % 4 % 3 - 1, "noise")
    return collection, part(collection, 0.1, 0.0)


@pytest.mark.parametrize("ema", [0.0, 0.8], ids=["last", "average"])
@pytest.mark.parametrize(
    ("name", "data", "epochs", "stages"),
    [
        ("kcl", parted_blobs, 4, ["similarity"] * 2 + ["discover"] * 2),
        ("dtc", parted_blobs, 4, ["supervised"] * 2 + ["discover"] * 2),
        ("spacing", parted_blobs, 4, ["supervised"] * 2 + ["discover"] * 2),
        ("autonovel", pictures, 5, ["rotations"] * 2 + ["supervised"] + ["discover"] * 2),
    ],
)
def test_killed_in_any_stage_it_ends_with_the_same_bytes(name, data, epochs, stages, ema, tmp_path):
    """After each epoch: inside each stage, at each boundary, and when all epochs are done."""
    collection, split = data()
    config = replace(BLOBS, method=name, epochs=epochs, ema=ema)
    whole, _, history = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    assert [line["stage"] for line in history] == stages
    for epoch in range(1, epochs + 1):
        resumed = fit_in_halves(epoch, collection, split, config, tmp_path / str(epoch))
        assert to_bytes(resumed) == to_bytes(whole), epoch


def test_dtc_resumes_between_two_targets(tmp_path, monkeypatch):
    """The targets of epoch 5 are found again in epoch 7 and 8, when the weights that gave them have moved on."""
    collection, split = parted_blobs(each=30)
    config = replace(BLOBS, method="dtc", epochs=9, ema=0.5)
    monkeypatch.setattr(DTC, "SHARE", 0.0)
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    for epoch in (3, 5, 7):
        resumed = fit_in_halves(epoch, collection, split, config, tmp_path / str(epoch))
        assert to_bytes(resumed) == to_bytes(whole)


def test_the_staged_methods_are_named():
    assert set(STAGED) <= set(METHODS)
