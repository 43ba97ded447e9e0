"""The rivals that need no pairs of items: each loss against its formula written out, then whole runs on blobs."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from torch import Tensor

from novakind.config import Config, Optim
from novakind.data import Collection, from_arrays
from novakind.discoverer import discover
from novakind.encoders import build
from novakind.encoders.flat import Flat
from novakind.heads import MLPHead
from novakind.methods import Batch, Embedded, make_method
from novakind.methods.iic import IIC, divergence, divergence_of_pairs
from novakind.methods.kmeans import Kmeans
from novakind.methods.nev import NEV, lacking_variance, negative_learning
from novakind.methods.sinkhorn import sinkhorn
from novakind.methods.supcon import SupCon, contrast
from novakind.methods.uno import UNO
from novakind.modality.features import Features
from novakind.model import Card, Model, load_model, predict
from novakind.presets import glyphs
from novakind.prior import Prior
from novakind.progress import Reporter
from novakind.run import Run
from novakind.split import part, standardise
from novakind.train import fit

DIM, KNOWN, NOVEL = 6, 2, 3
PRIOR = Prior.uniform(KNOWN, NOVEL)
LEARNING = ["uno", "iic", "nev", "supcon"]


def make_model(dim: int = DIM, width: int = 16) -> Model:
    torch.manual_seed(0)
    settings = Features((0.0,) * dim, (1.0,) * dim).settings()
    return Model(Card("mlp", "prototype", width, 0.1, KNOWN, ("a", "b", "new-1", "new-2", "new-3"), settings))


def make_batch(labeled: int = 12, views: int = 30) -> Batch:
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(KNOWN, (labeled,), generator=generator)
    x = torch.randn(labeled + 2 * views, DIM, generator=generator)
    return Batch(x, labels, 0.0, torch.arange(views))


def begun(kind: type = UNO, epochs: int = 7) -> tuple[UNO, Model]:
    """A method with its model in the last stage."""
    method, model = kind(Config(novel=NOVEL), PRIOR), make_model()
    for stage in method.stages(epochs):
        method.begin(model, stage)
    return method, model


# --- Sinkhorn


def literal_sinkhorn(scores: np.ndarray, eps: float, iterations: int) -> np.ndarray:
    """Rows are clusters as in the papers; every entry divided in turn."""
    q = np.exp(scores.astype(np.float64) / eps).T
    clusters, items = q.shape
    q /= q.sum()
    for _ in range(iterations):
        for row in range(clusters):
            q[row] /= q[row].sum() * clusters
        for column in range(items):
            q[:, column] /= q[:, column].sum() * items
    return (q * items).T


@pytest.mark.parametrize(("eps", "iterations"), [(0.05, 3), (0.05, 1), (0.3, 10)])
def test_sinkhorn_is_its_definition(eps, iterations):
    scores = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    ours = sinkhorn(torch.from_numpy(scores), eps, iterations)
    np.testing.assert_allclose(ours, literal_sinkhorn(scores, eps, iterations), rtol=1e-10)
    single = sinkhorn(torch.from_numpy(scores).float(), eps, iterations)
    np.testing.assert_allclose(single, ours, atol=1e-4)


def test_sinkhorn_shares_the_items_out_evenly():
    scores = torch.randn(60, 4, generator=torch.Generator().manual_seed(0)) + torch.tensor([3.0, 0, 0, 0])
    shares = sinkhorn(scores, 0.5, 100)
    torch.testing.assert_close(shares.sum(1), torch.ones(60))
    torch.testing.assert_close(shares.sum(0), torch.full((4,), 15.0))


def test_sinkhorn_at_a_small_eps_stays_finite():
    scores = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]])
    shares = sinkhorn(scores, eps=0.001)
    assert shares.isfinite().all()
    torch.testing.assert_close(shares.sum(1), torch.ones(4))
    torch.testing.assert_close(shares[:2], torch.eye(2))
    assert not sinkhorn(scores.requires_grad_()).requires_grad


# --- UNO


def literal_unified(cosines: Tensor, labels: Tensor, views: int, known: int, tau: float) -> float:
    """One item and one class at a time, in float64."""
    cosines = cosines.detach().double()
    novel = [cosines[len(labels) + v * views : len(labels) + (v + 1) * views, known:].numpy() for v in (0, 1)]
    shares = [literal_sinkhorn(scores, 0.05, 3) for scores in novel]

    def cross_entropy(row: int, target: list[float]) -> float:
        total = sum(math.exp(c / tau) for c in cosines[row].tolist())
        return -sum(t * math.log(math.exp(c / tau) / total) for t, c in zip(target, cosines[row].tolist(), strict=True))

    width = cosines.shape[1]
    sums = [cross_entropy(row, [float(j == label) for j in range(width)]) for row, label in enumerate(labels.tolist())]
    for item in range(views):
        first = cross_entropy(len(labels) + item, [0.0] * known + shares[1][item].tolist())
        second = cross_entropy(len(labels) + views + item, [0.0] * known + shares[0][item].tolist())
        sums.append((first + second) / 2)
    return sum(sums) / len(sums)


@pytest.mark.parametrize(("labeled", "views"), [(5, 7), (0, 7), (5, 0)])
def test_uno_loss_is_its_definition(labeled, views):
    method, batch = UNO(Config(), PRIOR), make_batch(labeled, views)
    cosines = torch.rand(labeled + 2 * views, 5, generator=torch.Generator().manual_seed(2)) * 2 - 1
    literal = literal_unified(cosines, batch.labels, views, KNOWN, 0.1)
    assert method.unified(cosines, batch).item() == pytest.approx(literal, rel=1e-4)


def test_uno_terms_are_means_over_heads():
    method, model = begun()
    batch, rivals = make_batch(), model.extra["rivals"]
    terms = method.loss(model, batch)
    embedding = model.embedding(batch.x)
    known = model.head.recognise(embedding)[:, :KNOWN]
    for name, heads, width in (("unified", [model.head, *rivals.others], 3), ("overclustering", rivals.finer, 9)):
        assert len(heads) == 4
        cosines = [torch.cat([known, head.sort(embedding)[:, KNOWN:]], 1) for head in heads]
        assert {each.shape[1] for each in cosines} == {KNOWN + width}
        literal = [literal_unified(each, batch.labels, 30, KNOWN, 0.1) for each in cosines]
        assert terms[name].item() == pytest.approx(np.mean(literal) / 2, rel=1e-3)
        if name == "unified":
            np.testing.assert_allclose(rivals.loss, literal, rtol=1e-3)


def test_the_softmax_is_over_classes_not_over_the_batch(monkeypatch):
    """The first version's mistake: there, an item gained by raising all its cosines, at the cost of other items."""
    method, batch = UNO(Config(), PRIOR), make_batch(4, 6)
    cosines = torch.randn(16, 5, generator=torch.Generator().manual_seed(3)) / 4
    targets = method.targets(cosines, batch)
    monkeypatch.setattr(UNO, "targets", lambda *_: targets)
    everything = method.unified(cosines, batch)
    for row in (0, 5, 12):
        raised = cosines.clone()
        raised[row] += 0.5
        torch.testing.assert_close(method.unified(raised, batch), everything)
    labeled, first, second = batch.split(-(targets * torch.log_softmax(cosines / 0.1, 0)).sum(1))
    mistaken = (labeled.sum() + (first.sum() + second.sum()) / 2) / 10
    assert abs(mistaken - everything) > 0.1


def test_known_and_novel_targets_do_not_mix():
    method, batch = UNO(Config(), PRIOR), make_batch(4, 6)
    cosines = torch.rand(16, 5)
    labeled, first, second = batch.split(method.targets(cosines, batch))
    assert torch.equal(labeled, torch.nn.functional.one_hot(batch.labels, 5).float())
    assert not first[:, :KNOWN].any()
    assert not second[:, :KNOWN].any()
    torch.testing.assert_close(first[:, KNOWN:], sinkhorn(cosines[10:, KNOWN:]))
    torch.testing.assert_close(second[:, KNOWN:], sinkhorn(cosines[4:10, KNOWN:]))


@pytest.mark.parametrize("best", range(4))
def test_the_head_with_the_lowest_loss_is_kept(best):
    method, model = begun()
    rivals = model.extra["rivals"]
    rivals.loss.copy_(torch.tensor([2.0, 3.0, 4.0, 5.0]))
    rivals.loss[best] = 1.0
    chosen = [model.head, *rivals.others][best]
    embedding = torch.randn(9, 16)
    model.eval()
    expected = torch.cat([model.head.recognise(embedding)[:, :KNOWN], chosen.sort(embedding)[:, KNOWN:]], 1)
    method.finish(model, lambda: pytest.fail("no embedding is needed"))
    torch.testing.assert_close(model.head(embedding), torch.log_softmax(expected / 0.1, 1))


def test_losses_of_heads_are_summed_over_one_epoch():
    method, model = begun()
    stage = method.stages(7)[-1]
    for _ in range(2):
        method.before_epoch(model, stage, 0, [], lambda: pytest.fail("no embedding is needed"))
        assert not model.extra["rivals"].loss.any()
        method.loss(model, make_batch())
        once = model.extra["rivals"].loss.clone()
        method.loss(model, make_batch())
        torch.testing.assert_close(model.extra["rivals"].loss, 2 * once, rtol=1e-3, atol=0)
    assert "extra.rivals.loss" in model.state_dict()


def test_stages_of_uno():
    method = UNO(Config(), PRIOR)
    for epochs in range(1, 60):
        stages = method.stages(epochs)
        assert sum(stage.epochs for stage in stages) == epochs
        assert all(stage.epochs for stage in stages)
        assert stages[-1].name == "discover"
    assert [stage.epochs for stage in method.stages(700)] == [200, 500]
    assert [stage.unlabeled for stage in method.stages(700)] == [False, True]
    assert [stage.name for stage in method.stages(1)] == ["discover"]


def test_uno_begins_with_the_known_classes_alone():
    method, model = UNO(Config(novel=NOVEL), PRIOR), make_model()
    method.begin(model, method.stages(7)[0])
    batch = make_batch(views=0)
    terms = method.loss(model, batch)
    known = model.head.recognise(model.embedding(batch.x))[:, :KNOWN] / 0.1
    assert list(terms) == ["ce"]
    torch.testing.assert_close(terms["ce"], torch.nn.functional.cross_entropy(known, batch.labels))


def test_mlp_head_joins_its_two_halves():
    torch.manual_seed(0)
    head = MLPHead(6, 5, tau=0.2).double().eval()
    head.novel[:2] = False
    embedding = torch.randn(4, 6, dtype=torch.float64)
    for item, row in zip(embedding, head(embedding), strict=True):
        middle = head.projection(item[None])[0]
        pairs = [(item, weight) for weight in head.directions.weight[:2]]
        pairs += [(middle, weight) for weight in head.prototypes.weight[2:]]
        scores = torch.stack([torch.exp(torch.dot(a, b) / a.norm() / b.norm() / 0.2) for a, b in pairs])
        torch.testing.assert_close(row, (scores / scores.sum()).log())


# --- IIC


def test_divergences_of_two_points_by_hand():
    p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.9, 0.1]])
    forward = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1)
    backward = 0.9 * math.log(0.9 / 0.5) + 0.1 * math.log(0.1 / 0.5)
    assert divergence(p.log(), q.log()).item() == pytest.approx((forward + backward) / 2)
    assert divergence_of_pairs(p.log(), q.log()).item() == pytest.approx((forward + backward) / 2)
    assert divergence(p.log(), p.log()).item() == 0


def test_divergence_of_pairs_is_over_all_pairs():
    some, others = (torch.log_softmax(torch.randn(rows, 4), 1) for rows in (3, 5))
    literal = torch.stack([divergence(a[None], b[None]) for a in some for b in others]).mean()
    torch.testing.assert_close(divergence_of_pairs(some, others), literal)


def test_iic_is_uno_with_two_terms():
    method, model = begun(IIC)
    batch = make_batch()
    terms, plain = method.loss(model, batch), UNO.loss(UNO(Config(novel=NOVEL), PRIOR), model, batch)
    assert set(terms) == {*plain, "intra", "inter"}
    for name, term in plain.items():
        torch.testing.assert_close(term, terms[name])
    cosines = torch.rand(72, 5) * 2 - 1
    constraints = method.constraints([cosines], batch)
    labeled, first, second = batch.split(torch.log_softmax(cosines / 0.1, 1))
    far = torch.stack([divergence(a[None], b[None]) for a in labeled for b in torch.cat([first, second])]).mean()
    torch.testing.assert_close(constraints["inter"], -0.05 * far)
    _, first, second = batch.split(torch.log_softmax(cosines[:, KNOWN:] / 0.1, 1))
    torch.testing.assert_close(constraints["intra"], 0.01 * divergence(first, second))
    assert set(method.loss(model, make_batch(labeled=0))) == {*plain, "intra"}
    assert set(method.loss(model, make_batch(views=0))) == set(plain)


# --- NEV


def test_negative_learning_by_hand():
    probs = torch.tensor([[0.2, 0.3, 0.5], [0.0, 0.1, 0.9]])
    literal = -(math.log(0.8) + math.log(0.7) + math.log(1.0) + math.log(0.9)) / 2
    assert negative_learning(probs.log(), 2).item() == pytest.approx(literal, rel=1e-5)
    sure = torch.tensor([[0.0, -200.0, -200.0]], requires_grad=True)  # certain of a known class, and yet it can learn
    loss = negative_learning(torch.log_softmax(sure, 1), 1)
    (gradient,) = torch.autograd.grad(loss, sure)
    assert loss.item() == pytest.approx(200 - math.log(2))
    torch.testing.assert_close(gradient, torch.tensor([[1.0, -0.5, -0.5]]))


def test_lacking_variance_is_literal_and_ends_at_fair_shares():
    logp = torch.log_softmax(torch.randn(20, 5), 1)
    probs = logp.exp()[:, 2:] / logp.exp()[:, 2:].sum(1, keepdim=True)
    variance = ((probs - probs.mean(0)) ** 2).mean(0)
    assert lacking_variance(logp, 2).item() == pytest.approx((2 / 9 - variance).clamp(min=0).mean().item(), rel=1e-5)

    fair = torch.eye(3).repeat(4, 1)  # variance exactly (U - 1) / U^2 in each class
    known = torch.zeros(12, 2)
    assert lacking_variance(torch.cat([known, fair], 1).log(), 2).item() == pytest.approx(0, abs=1e-7)
    one = torch.tensor([[1.0, 0.0, 0.0]]).repeat(12, 1)
    assert lacking_variance(torch.cat([known, one], 1).log(), 2).item() == pytest.approx(2 / 9)
    uneven = torch.eye(3)[[0] * 6 + [1] * 6 + [2] * 0]  # two above their share are cut at zero, the third lacks all
    assert lacking_variance(torch.cat([known, uneven], 1).log(), 2).item() == pytest.approx(2 / 27)


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
    assert (stage.epochs, stage.labeled, stage.unlabeled) == (3, True, False)


# --- k-means on raw rows


def blobs(known: int = 3, novel: int = 3, items: int = 480) -> Collection:
    """Well separated vectors whose last `novel` classes are hidden."""
    X, truth = make_blobs(items, 16, centers=known + novel, cluster_std=2.0, random_state=1)
    collection = from_arrays(X, np.where(truth < known, truth, -1), "blobs")
    names = tuple(str(number) for number in range(known + novel))
    return replace(collection, truth=truth.astype(np.int64), truth_classes=names)


def raw(collection: Collection) -> np.ndarray:
    modality = collection.modality
    return modality.normalise(modality.collate(collection.items)).flatten(1).numpy()


def found(collection: Collection, config: Config) -> tuple[Model, np.ndarray]:
    """The model, and the clusters that it gives to the unlabeled items when told that they are novel."""
    model, _, history = fit(collection, part(collection, 0.0, 0.0), config)
    assert history == []
    logp = predict(model, collection.items)[1]
    return model, logp[collection.labels < 0][:, len(collection.classes) :].argmax(1)


def test_kmeans_is_sklearn_on_the_raw_rows():
    collection = blobs()
    model, clusters = found(collection, Config(novel=3, method="kmeans"))
    rows = raw(collection)[collection.labels < 0]
    expected = KMeans(3, n_init=10, random_state=0).fit(rows)
    assert adjusted_rand_score(clusters, expected.labels_) == 1
    assert (model.card.encoder, model.card.head) == ("flat", "centroid")
    np.testing.assert_allclose(predict(model, collection.items)[0][:, :16], raw(collection), atol=1e-5)


@pytest.mark.parametrize("ema", [0.0, 0.9])
def test_kmeans_reduces_wide_rows_to_principal_components(ema):
    collection = blobs()
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
    model, clusters = found(collection, replace(glyphs(), novel=2, method="kmeans", dim=100, batch=20))
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
    ("method", "least"), [("uno", 0.95), ("iic", 0.95), ("nev", 0.6), ("supcon", 0.6), ("kmeans", 0.95)]
)
def test_from_data_to_a_saved_model(tmp_path, method, least):
    collection = blobs()
    split = part(collection, 0.1, 0.2)
    collection = standardise(collection, split)
    run = Run.claim(tmp_path / method)
    results = discover(collection, split, replace(QUICK, method=method), run, Reporter(quiet=True))
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
def test_a_stopped_run_ends_with_the_same_bytes(tmp_path, monkeypatch, method):
    """Stopped inside the first stage, between the stages, inside the second, and when all epochs are done."""
    collection = blobs(items=240)
    split = part(collection, 0.1, 0.0)
    config = replace(QUICK, method=method, epochs=7, ema=0.5)
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    checkpoint = Run.checkpoint

    def stop(run, state):
        checkpoint(run, state)
        if state["epochs"] in (1, 2, 4, 7):
            raise KeyboardInterrupt

    run = Run.claim(tmp_path / "stopped")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "checkpoint", stop)
        for _ in range(4):
            with pytest.raises(KeyboardInterrupt):
                fit(collection, split, config, run)
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
    assert model.card.head == "centroid"
    np.testing.assert_allclose(model.head.centres[1], embedding[labels == 1].mean(0), atol=1e-5)
