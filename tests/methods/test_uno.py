"""UNO and IIC: assignments and losses against their formulas written out."""

import math

import numpy as np
import pytest
import torch
from baselines import KNOWN, NOVEL, PRIOR, make_batch, make_model
from torch import Tensor

from novakind.config import Config
from novakind.methods.iic import IIC, divergence, divergence_of_pairs
from novakind.methods.sinkhorn import sinkhorn
from novakind.methods.uno import UNO
from novakind.model import Model
from novakind.objective.heads import MLPHead
from novakind.objective.prior import Prior


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
    for name, heads, width in (("unified", [model.head, *rivals.others], 3), ("overclustering", rivals.finer, 30)):
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
    torch.testing.assert_close(constraints["intra"], 0.01 * divergence(first, second) / NOVEL)
    assert set(method.loss(model, make_batch(labeled=0))) == {*plain, "intra"}
    assert set(method.loss(model, make_batch(views=0))) == set(plain)


@pytest.mark.parametrize(("asked", "novel", "times"), [(0, 5, 10), (0, 10, 10), (0, 20, 3), (4, 5, 4)])
def test_overclustering_is_as_published_unless_asked_for(asked, novel, times):
    assert UNO(Config(overclustering=asked), Prior.uniform(2, novel)).overclustering == times


def test_sinkhorn_with_given_shares():
    scores, shares = torch.randn(60, 3, dtype=torch.float64), torch.tensor([0.6, 0.3, 0.1], dtype=torch.float64)
    found = sinkhorn(scores, 0.5, 200, shares)
    torch.testing.assert_close(found.mean(0), shares)
    torch.testing.assert_close(found.sum(1), torch.ones(60, dtype=torch.float64))


def test_shares_are_learnt_where_they_are_not_given():
    """Equal for a fifth of the stage; then they follow the answers, and none falls below a fifth of an equal one."""
    fixed, method = (UNO(Config(novel=NOVEL, prior=prior), PRIOR) for prior in ("uniform", "auto"))
    batch, cosines = make_batch(progress=0.5), torch.zeros(72, KNOWN + NOVEL)
    cosines[:, KNOWN] = 1
    shares = torch.full((NOVEL,), 1 / NOVEL)
    assert fixed.learnt(cosines, shares, batch) is None
    assert method.learnt(cosines, shares, make_batch(progress=0.1)) is None
    torch.testing.assert_close(shares, torch.full((NOVEL,), 1 / NOVEL))
    for _ in range(1000):
        found = method.learnt(cosines, shares, batch)
    torch.testing.assert_close(found, torch.tensor([1.0, 1 / 15, 1 / 15]) / (1 + 2 / 15), atol=1e-3, rtol=0)
