"""The baselines that need no pairs of items: each loss against its formula written out, then whole runs on blobs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from baselines import DIM, KNOWN, NOVEL, PRIOR, make_batch, make_model
from short import blobs, fit_until
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from novakind.config import Config, Optim, starting
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import part, standardise
from novakind.encoders import build
from novakind.encoders.flat import Flat
from novakind.methods import Embedded, make_method
from novakind.methods.kmeans import Kmeans
from novakind.methods.nev import NEV, lacking_variance, negative_learning
from novakind.methods.supcon import SupCon, contrast
from novakind.modality.image import Image
from novakind.model import Model, load_model, predict
from novakind.objective.heads import MLPHead
from novakind.progress import Reporter
from novakind.runs.finish import finish
from novakind.runs.folder import Run
from novakind.training.loop import fit

LEARNING = ["uno", "iic", "nev", "supcon", "simgcd"]


# --- NEV


def test_negative_learning_by_hand():
    probs = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.1, 0.9]])
    literal = -(math.log(0.8) + math.log(0.7) + math.log(1.0) + math.log(0.9)) / 2
    assert negative_learning(probs.log(), 2).item() == pytest.approx(literal, rel=1e-5)
    certain = torch.tensor([[0.0, -200.0, -200.0]], requires_grad=True)  # of a known class, but it can still learn
    loss = negative_learning(torch.log_softmax(certain, 1), 1)
    (gradient,) = torch.autograd.grad(loss, certain)
    assert loss.item() == pytest.approx(200 - math.log(2))
    torch.testing.assert_close(gradient, torch.tensor([[1.0, -0.5, -0.5]]))


def test_lacking_variance_is_literal_and_ends_at_fair_shares():
    logp = torch.log_softmax(torch.randn(20, 5), 1)
    powers = logp[:, 2:].double().exp() ** (1 / 0.25)
    probs = powers / powers.sum(1, keepdim=True)
    variance = ((probs - probs.mean(0)) ** 2).sum(0) / 19
    literal = (2 / 9 - variance).clamp(min=0).mean().item()
    assert lacking_variance(logp, 2, 0.25).item() == pytest.approx(literal, rel=1e-5)
    assert NEV.hard == 0.005

    fair = torch.eye(3).repeat(4, 1)  # biased variance exactly (U - 1) / U^2 in each class, unbiased above it
    known = torch.zeros(12, 2)
    assert lacking_variance(torch.cat([known, fair], 1).log(), 2, 0.005).item() == 0
    one = torch.tensor([[1.0, 0.0, 0.0]]).repeat(12, 1)
    assert lacking_variance(torch.cat([known, one], 1).log(), 2, 0.005).item() == pytest.approx(2 / 9)
    uneven = torch.eye(3)[[0] * 6 + [1] * 6 + [2] * 0]  # two above their share are cut at zero, the third lacks all
    assert lacking_variance(torch.cat([known, uneven], 1).log(), 2, 0.005).item() == pytest.approx(2 / 27)


def test_nev_terms():
    method, model, batch = NEV(Config(novel=NOVEL), PRIOR), make_model(), make_batch()
    unlabeled = {"negative", "entropy", "variance", "views"}
    terms = method.loss(model, batch)
    assert set(terms) == {"ce", *unlabeled}
    assert set(method.loss(model, make_batch(labeled=0))) == unlabeled
    assert set(method.loss(model, make_batch(views=0))) == {"ce"}
    rows = torch.nn.functional.normalize(model.embedding(batch.x)[12:], dim=1)
    alike = (rows @ rows.T / 0.1).exp()
    literal = [-(alike[i, (i + 30) % 60] / (alike[i].sum() - alike[i, i])).log() for i in range(60)]
    torch.testing.assert_close(terms["views"], torch.stack(literal).mean())
    novel = model(batch.x)[12:, KNOWN:].exp()
    novel = novel / novel.sum(1, keepdim=True)
    torch.testing.assert_close(terms["entropy"], 0.1 * -(novel * novel.log()).sum(1).mean())


# --- SupCon


def test_contrast_of_three_points_by_hand():
    rows = torch.tensor([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])  # cosines 0, -1 and 0
    loss = contrast(rows, torch.tensor([0, 0, 1]), temperature=0.5)
    first = -math.log(1 / (1 + math.exp(-2)))  # partner at cosine 0, the other at -1
    second = -math.log(1 / 2)  # both at 0
    assert loss.item() == pytest.approx((first + second) / 2)  # the third has no partner and is left out


def test_contrast_without_any_partner_is_zero():
    rows = torch.randn(3, 4, requires_grad=True)
    loss = contrast(rows, torch.tensor([0, 1, 2]), 0.1)
    (gradient,) = torch.autograd.grad(loss, rows)
    assert loss.item() == 0
    assert not gradient.any()
    assert contrast(torch.randn(1, 4), torch.tensor([0]), 0.1).item() == 0


def test_contrast_averages_over_partners():
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    logs = []
    for i in range(3):
        others = [j for j in range(3) if j != i]
        total = sum(math.exp(rows[i] @ rows[j]) for j in others)
        logs.append(np.mean([float(rows[i] @ rows[j]) - math.log(total) for j in others]))
    assert contrast(rows, torch.zeros(3, dtype=torch.int64), 1.0).item() == pytest.approx(-np.mean(logs), rel=1e-5)


def test_supcon_learns_from_labels_alone():
    (stage,) = SupCon(Config(), PRIOR).stages(3)
    assert (stage.epochs, stage.labeled, stage.unlabeled, stage.labeled_views) == (3, True, False, 2)
    assert SupCon.temperature == 0.07


# --- k-means on raw rows


def raw(collection: Collection) -> np.ndarray:
    modality = collection.modality
    return modality.normalise(modality.collate(collection.items)).flatten(1).numpy()


def found(collection: Collection, config: Config) -> tuple[Model, np.ndarray]:
    """The model, and its task-aware clusters of the unlabeled items."""
    model, _, history = fit(collection, part(collection, 0.0, 0.0), config)
    assert history == []
    logp = predict(model, collection.items)[1]
    return model, logp[collection.labels < 0][:, len(collection.classes) :].argmax(1)


def test_kmeans_is_sklearn_on_the_raw_rows():
    collection = blobs(items=480)
    model, clusters = found(collection, Config(novel=3, method="kmeans"))
    rows = raw(collection)[collection.labels < 0]
    expected = KMeans(3, n_init=10, random_state=0).fit(rows)
    assert adjusted_rand_score(clusters, expected.labels_) == 1
    assert (model.card.encoder, model.card.head) == ("flat", "centroid")
    np.testing.assert_allclose(predict(model, collection.items)[0][:, :16], raw(collection), atol=1e-5)


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_kmeans_reduces_wide_rows_to_principal_components(ema):
    collection = blobs(items=480)
    _, clusters = found(collection, Config(novel=3, method="kmeans", dim=4, ema=ema))
    rows = raw(collection)
    reduced = PCA(4, random_state=0).fit(rows).transform(rows)[collection.labels < 0]
    expected = KMeans(3, n_init=10, random_state=0).fit(reduced)
    assert adjusted_rand_score(clusters, expected.labels_) == 1


def test_kmeans_of_pictures():
    rng = np.random.default_rng(0)
    kind = np.arange(80) % 4
    pictures = (50 * kind[:, None, None] + rng.integers(0, 40, (80, 9, 9))).astype(np.uint8)
    collection = from_arrays(pictures, np.where(kind < 2, kind, -1))
    model, clusters = found(collection, replace(starting(Image, "glyphs"), novel=2, method="kmeans", dim=100, batch=20))
    assert adjusted_rand_score(kind[kind >= 2], clusters) == 1
    assert model.embed.weight.shape == (100, 243)
    assert not model.embed.weight[80:].any()  # no more components than items


def test_flat_encoder():
    assert Flat((5,)).dim == 5
    assert Flat((3, 8, 8)).dim == 192
    assert build("flat", (3, 64, 20)).dim == 3 * 32 * 20
    items = torch.randn(2, 3, 8, 8)
    assert torch.equal(Flat((3, 8, 8))(items.to(memory_format=torch.channels_last)), items.reshape(2, -1))
    halves = torch.arange(64.0).view(1, 1, 1, 64).expand(1, 3, 64, 64)
    assert Flat((3, 64, 64))(halves)[0, :3].tolist() == [0.5, 2.5, 4.5]


def test_kmeans_spends_no_epoch_and_has_no_loss():
    method = Kmeans(Config(), PRIOR)
    assert sum(stage.epochs for stage in method.stages(50)) == 0
    assert method.loss(make_model(), make_batch()) == {}


# --- whole runs

QUICK = Config(novel=3, batch=64, epochs=10, optim=Optim(lr=0.05))


@pytest.fixture
def narrow(monkeypatch):
    """Small projections: the same code in a fraction of the time."""
    monkeypatch.setattr(MLPHead, "hidden", 64)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    ("method", "least"),
    [("uno", 0.95), ("iic", 0.95), ("nev", 0.6), ("supcon", 0.6), ("kmeans", 0.95)],
)
def test_from_data_to_a_saved_model(tmp_path, method, least):
    collection = blobs(items=480)
    split = part(collection, 0.1, 0.2)
    collection = standardise(collection, split)
    run = Run.claim(tmp_path / method)
    results = finish(
        run, collection, split, *fit(collection, split, replace(QUICK, method=method), run, Reporter(quiet=True))
    )
    assert results["metrics"]["novel_acc/test/agnostic"] >= least
    assert results["metrics"]["known_acc/test/agnostic"] > 0.9
    loaded = load_model(run.model_file)
    embedding, logp = predict(loaded, collection.items)
    with np.load(run.path / "embeddings.npz") as kept:
        np.testing.assert_array_equal(kept["logp"], logp)
        np.testing.assert_array_equal(kept["embedding"], embedding)
    np.testing.assert_allclose(np.exp(logp).sum(1), 1, rtol=1e-5)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("change", [{"steps": "alternating"}, {"epochs": 1}, {"proportionate": True, "epochs": 2}])
@pytest.mark.parametrize("method", LEARNING)
def test_other_ways_of_training(method, change):
    collection = blobs(items=240)
    config = replace(QUICK, method=method, **{"epochs": 2, **change})
    _, _, history = fit(collection, part(collection, 0.1, 0.0), config)
    assert len(history) == config.epochs
    assert all(np.isfinite(line["loss/total"]) for line in history)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("method", LEARNING)
def test_a_stopped_run_ends_with_the_same_bytes(tmp_path, method):
    """Stopped inside the first stage, between the stages, inside the second, and when all epochs are done."""
    collection = blobs(items=240)
    split = part(collection, 0.1, 0.0)
    config = replace(QUICK, method=method, epochs=7, ema=0.5)
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    run = Run.claim(tmp_path / "stopped")
    for epoch in (1, 2, 4, 7):
        fit_until(epoch, collection, split, config, run)
    stopped, _, _ = fit(collection, split, config, run)
    assert stopped.card == whole.card
    assert list(stopped.state_dict()) == list(whole.state_dict())
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, stopped.state_dict()[name]), name


@pytest.mark.parametrize("method", [*LEARNING, "kmeans"])
def test_begin_looks_at_no_weights(method):
    """Two models with other weights are set up alike, as a resumed run demands."""
    kind = make_method(Config(method=method, novel=NOVEL), PRIOR)
    results = []
    for seed in (1, 2):
        model = make_model()
        torch.manual_seed(seed)
        for weight in model.parameters():
            torch.nn.init.normal_(weight)
        torch.manual_seed(0)
        for stage in kind.stages(7):
            kind.begin(model, stage)
        results.append(
            {name: tensor for name, tensor in model.state_dict().items() if name.startswith(("extra", "head"))}
        )
    first, second = results
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_finish_of_supcon_places_centres():
    model, rows = make_model(), np.random.default_rng(0).normal(size=(60, DIM)).astype(np.float32)
    labels = np.arange(60) % 3 - 1
    embedding = predict(model, rows)[0]
    SupCon(Config(novel=NOVEL), PRIOR).finish(model, lambda: Embedded(embedding, labels, np.arange(60)))
    assert model.card.head == "direction"
    directions = embedding / np.linalg.norm(embedding, axis=1, keepdims=True)
    np.testing.assert_allclose(model.head.centres[1], directions[labels == 1].mean(0), atol=1e-5)
