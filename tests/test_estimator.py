"""The scikit-learn face."""

import doctest
import re

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import novakind.estimator
from novakind import Discoverer
from novakind.app.discover import assemble
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.runs.complete import frozen_first


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, truth = make_blobs(500, 10, centers=5, cluster_std=1.5, random_state=3)
    return X, np.where(truth < 3, truth, -1), truth


@pytest.fixture(scope="module")
def fitted(blobs) -> Discoverer:
    X, y, _ = blobs
    return Discoverer(n_novel=2, epochs=15, random_state=0, settings={"batch": 64}).fit(X, y)


def test_finds_the_new_classes(fitted, blobs):
    X, y, truth = blobs
    assert adjusted_rand_score(truth[y < 0], fitted.labels_[y < 0]) > 0.9
    assert (fitted.labels_[y >= 0] == y[y >= 0]).mean() > 0.95
    assert fitted.classes_.tolist() == [0, 1, 2, 3, 4]
    assert fitted.predict_proba(X).shape == (500, 5)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(1), 1, rtol=1e-5)
    assert np.array_equal(fitted.predict(X), fitted.labels_)
    assert fitted.transform(X).shape == (500, 10)
    assert fitted.warnings_ == []


def test_clone_pipeline_and_random_state(blobs):
    X, y, _ = blobs
    estimator = Discoverer(n_novel=2, epochs=2, random_state=7, settings={"batch": 64})
    assert clone(estimator).get_params() == estimator.get_params()
    first, second = (clone(estimator).fit(X, y).predict_proba(X) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.allclose(first, clone(estimator).set_params(random_state=8).fit(X, y).predict_proba(X))
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    assert pipeline.predict(X).shape == (500,)
    assert np.array_equal(clone(estimator).fit_predict(X, y), clone(estimator).fit(X, y).labels_)
    Discoverer(n_novel=2, epochs=1, random_state=np.random.RandomState(0), settings={"batch": 64}).fit(X, y)


def test_the_callers_generators_are_left_as_they_were(blobs):
    X, y, _ = blobs
    torch.manual_seed(5)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1:]  # noqa: NPY002
    found = Discoverer(n_novel=2, epochs=1, random_state=0, settings={"batch": 64, "method": "kmeans"}).fit(X, y)
    found.predict_proba(X)
    with pytest.raises(UserError):
        Discoverer(n_novel=2, prior=(1, 2, 3), random_state=0).fit(X, y)
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(np.random.get_state()[1:], numpy_before, strict=True):  # noqa: NPY002
        np.testing.assert_array_equal(one, other)


def test_save_and_load(fitted, blobs, tmp_path):
    X, _, _ = blobs
    fitted.save(tmp_path / "model.safetensors")
    loaded = Discoverer.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.classes_.tolist() == fitted.classes_.tolist()
    assert loaded.n_features_in_ == fitted.n_features_in_ == 10


def test_names_as_classes(blobs):
    X, _, truth = blobs
    names = np.array(["ant", "bee", "cow"])
    y = np.where(truth < 3, names[np.minimum(truth, 2)], "")
    found = Discoverer(n_novel=2, epochs=1, settings={"batch": 64}).fit(X, y)
    assert found.classes_.tolist() == ["ant", "bee", "cow", "new-1", "new-2"]
    y = np.array([name or None for name in y.tolist()], dtype=object)
    assert Discoverer(n_novel=2, epochs=1, settings={"batch": 64}).fit(X, y).classes_.tolist()[:3] == names.tolist()


def test_pictures_and_an_encoder_of_ones_own(tmp_path):
    X, truth = load_digits(return_X_y=True)
    pictures = (X * 15).astype(np.uint8).reshape(-1, 8, 8)[:600]
    y = np.where(truth[:600] < 5, truth[:600], -1)
    encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 40), torch.nn.ReLU())
    before = encoder[1].weight.detach().clone()
    estimator = Discoverer(n_novel=5, preset="glyphs", encoder=encoder, epochs=2, random_state=0)
    found = clone(estimator).fit(pictures, y)
    assert torch.equal(estimator.encoder[1].weight, before)
    assert found.predict(pictures[:7]).shape == (7,)
    found.save(tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="encoder="):
        Discoverer.load(tmp_path / "model.safetensors")
    loaded = Discoverer.load(tmp_path / "model.safetensors", encoder=encoder)
    assert torch.equal(encoder[1].weight, before)  # the user's own module is copied, here too
    assert loaded.n_features_in_ == found.n_features_in_ == 3 * 8 * 8
    assert np.array_equal(loaded.predict_proba(pictures), found.predict_proba(pictures))


def test_a_prior_of_ones_own(blobs):
    X, y, _ = blobs
    found = Discoverer(n_novel=2, prior=(0.7, 0.3), epochs=1, settings={"batch": 64}).fit(X, y)
    assert len(found.classes_) == 5
    with pytest.raises(UserError, match="3 shares"):
        Discoverer(n_novel=2, prior=(0.5, 0.3, 0.2), settings={"batch": 64}).fit(X, y)


def test_mistakes(fitted, blobs):
    X, y, _ = blobs
    with pytest.raises(NotFittedError):
        Discoverer().predict(X)
    with pytest.raises(UserError, match="X has 3 features, but Discoverer is expecting 10"):
        fitted.predict(X[:, :3])
    for wrong, message in (
        ({"settings": {"objective.magic": 1}}, '"objective.magic": ...} is no setting'),
        ({"settings": {"optim.lr.high": 1}}, '"optim.lr.high": ...} is no setting'),
        ({"settings": {"optim.lr": "high"}}, "\"optim.lr\": 'high'} is no number"),
        ({"settings": {"ema": "0.9"}}, "\"ema\": '0.9'} is no number"),
        ({"settings": {"tau": True}}, '"tau": True} is no number'),
        ({"settings": {"head": 3}}, '"head": 3} is no choice of it: choose from prototype, linear'),
        ({"settings": "fast"}, "settings='fast' is no dict"),
        ({"settings": {3: 4}}, "has the name 3, which is no text"),
        ({"epochs": 2.5}, "epochs=2.5 is no whole number"),
        ({"n_novel": 2.5}, "n_novel=2.5 is no whole number"),
        ({"n_novel": True}, "n_novel=True is no whole number"),
        ({"prior": 3}, "prior=3 is no prior"),
        ({"encoder": torch.nn.Linear}, "is no encoder: give a name or an nn.Module"),
        ({"preset": "magic"}, 'preset="magic" is not for vectors'),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            Discoverer().set_params(**wrong).fit(X, y)
    with pytest.raises(UserError, match="no seed"):
        Discoverer(random_state="a").fit(X, y)
    with pytest.raises(UserError, match="does not exist"):
        Discoverer.load("nowhere")
    with pytest.raises(UserError, match="requires y to be passed, but the target y is None"):
        Discoverer().fit_predict(X)
    with pytest.raises(UserError, match="y labels no item"):
        Discoverer().fit(X, np.full(len(X), -1))
    with pytest.raises(UserError, match="y labels every item, so there is nothing to discover: give -1"):
        Discoverer().fit(X, np.zeros(len(X)))
    with pytest.raises(UserError, match="one entry of y"):
        Discoverer().fit(X, y[:-1])


@pytest.mark.parametrize(
    ("arguments", "name", "value", "fix"),
    [
        ({"epochs": 5}, "epochs", 7, "epochs=7"),
        ({"n_novel": 3}, "novel", 4, "n_novel=4"),
        ({}, "prior", "1/2,1/2", "prior='1/2,1/2'"),
        ({"encoder": torch.nn.Linear(10, 4)}, "encoder", "flat", "encoder='flat'"),
        ({}, "seed", 1, "random_state=1"),
    ],
)
def test_a_setting_may_not_say_what_an_argument_says(blobs, arguments, name, value, fix):
    X, y, _ = blobs
    with pytest.raises(UserError) as error:
        Discoverer(**arguments, settings={name: value}).fit(X, y)
    assert str(error.value) == (
        f"settings={{{name!r}: {value!r}}} has an argument of its own, and both cannot hold: give {fix} instead"
    )


def test_the_example_in_the_docstring():
    names = {"np": np, "Discoverer": Discoverer}
    assert doctest.testmod(novakind.estimator, extraglobs=names).failed == 0


def test_what_is_not_asked_for_is_left_to_the_preset():
    _, config = Discoverer(preset="fast")._settings(Image, {})
    assert (config.encoder, config.epochs) == ("fastnet-wide", 15)
    _, config = Discoverer(preset="fast", encoder="convnet", epochs=3)._settings(Image, {})
    assert (config.encoder, config.epochs) == ("convnet", 3)


@pytest.mark.parametrize(
    ("X", "kind"),
    [(np.zeros((9, 4)), Features), (np.zeros((9, 20, 3)), Series), (np.zeros((9, 8, 8), np.uint8), Image)],
)
def test_the_preset_is_that_of_the_kind_of_data_as_on_the_command_line(X, kind, tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=np.zeros(9))
    source, config = assemble(str(tmp_path / "data.npz"), "auto", {"novel": 2, "seed": 0})
    assert Discoverer(random_state=0)._settings(kind, {}) == (source.reading, config)


@pytest.mark.parametrize(("encoder", "start"), [("auto", "clusters"), ("flat", "clusters"), ("mlp", "random")])
def test_a_network_that_learns_from_vectors_does_not_start_from_their_clusters(encoder, start, tmp_path):
    np.savez(tmp_path / "data.npz", X=np.zeros((9, 4)), y=np.zeros(9))
    asked = {"novel": 2, "seed": 0} | ({"encoder": encoder} if encoder != "auto" else {})
    _, config = assemble(str(tmp_path / "data.npz"), "auto", asked)
    assert config.start == start
    assert Discoverer(encoder=encoder, random_state=0)._settings(Features, {})[1] == config


def test_partly_trained_it_starts_from_what_the_frozen_encoder_gives(monkeypatch):
    begun = []
    monkeypatch.setattr("novakind.estimator.frozen_first", lambda *given: begun.append(given) or frozen_first(*given))
    monkeypatch.setattr("novakind.training.loop.choose_epochs", lambda steps, prepared: 1)
    pictures = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    y = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
    settings = {"tune": "partly", "size": 32, "batch": 20}
    Discoverer(1, encoder="efficientnet-lite0", epochs=1, settings=settings, random_state=0).fit(pictures, y)
    assert len(begun) == 1
