"""The methods' losses are sums of the paper's terms, weighted as asked; the baseline without terms of its own."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from baselines import DIM, KNOWN, make_batch, make_model
from torch import Tensor, nn

from novakind.config import Config, Objective, starting
from novakind.errors import UserError
from novakind.methods import METHODS, Batch, Embedded, make_method
from novakind.methods.ours import Ours, dynamic_weights, ramp_up
from novakind.methods.supervised import Supervised
from novakind.modality.image import Image
from novakind.model import Model, predict
from novakind.objective import losses
from novakind.objective.heads import CentroidHead
from novakind.objective.prior import Prior

PRIOR = Prior(KNOWN, (0.5, 0.25, 0.25))
NOTHING = Objective(ce=0.0, swapped_sharpened=0.0, kl=0.0, var=0.0)


def nothing() -> Embedded:
    raise AssertionError("this method has no need of embeddings")


def terms_of(objective: Objective, batch: Batch | None = None) -> dict[str, Tensor]:
    return Ours(Config(novel=3, objective=objective), PRIOR).loss(make_model(), batch or make_batch())


@pytest.fixture(scope="module")
def outputs() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Log-probabilities of the batch: labeled, first views, second views, both; and the labels."""
    batch = make_batch()
    logp = make_model()(batch.x)
    return logp[:12], logp[12:42], logp[42:], logp[12:], batch.labels


MEAN, COVARIANCE = PRIOR.mean(), PRIOR.covariance()
TERMS = {
    "ce": lambda labeled, first, second, both, labels: losses.cross_entropy(labeled, labels),
    "entropy": lambda labeled, first, second, both, labels: losses.entropy(both),
    "sharpened": lambda labeled, first, second, both, labels: losses.sharpened(both, 0.3),
    "norm": lambda labeled, first, second, both, labels: losses.consistency_norm(first, second),
    "mse": lambda labeled, first, second, both, labels: losses.consistency_mse(first, second),
    "swapped": lambda labeled, first, second, both, labels: losses.swapped(first, second),
    "swapped_sharpened": lambda labeled, first, second, both, labels: losses.swapped_sharpened(first, second, 0.4),
    "kl": lambda labeled, first, second, both, labels: losses.mean_kl(both, MEAN),
    "kl_one_sided": lambda labeled, first, second, both, labels: losses.mean_kl_one_sided(both, MEAN),
    "var": lambda labeled, first, second, both, labels: losses.covariance_norm(both, COVARIANCE),
    "var_diagonal": lambda labeled, first, second, both, labels: losses.variance_diagonal(both, MEAN, KNOWN),
    "novel_entropy": lambda labeled, first, second, both, labels: losses.novel_entropy(both, KNOWN, 0.2),
    "novel_mass": lambda labeled, first, second, both, labels: losses.novel_mass(both, KNOWN),
}
TUNED = replace(NOTHING, sharpness=0.3, target_sharpness=0.4, novel_temperature=0.2)


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_each_weight_switches_on_the_term_of_its_name(outputs, name, weight):
    terms = terms_of(replace(TUNED, **{name: weight}))
    assert list(terms) == [name]
    torch.testing.assert_close(terms[name], weight * TERMS[name](*outputs))
    assert terms[name].requires_grad


def test_every_weight_of_the_objective_is_a_term():
    weights = {field for field, value in vars(NOTHING).items() if value == 0} - {"smoothing", "soft_start"}
    assert weights == set(TERMS)
    assert terms_of(NOTHING) == {}
    assert set(terms_of(starting(Image, "paper").objective)) == {"ce", "entropy", "norm", "kl", "var"}
    assert set(terms_of(Objective())) == {"ce", "swapped_sharpened", "kl", "var"}


def test_smoothing_enters_the_cross_entropy(outputs):
    terms = terms_of(replace(NOTHING, ce=1.0, smoothing=0.2))
    torch.testing.assert_close(terms["ce"], losses.cross_entropy(outputs[0], outputs[4], 0.2))


@pytest.mark.parametrize(("progress", "sharpness"), [(0.0, 1.0), (0.1, 0.8), (0.2, 0.6), (0.3, 0.4), (1.0, 0.4)])
def test_a_soft_start_sharpens_targets_step_by_step(outputs, progress, sharpness):
    objective = replace(NOTHING, swapped_sharpened=1.0, target_sharpness=0.4, soft_start=0.3)
    (term,) = terms_of(objective, make_batch(progress=progress)).values()
    torch.testing.assert_close(term, losses.swapped_sharpened(outputs[1], outputs[2], sharpness))


def siblings(head: str = "prototype") -> tuple[Ours, Model]:
    method, model = Ours(Config(novel=3, heads=3), PRIOR), make_model(head=head)
    method.begin(model, method.stages(1)[0])
    return method, model


@pytest.mark.parametrize("head", ["prototype", "linear"])
def test_the_terms_of_several_heads_are_the_mean_over_them(head):
    method, model = siblings(head)
    others, alone = model.extra["siblings"].heads, Ours(Config(novel=3), PRIOR)
    batch = make_batch()
    expected = []
    for each in (nn.Sequential(model.embed, model.head), *others):
        one = make_model(head=head)
        one.embed.load_state_dict(each[0].state_dict())
        one.head.load_state_dict(each[1].state_dict())
        expected.append(alone.loss(one, batch))
    found = method.loss(model, batch)
    for name, term in found.items():
        torch.testing.assert_close(term, torch.stack([terms[name] for terms in expected]).mean())
    totals = torch.stack([torch.stack(list(terms.values())).sum() for terms in expected])
    torch.testing.assert_close(model.extra["siblings"].loss, totals.detach())
    assert totals.std() > 0
    method.before_epoch(model, method.stages(1)[0], 0, [], nothing)
    assert not model.extra["siblings"].loss.any()


@pytest.mark.parametrize("best", range(3))
def test_the_best_of_several_heads_is_kept(best):
    method, model = siblings()
    found = model.extra["siblings"]
    found.loss.copy_(torch.tensor([2.0, 3.0, 4.0]))
    found.loss[best] = 1.0
    features = torch.randn(9, model.embed.in_features)
    expected = [nn.Sequential(model.embed, model.head), *found.heads][best](features)
    method.finish(model, nothing)
    torch.testing.assert_close(model.head(model.embed(features)), expected)


def test_several_heads_without_any_term_lose_nothing():
    method, model = siblings()
    method.objective = NOTHING
    assert method.loss(model, make_batch()) == {}


def test_batches_of_one_kind_have_its_terms_alone():
    everything = replace(Objective(), **dict.fromkeys(TERMS, 1.0))
    assert set(terms_of(everything, make_batch(views=0))) == {"ce"}
    assert set(terms_of(everything, make_batch(labeled=0))) == set(TERMS) - {"ce"}


def test_a_batch_splits_in_its_order():
    labeled, first, second = make_batch(2, 3).split(torch.arange(8)[:, None])
    assert [part[:, 0].tolist() for part in (labeled, first, second)] == [[0, 1], [2, 3, 4], [5, 6, 7]]


@pytest.mark.parametrize(("progress", "expected"), [(0.0, math.exp(-5)), (0.15, math.exp(-1.25)), (0.3, 1), (0.9, 1)])
def test_the_ramp_is_on_self_taught_terms_alone(progress, expected):
    batch, steady = make_batch(progress=progress), {"ce", "kl", "kl_one_sided", "var", "var_diagonal", "novel_mass"}
    objective = replace(Objective(), **dict.fromkeys(TERMS, 1.0), weighting="ramp", ramp=0.3)
    fixed, ramped = terms_of(replace(objective, weighting="fixed"), batch), terms_of(objective, batch)
    assert ramp_up(progress / 0.3) == pytest.approx(expected)
    for name in TERMS:
        torch.testing.assert_close(ramped[name], fixed[name] * (1 if name in steady else expected))
    assert terms_of(replace(objective, ramp=0.0), batch)["entropy"] == fixed["entropy"]  # complete from the start


def logged(**terms: float) -> dict:
    return {"epoch": 1, "lr": 0.1, **{f"loss/{name}": value for name, value in terms.items()}, "val": 0.5}


def test_dynamic_weights_by_hand():
    assert dynamic_weights([]) == {}
    first = logged(ce=1.0, kl=2.0, var=1.0, total=4.0)
    assert dynamic_weights([first]) == {}
    # kl halves, var stays: rates 1/2 and 1, at temperature 2
    weights = dynamic_weights([first, logged(ce=0.1, kl=1.0, var=1.0, total=2.1)])
    slow = 2 * math.exp(0.5) / (math.exp(0.25) + math.exp(0.5))
    assert weights == pytest.approx({"kl": 2 - slow, "var": slow})
    assert weights["var"] > 1 > weights["kl"]


def test_dynamic_weights_are_divided_out_of_the_log():
    """Raw terms that are replayed under the very weights they earn give the weights of the raw terms."""
    rng = np.random.default_rng(0)
    raw = [dict(zip(("kl", "var", "entropy"), rng.uniform(0.1, 2, 3).tolist(), strict=True)) for _ in range(7)]
    history: list[dict] = []
    for epoch, terms in enumerate(raw):
        weights = dynamic_weights(history)
        if epoch >= 2:
            rates = [raw[epoch - 1][name] / raw[epoch - 2][name] / 2 for name in terms]
            total = sum(math.exp(rate) for rate in rates)
            assert weights == pytest.approx({n: 3 * math.exp(r) / total for n, r in zip(terms, rates, strict=True)})
            assert sum(weights.values()) == pytest.approx(3)
        history.append(logged(ce=1.0, **{name: value * weights.get(name, 1.0) for name, value in terms.items()}))
    assert dynamic_weights([logged(kl=0.0, var=1.0), logged(kl=0.0, var=1.0)]) == pytest.approx({"kl": 1, "var": 1})


def test_adaptive_weights_enter_the_loss():
    method = Ours(Config(novel=3, objective=Objective(weighting="adaptive")), PRIOR)
    model, batch = make_model(), make_batch()
    stage = method.stages(5)[0]
    method.before_epoch(model, stage, 0, [], nothing)
    plain = method.loss(model, batch)
    history = [logged(ce=1, swapped_sharpened=1, kl=1, var=1), logged(ce=1, swapped_sharpened=0.5, kl=0.2, var=2)]
    method.before_epoch(model, stage, 2, history, nothing)
    weights = {"ce": 1.0, **dynamic_weights(history)}
    for name, term in method.loss(model, batch).items():
        torch.testing.assert_close(term, weights[name] * plain[name])


def test_methods_by_name():
    for name in METHODS:
        stages = make_method(Config(method=name), PRIOR).stages(20)
        assert sum(stage.epochs for stage in stages) == (0 if name == "kmeans" else 20), name
    with pytest.raises(UserError, match=r'--method "unno" is unknown: choose from ours, .*supervised'):
        make_method(Config(method="unno"), PRIOR)


def test_supervised_learns_from_labels_and_known_neurons_alone():
    method = Supervised(Config(method="supervised", novel=3), PRIOR)
    model = make_model(head="linear")
    method.begin(model, method.stages(1)[0])
    batch = make_batch(views=0)
    terms = method.loss(model, batch)
    scores = model(batch.x)[:, :KNOWN].exp()
    literal = -(scores / scores.sum(1, keepdim=True)).log()[torch.arange(12), batch.labels].mean()
    assert list(terms) == ["ce"]
    torch.testing.assert_close(terms["ce"], literal)
    (stage,) = method.stages(7)
    assert (stage.epochs, stage.labeled, stage.unlabeled) == (7, True, False)


def test_supervised_finish_separates_blobs_with_a_centroid_head():
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(5), 40)
    rows = (8 * np.eye(5, DIM)[kind] + rng.normal(size=(200, DIM))).astype(np.float32)
    labels = np.where(kind < KNOWN, kind, -1)
    model = make_model()
    method = Supervised(Config(method="supervised", novel=3), PRIOR)
    embedding = predict(model, rows)[0]
    method.finish(model, lambda: Embedded(embedding, labels, np.arange(200)))
    embedding = embedding / np.linalg.norm(embedding, axis=1, keepdims=True)  # what k-means and the head see
    assert isinstance(model.head, CentroidHead)
    assert model.card.head == "direction"
    for number in range(KNOWN):
        np.testing.assert_allclose(model.head.centres[number], embedding[kind == number].mean(0), atol=1e-5)
    nearest = np.linalg.norm(embedding[:, None] - model.head.centres.numpy(), axis=2)
    assert model.head.spread.item() == pytest.approx((nearest.min(1) ** 2).mean(), rel=1e-4)
    found = predict(model, rows)[1].argmax(1)
    np.testing.assert_array_equal(found, nearest.argmin(1))
    assert (found[kind < KNOWN] == kind[kind < KNOWN]).mean() > 0.95
    groups = [set(found[kind == number].tolist()) for number in range(KNOWN, 5)]
    assert all(len(group) == 1 for group in groups)
    assert set.union(*groups) == {2, 3, 4}
    for number, (group,) in zip(range(KNOWN, 5), groups, strict=True):  # k-means saw unlabeled items alone
        np.testing.assert_allclose(model.head.centres[group], embedding[kind == number].mean(0), atol=1e-4)
