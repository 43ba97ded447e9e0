"""The baselines of several stages, part by part: their losses by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from torch import nn

from novakind.config import Config
from novakind.data.collection import from_arrays
from novakind.encoders import build
from novakind.errors import UserError
from novakind.methods import Batch, Embedded, Stage, make_method
from novakind.methods.autonovel import AutoNovel, early_layers, four_turns, same_ranks
from novakind.methods.clusters import Clusters, student_t, target_distribution
from novakind.methods.dtc import DTC, assigner, estimate_novel
from novakind.methods.kcl import KCL, divergences
from novakind.methods.mcl import pair_likelihood
from novakind.methods.similarity import Similarity, novel_only, pseudo_labels, same_or_different
from novakind.methods.spacing import corners_of, equidistant
from novakind.model import Card, Model, predict
from novakind.objective.prior import Prior

PRIOR = Prior.uniform(2, 3)


def logs(*rows: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(rows).log()


# Pairs


def test_similarity_is_one_network_on_both_vectors():
    torch.manual_seed(0)
    network = Similarity(3)
    first, second = torch.randn(4, 3), torch.randn(5, 3)
    literal = nn.Sequential(network.hidden, network.norm, nn.ReLU(), network.score)
    pairs = torch.cat([first.repeat_interleave(5, 0), second.repeat(4, 1)], 1)
    torch.testing.assert_close(network(first, second), literal(pairs).view(4, 5, 2))
    assert (network.hidden.in_features, network.hidden.out_features) == (6, 12)


def test_same_or_different_weighs_answers_as_expected_of_unlabeled_pairs():
    """A similar pair, in both orders, has a loss of ln 2; dissimilar ones, four in both orders, lose nothing."""
    labels = torch.tensor([0, 0, 1])
    scores = torch.zeros(3, 3, 2)
    scores[labels[:, None] != labels] = torch.tensor([50.0, 0.0])
    scores[torch.arange(3), torch.arange(3)] = torch.tensor([50.0, 0.0])  # an item with itself is no pair
    assert same_or_different(scores, labels, 0.2).item() == pytest.approx(0.2 * math.log(2))
    assert same_or_different(scores[:2, :2], labels[:2], 0.5).item() == pytest.approx(0.5 * math.log(2))  # no others
    assert KCL(Config(novel=3), Prior(2, (0.5, 0.25, 0.25))).expected == pytest.approx(0.375)


def test_kcl_by_hand():
    first, second = logs((0.5, 0.5), (0.8, 0.2)), logs((0.9, 0.1), (0.5, 0.5))

    def kl(p, q):
        return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))

    p, q = [(0.5, 0.5), (0.8, 0.2)], [(0.9, 0.1), (0.5, 0.5)]
    expected = [[kl(q[j], p[i]) for j in range(2)] for i in range(2)]
    torch.testing.assert_close(divergences(second, first), torch.tensor(expected))
    similar = torch.tensor([[True, False], [False, True]])
    loss = 0.0
    for i in range(2):
        for j in range(2):
            for d in (kl(q[j], p[i]), kl(p[i], q[j])):
                loss += (d if similar[i, j] else max(0.0, 2 - d)) / 8  # two orders, averaged as in the authors' code
    method = KCL(Config(novel=3), PRIOR)
    assert method.pair_loss(first, second, similar).item() == pytest.approx(loss, rel=1e-5)
    certain, other = logs((1 - 1e-6, 1e-6)), logs((1e-6, 1 - 1e-6))  # farther apart than the margin
    assert method.pair_loss(certain, other, torch.tensor([[False]])).item() == 0
    assert method.pair_loss(certain, certain, torch.tensor([[True]])).item() == pytest.approx(0, abs=1e-6)


def test_kcl_holds_the_other_item_fixed():
    """The gradient of KL(p_j, p_i) to the logits of p_i is p_i - p_j, of which half counts; likewise for p_j."""
    first, second = (torch.randn(1, 3, requires_grad=True) for _ in range(2))
    p, q = torch.log_softmax(first, 1), torch.log_softmax(second, 1)
    KCL(Config(novel=3), PRIOR).pair_loss(p, q, torch.tensor([[True]])).backward()
    torch.testing.assert_close(first.grad, (p.exp() - q.exp()).detach() / 2)
    torch.testing.assert_close(second.grad, (q.exp() - p.exp()).detach() / 2)


def test_mcl_by_hand():
    first, second = logs((0.5, 0.5), (0.8, 0.2)), logs((0.9, 0.1), (0.5, 0.5))
    similar = torch.tensor([[True, False], [False, True]])
    expected = -(math.log(0.5) + math.log(0.5) + math.log(1 - 0.74) + math.log(0.5)) / 4
    assert pair_likelihood(first, second, similar).item() == pytest.approx(expected, rel=1e-5)
    one_hot = logs((1.0, 0.0), (0.0, 1.0))
    assert pair_likelihood(one_hot, one_hot, torch.eye(2, dtype=torch.bool)).item() == pytest.approx(0, abs=1e-6)
    worst = pair_likelihood(one_hot, one_hot, ~torch.eye(2, dtype=torch.bool)).item()
    assert worst == pytest.approx(-math.log(1e-7), rel=1e-3)


def test_novel_outputs_and_pseudo_labels():
    logp = logs((0.6, 0.1, 0.2, 0.1))
    torch.testing.assert_close(novel_only(logp, 1), logs((0.25, 0.5, 0.25)))
    assert pseudo_labels(logp, logp[:, 1:], 1).item() == pytest.approx(-math.log(0.2))


def test_ranks_are_compared_as_sets():
    features = torch.tensor(
        [
            [9.0, 8.0, 7.0, 0.0, 1.0],
            [7.0, 9.0, 8.0, 1.0, 0.0],  # the same three, in another order
            [9.0, 8.0, 0.0, 7.0, 1.0],  # two of them
            [0.1, 0.2, 0.3, 0.0, 0.0],  # the same three, though weak
        ]
    )
    expected = torch.tensor([[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]], dtype=torch.bool)
    assert torch.equal(same_ranks(features, 3), expected)
    assert same_ranks(features, 9).all()  # all that there are
    assert torch.equal(same_ranks(features, 1)[0], torch.tensor([True, False, True, False]))


# AutoNovel's other parts


def test_four_turns():
    picture = torch.arange(2 * 3 * 16.0).view(2, 3, 4, 4)
    turned = four_turns(picture)
    assert len(turned) == 4
    assert torch.equal(turned[1].rot90(1, (2, 3)), turned[2])
    assert torch.equal(turned[3].rot90(1, (2, 3)), picture)
    series = torch.arange(12.0).view(1, 2, 6)
    assert [version[0, 0, 0].item() for version in four_turns(series)] == [0, 5, 0, -5]


@pytest.mark.parametrize(
    ("name", "shape", "learning"),
    [
        ("resnet18-cifar", (3, 32, 32), "layer4."),
        ("convnet", (3, 8, 8), "layers.10."),
        ("convnet", (3, 32, 32), "layers.17."),
        ("fastnet", (3, 32, 32), "groups.2."),
        ("mlp", (16,), "layers.3."),
    ],
)
def test_the_last_stage_of_each_encoder_learns(name, shape, learning):
    encoder = build(name, shape)
    for layer in early_layers(encoder, AutoNovel.LEARNING):
        layer.requires_grad_(False)
    learnt = [name for name, weight in encoder.named_parameters() if weight.requires_grad]
    assert learnt[0].startswith(learning)
    frozen = [name for name, weight in encoder.named_parameters() if not weight.requires_grad]
    assert not any(name.startswith(learning) for name in frozen)


# DTC


def test_assignments_and_targets_are_the_literal_ones():
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    q = np.zeros((7, 4))
    for i in range(7):
        for j in range(4):
            q[i, j] = 1 / (1 + ((points[i] - centres[j]) ** 2).sum())
        q[i] /= q[i].sum()
    found = student_t(torch.from_numpy(points), torch.from_numpy(centres))
    np.testing.assert_allclose(found, q)
    target = np.zeros((7, 4))
    for i in range(7):
        for j in range(4):
            target[i, j] = q[i, j] ** 2 / sum(q[k, j] for k in range(7))
        target[i] /= target[i].sum()
    np.testing.assert_allclose(target_distribution(found), target)


def test_placed_clusters_are_pca_and_kmeans():
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(3), 30)
    embedding = (5 * np.eye(3, 8)[kind] + 0.1 * rng.normal(size=(90, 8))).astype(np.float32)
    clusters = Clusters(8, 3)
    clusters.place(embedding, 0)
    with torch.no_grad():
        rows = clusters.projection
        torch.testing.assert_close(rows @ rows.T, torch.eye(3), atol=1e-5, rtol=0)
        spread = (torch.from_numpy(embedding) @ rows.T + clusters.shift).square().mean(0)
        values = np.linalg.eigvalsh(np.cov(embedding.T, bias=True))[::-1]
        np.testing.assert_allclose(spread, values[:3], rtol=1e-3)
        q = clusters(torch.from_numpy(embedding))
        assert adjusted_rand_score(kind, q.argmax(1)) == 1


def test_an_average_of_clusters_forgets_what_was_before_they_were_placed():
    """Weights that stay after the placement: their average, however young, is freed of its zeros exactly."""
    latest, average = Clusters(8, 3), Clusters(8, 3)
    latest.place(np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32), 0)
    for _ in range(3):
        for slow, fast in zip(average.state_dict().values(), latest.state_dict().values(), strict=True):
            slow.lerp_(fast, 0.01)
    assert average.placed.item() == pytest.approx(1 - 0.99**3)
    average.settle()
    for slow, fast in zip(average.state_dict().values(), latest.state_dict().values(), strict=True):
        torch.testing.assert_close(slow, fast)


def placed_dtc(epochs: int) -> tuple[DTC, Model, Stage, list[int], Callable[..., Embedded]]:
    """DTC at the start of its second stage, how often it has looked at all items by the end of each epoch, and how."""
    torch.manual_seed(0)
    rows, labels = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32), np.arange(60) % 3 - 1
    model = Model(Card("mlp", "linear", 8, 0.1, 2, tuple("abcde"), from_arrays(rows, labels).modality.settings()))
    method, looks = DTC(Config(novel=3), PRIOR), [0]

    def embed() -> Embedded:
        looks[0] += 1
        return Embedded(predict(model, rows)[0], labels, np.arange(60))

    stage = Stage("discover", epochs, labeled=False)
    method.begin(model, stage)
    method.before_epoch(model, stage, 0, [], embed)
    return method, model, stage, looks, embed


def test_the_loss_of_dtc_is_that_of_the_published_code():
    """Which divides the divergence by the number of clusters too, as a mean over all numbers does."""
    method, model, _, _, _ = placed_dtc(10)
    items = torch.arange(0, 60, 3)  # unlabeled
    batch = Batch(torch.randn(40, 5), torch.empty(0, dtype=torch.long), 1.0, items)
    terms = method.loss(model, batch)
    q = assigner(model).clusters(F.normalize(model.embedding(batch.x), dim=1))
    assert method.targets is not None
    targets = method.targets[items].repeat(2, 1)
    torch.testing.assert_close(terms["kl"], F.kl_div(q.log(), targets, reduction="none").mean())
    torch.testing.assert_close(terms["mse"], 10 * F.mse_loss(q[:20], q[20:]))


def test_distances_of_dtc_are_as_large_as_embeddings_are_long():
    """On a sphere of radius 1 no two points are far apart, and every assignment is nearly even."""
    _, model, _, _, embed = placed_dtc(10)
    embedding, labels, _ = embed()
    length = np.linalg.norm(embedding[labels < 0], axis=1).mean()
    np.testing.assert_allclose(assigner(model).clusters.projection.detach().norm(dim=1), length, rtol=1e-4)


@pytest.mark.parametrize(("epochs", "times"), [(100, 20), (60, 20), (20, 20), (7, 7)])
def test_targets_of_dtc_are_found_anew_twenty_times(epochs, times):
    method, model, stage, looks, embed = placed_dtc(epochs)
    for epoch in range(1, epochs):
        method.before_epoch(model, stage, epoch, [], embed)
    assert looks[0] == 1 + times  # once to place the clusters


@pytest.mark.parametrize("novel", [2, 4, 6])
def test_the_number_of_novel_classes_is_found_where_they_are_clear(novel):
    rng = np.random.default_rng(novel)
    centres = rng.permutation(12 * np.eye(12))[: 4 + novel]
    X, truth = make_blobs(60 * (4 + novel), centers=centres, cluster_std=1.0, random_state=novel)
    labels = np.where(truth < 4, truth, -1)
    assert estimate_novel(X.astype(np.float32), labels.astype(np.int64), most=9) == novel


# Spacing


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_points_are_equidistant_and_near_their_centres(count):
    centres = np.random.default_rng(count).normal(size=(count, 8))
    points = equidistant(centres, 2.0)
    np.testing.assert_allclose(points.mean(0), centres.mean(0), atol=1e-9)
    if count > 1:
        distances = np.linalg.norm(points[:, None] - points, axis=2)[~np.eye(count, dtype=bool)]
        np.testing.assert_allclose(distances, distances[0])
        radius = np.sqrt(np.square(centres - centres.mean(0)).sum(1).mean())
        np.testing.assert_allclose(np.linalg.norm(points - points.mean(0), axis=1), 2 * radius)
        side = np.linalg.norm(points[0] - points[1])
        again = equidistant(points, 1.0)  # equidistant already: they stay
        np.testing.assert_allclose(again, points, atol=1e-6 * side)


def test_equidistant_points_need_room():
    with pytest.raises(UserError, match=r"--dim 2 .* larger --dim"):
        make_method(Config(method="spacing", novel=5, dim=2), Prior.uniform(2, 5))


def test_the_pull_is_bounded_while_the_corners_are_close_together():
    """After very few epochs k-means finds centres that hardly differ, whatever the batches are like by then."""
    method = make_method(Config(method="spacing", novel=3, dim=8), PRIOR)
    collection = from_arrays(np.zeros((4, 5), np.float32), np.full(4, -1))
    model = Model(Card("mlp", "linear", 8, 0.1, 2, tuple("abcde"), collection.modality.settings()))
    method.begin(model, Stage("discover", 1))
    corners_of(model).goal.copy_(1e-6 * torch.eye(8)[:3])
    batch = Batch(torch.randn(64, 5), torch.empty(0, dtype=torch.long), 0.0, torch.arange(32))
    assert 0 < method.loss(model, batch)["pull"].item() < 20
