"""Finer outputs that merge: scores against their formula, sums that nothing is lost in, and uneven classes found."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from baselines import KNOWN, NOVEL, PRIOR, make_batch, make_model
from short import fit_until

from novakind.config import Config, Optim
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import part, standardise
from novakind.methods import make_method
from novakind.methods.finer import BEGIN, LASTS, LATEST, FinerHead, is_finer, joined, merge_down, survival
from novakind.modality.features import Features
from novakind.model import load_model, predict, to_bytes
from novakind.objective.prior import Prior
from novakind.runs.folder import Run
from novakind.training.loop import fit

QUICK = Config(novel=3, prior="auto", epochs=40, batch=64, dim=16, optim=Optim(lr=0.05), views=Features.Views())


def literal_survival(table: np.ndarray, i: int, j: int) -> float:
    part = table[np.ix_([i, j], [i, j])]
    part = part / part.sum()
    rows, columns = part.sum(1), part.sum(0)
    information = sum(
        part[a, b] * math.log(part[a, b] / rows[a] / columns[b]) for a in (0, 1) for b in (0, 1) if part[a, b] > 0
    )
    return information / -sum(one * math.log(one) for one in rows)


def test_survival_is_information_over_entropy():
    rng = np.random.default_rng(0)
    table = rng.random((4, 4))
    table = table + table.T
    found = survival(torch.from_numpy(table))
    for i, j in ((0, 1), (1, 3), (2, 0)):
        assert found[i, j].item() == pytest.approx(literal_survival(table, i, j), rel=1e-6)
    certain, split = torch.diag(torch.tensor([0.5, 0.3, 0.2])), torch.full((2, 2), 0.25)
    assert survival(certain)[0, 2].item() == pytest.approx(1)
    assert survival(split)[0, 1].item() == pytest.approx(0, abs=1e-6)


def test_the_halves_of_a_class_merge_first():
    """Outputs 0 and 2 share a class: an item's views choose between them by chance."""
    table = torch.tensor([[0.1, 0.0, 0.1, 0.0], [0.0, 0.3, 0.0, 0.01], [0.1, 0.0, 0.1, 0.0], [0.0, 0.01, 0.0, 0.28]])
    group, made = merge_down(table, torch.arange(4), 3)
    assert group.tolist() == [0, 1, 0, 3]
    assert (made[0].first, made[0].second) == (0, 2)
    assert made[0].mass == pytest.approx(0.4)
    whole, all_made = merge_down(table, torch.arange(4), 1)
    assert whole.tolist() == [0, 0, 0, 0]
    assert len(all_made) == 3
    assert merge_down(table, group, 3)[1] == []  # what is done stays, and nothing more is asked


def test_merging_adds_probabilities():
    logp = torch.log_softmax(torch.randn(7, 6), 1)
    found = joined(logp, 2, torch.tensor([0, 1, 0, 3])).exp()
    probs = logp.exp()
    torch.testing.assert_close(found[:, 2], probs[:, 2] + probs[:, 4])
    torch.testing.assert_close(found[:, [0, 1, 3, 4]], probs[:, [0, 1, 3, 5]])
    torch.testing.assert_close(found.sum(1), torch.ones(7))


def begun(prior: str = "auto", **more) -> tuple:
    config = Config(novel=NOVEL, prior=prior, **more)
    method, model = make_method(config, Prior.parse(prior, KNOWN, NOVEL)), make_model()
    method.begin(model, method.stages(1)[0])
    return method, model


def test_outputs_merge_when_views_agree_and_at_the_latest_from_half_of_the_training_on():
    method, model = begun()
    head = model.head
    assert isinstance(head, FinerHead)
    counts = []
    for progress in (0.0, BEGIN, LATEST - 0.01, LATEST, LATEST + LASTS / 2, LATEST + LASTS, 1.0):
        method.loss(model, make_batch(progress=progress))
        counts.append(len(head.group.unique()))
        assert model(make_batch().x).shape[1] == KNOWN + NOVEL  # at any time
        torch.testing.assert_close(head.target().sum(), torch.tensor(1.0))
    assert counts == [9, 9, 9, 9, 6, 3, 3]
    assert head.noted()["outputs"] == 3
    assert sum(value for name, value in head.noted().items() if name.startswith("share/")) == pytest.approx(1)
    assert len(head.tree()) == 8


def test_equal_targets_until_something_merges_then_a_floor():
    _, model = begun()
    head = model.head
    head.table.copy_(torch.diag(torch.tensor([0.9, *[0.0125] * 8])))
    torch.testing.assert_close(head.target()[KNOWN:], torch.full((9,), 1 / 9))
    head.merge(BEGIN)  # the views agree
    head.merge(BEGIN + LASTS)
    assert len(head.group.unique()) == NOVEL
    assert head.target()[KNOWN:].min() > 0.06 / 1.2


def test_given_shares_are_found_by_their_order_once_all_is_settled():
    _, model = begun("0.2,0.5,0.3")
    head = model.head
    head.table.copy_(torch.diag(torch.tensor([0.5, 0.3, 0.2, *[0.0] * 6])) + 1e-9)
    head.group.copy_(torch.tensor([0, 1, 2, *[0] * 6]))
    torch.testing.assert_close(head.target()[KNOWN:], torch.tensor([0.5, 0.3, 0.2]))
    head.table.copy_(head.table.flip(0).flip(1)[[6, 7, 8, *range(6)]][:, [6, 7, 8, *range(6)]])
    torch.testing.assert_close(head.target()[KNOWN:], torch.tensor([0.2, 0.3, 0.5]))


def test_where_outputs_are_finer():
    ours = Config(novel=3, prior="auto")
    assert is_finer(ours)
    assert is_finer(replace(ours, prior="1/2,1/4,1/4"))
    for other in (
        {"prior": "uniform"},
        {"overclustering": 1},
        {"start": "earlier"},
        {"start": "clusters"},
        {"novel": 1},
        {"method": "uno"},
    ):
        assert not is_finer(replace(ours, **other))


def uneven() -> Collection:
    """Two known classes, and three novel ones of 160, 30 and 30 items."""
    rng = np.random.default_rng(3)
    centres, sizes = 2.5 * rng.normal(size=(5, 12)), (60, 60, 160, 30, 30)
    truth = np.repeat(np.arange(5), sizes)
    rows = (centres[truth] + rng.normal(size=(len(truth), 12))).astype(np.float32)
    return replace(from_arrays(rows, np.where(truth < 2, truth, -1)), truth=truth, truth_classes=tuple("abcde"))


def test_uneven_classes_are_found_and_kept(tmp_path):
    collection = uneven()
    split = part(collection, 0.1, 0.0)
    collection = standardise(collection, split)
    model, warnings, history = fit(collection, split, QUICK)
    assert not any("change of view" in text for text in warnings)
    _, logp = predict(model, collection.items)
    sizes = np.bincount(logp[120:].argmax(1), minlength=5)[2:]
    assert sorted(sizes.tolist()) == pytest.approx([30, 30, 160], abs=6)
    assert history[-1]["outputs"] == 3
    assert history[0]["outputs"] == 9
    assert history[-1]["share/1"] == pytest.approx(160 / 220, abs=0.06)
    file = tmp_path / "model.safetensors"
    file.write_bytes(to_bytes(model))
    np.testing.assert_array_equal(predict(load_model(file), collection.items)[1], logp)
    assert len(model.head.tree) == 8


@pytest.mark.parametrize("heads", [1, 2])
def test_a_stopped_run_ends_with_the_same_bytes(tmp_path, heads):
    collection = uneven()
    split = part(collection, 0.1, 0.0)
    config = replace(QUICK, epochs=6, ema=0.5, heads=heads)
    whole, _, _ = fit(collection, split, config, Run.claim(tmp_path / "whole"))
    run = Run.claim(tmp_path / "stopped")
    for epoch in (1, 3, 6):
        fit_until(epoch, collection, split, config, run)
    stopped, _, _ = fit(collection, split, config, run)
    assert stopped.card == whole.card
    assert to_bytes(stopped) == to_bytes(whole)


def test_shares_stay_as_given_without_finer_outputs():
    """The paper's way, a setting away: the order of the shares is that of the outputs."""
    method, model = begun("0.2,0.5,0.3", overclustering=1)
    assert not isinstance(model.head, FinerHead)
    torch.testing.assert_close(method.mean, Prior.parse("0.2,0.5,0.3", KNOWN, NOVEL).mean())
    assert PRIOR.known == KNOWN
