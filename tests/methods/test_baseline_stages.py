"""The baselines of several stages, as whole runs: blobs found, and runs that are killed in every stage resumed."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from short import blobs, fit_in_halves
from torch import nn

from novakind.config import Config, Optim
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import Split, part, standardise
from novakind.encoders import build
from novakind.methods import METHODS, Batch, make_method
from novakind.methods.autonovel import AutoNovel, same_ranks, with_averages
from novakind.methods.dtc import DTC
from novakind.modality.features import FeatureViews
from novakind.modality.frames import VideoViews
from novakind.modality.image import Image
from novakind.modality.pixels import ImageViews
from novakind.modality.warp import SeriesViews
from novakind.model import Card, Model, load_model, predict, to_bytes
from novakind.objective.metrics import novel_acc, scores
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


def test_autonovel_keeps_the_head_whose_answers_are_task_aware():
    collection, split = parted_blobs(each=30)
    model, _, _ = fit(collection, split, replace(BLOBS, method="autonovel", epochs=3))
    embedding, logp = predict(model, collection.items)
    novel = model.aware(embedding)
    assert novel is not None
    assert novel.shape == (len(collection), 3)
    results = scores(collection.truth, logp, 3, "test", novel)
    assert results["novel_acc/test/aware"] == novel_acc(
        collection.truth[collection.truth >= 3], novel[collection.truth >= 3].argmax(1) + 3, 3
    )


def test_autonovel_sees_small_batches_of_weak_views(monkeypatch):
    """128 items in a step, of which 64 are unlabeled, whatever batch and views the settings have."""
    seen, real = [], Image.augment

    def augment(self, batch, views, generator):
        seen.append((len(batch), views.strength))
        return real(self, batch, views, generator)

    monkeypatch.setattr(Image, "augment", augment)
    X = np.random.default_rng(0).integers(0, 256, (240, 8, 8), dtype=np.uint8)
    collection = from_arrays(X, np.arange(240) % 4 % 3 - 1, "noise")
    _, _, history = fit(collection, part(collection, 0.1, 0.0), replace(BLOBS, batch=100, method="autonovel", epochs=4))
    assert [line["stage"] for line in history] == ["supervised", "discover", "discover", "discover"]
    first, last = (sum(strength == wanted for _, strength in seen) for wanted in ("strong", "weak"))
    assert first == 1 + 1  # a look at the smallest views, and one step
    assert last == 3 * (108 // 64)
    assert seen[-1] == (3 * 64, "weak")  # labeled ones, and two views of unlabeled ones


def test_recordings_keep_the_turns_that_all_other_methods_see():
    for views, weak in ((ImageViews(), True), (VideoViews(), True), (SeriesViews(), False), (FeatureViews(), True)):
        assert AutoNovel(Config(novel=3, views=views), PRIOR).stages(100)[-1].weak == weak


def test_autonovel_leaves_the_state_of_equal_answers(monkeypatch):
    """Uniform predictions give -(r ln 1/U + (1 - r) ln (1 - 1/U)) for a share r of similar pairs."""
    similar: list[float] = []

    def listening(features, top):
        similar.append(same_ranks(features, top).float().mean().item())
        return same_ranks(features, top)

    monkeypatch.setattr("novakind.methods.autonovel.same_ranks", listening)
    collection, split = parted_blobs(spread=1.0, each=120)
    floor = fit(collection, split, replace(BLOBS, method="kmeans"))[0]
    novel = collection.truth[split.test] >= 3

    def aware(model: Model) -> float:
        embedding, logp = predict(model, collection.items[split.test])
        answers = model.aware(embedding)
        chosen = logp[:, 3:] if answers is None else answers
        return novel_acc(collection.truth[split.test][novel], chosen[novel].argmax(1) + 3, 3)

    model, _, history = fit(collection, split, replace(BLOBS, method="autonovel", epochs=80))
    share = np.mean(similar[-20:])
    assert history[-1]["loss/pairs"] < share * np.log(3) + (1 - share) * np.log(3 / 2) - 0.01
    assert aware(model) >= aware(floor) - 0.02


@pytest.mark.parametrize(
    ("name", "shape"), [("convnet", (3, 16, 16)), ("fastnet", (3, 32, 32)), ("seriesnet", (3, 64)), ("mlp", (12,))]
)
def test_ranks_are_of_averages_after_relu(name, shape):
    torch.manual_seed(0)
    encoder, x = build(name, shape).eval(), torch.randn(4, *shape)
    output, ranked = with_averages(encoder, x)
    torch.testing.assert_close(output, encoder(x))
    assert (ranked >= 0).all()
    assert not ranked.requires_grad
    if name in ("convnet", "mlp"):  # which end like this
        torch.testing.assert_close(ranked, output.detach())
    if name == "fastnet":
        maps = encoder.groups[:3](nn.functional.gelu(encoder.stem(x)))
        torch.testing.assert_close(ranked, maps.relu().mean((2, 3)).detach())
    if name == "seriesnet":  # its output has the averages of its maps, then their maxima
        assert ranked.shape[1] == output.shape[1] // 2


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
        assert results["metrics"]["known_acc/test/aware"] > 0.9
        found.append(results["metrics"]["novel_acc/test/aware"])
        loaded = load_model(run.model_file)
        with np.load(run.path / "embeddings.npz") as arrays:
            np.testing.assert_array_equal(predict(loaded, collection.items)[1], arrays["logp"])
    assert np.mean(found) > enough


@pytest.mark.parametrize("name", [name for name in STAGED if name != "autonovel"])
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
def test_killed_in_any_stage_it_ends_with_the_same_bytes(name, data, epochs, stages, ema, tmp_path, monkeypatch):
    """After each epoch: inside each stage, at each boundary, and when all epochs are done."""
    monkeypatch.setattr(AutoNovel, "SHARES", (0.4, 0.2, 0.4))  # so that five epochs have all stages
    collection, split = data()
    config = replace(BLOBS, method=name, epochs=epochs, ema=ema)
    whole, _, history = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    assert [line["stage"] for line in history] == stages
    for epoch in range(1, epochs + 1):
        resumed = fit_in_halves(epoch, collection, split, config, tmp_path / str(epoch))
        assert to_bytes(resumed) == to_bytes(whole), epoch


def test_dtc_resumes_between_two_targets(tmp_path, monkeypatch):
    """Targets are found again in epochs between two updates, when the weights that gave them have moved on."""
    collection, split = parted_blobs(each=30)
    config = replace(BLOBS, method="dtc", epochs=9, ema=0.5)
    monkeypatch.setattr(DTC, "SHARE", 0.0)
    monkeypatch.setattr(DTC, "UPDATES", 2)
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    for epoch in (3, 5, 7):
        resumed = fit_in_halves(epoch, collection, split, config, tmp_path / str(epoch))
        assert to_bytes(resumed) == to_bytes(whole)


def test_the_staged_methods_are_named():
    assert set(STAGED) <= set(METHODS)
