"""A start from clusters: labeled items stay where they belong, novel classes are where k-means finds them."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from novakind.methods.metric import leading_axes, unit
from novakind.methods.protocol import Embedded
from novakind.methods.start import find_classes, known_first, place, round_clouds
from novakind.modality.features import Features
from novakind.model import Card, Model, predict
from novakind.objective import centres as centres_
from novakind.objective.centres import nearest, squared_distances
from novakind.objective.metrics import scores
from novakind.objective.prior import Prior


def clouds(known: int = 3, novel: int = 3, mixed: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors, their labels and their true classes; half of the known ones are unlabeled where `mixed`."""
    rows, truth = make_blobs(600, 16, centers=known + novel, cluster_std=1.5, random_state=1)
    labels = np.where((truth < known) & ((np.arange(600) % 2 == 0) | (not mixed)), truth, -1)
    return unit(rows.astype(np.float32)), labels, truth


def model_for(rows: np.ndarray, dim: int, classes: int = 6) -> Model:
    torch.manual_seed(0)
    names = tuple(f"c{number}" for number in range(classes))
    plain = Features((0.0,) * rows.shape[1], (1.0,) * rows.shape[1])
    return Model(Card("flat", "prototype", dim, 0.1, 3, names, plain.settings())).eval()


def embedding(model: Model, rows: np.ndarray, labels: np.ndarray) -> Callable[..., Embedded]:
    return lambda most: Embedded(predict(model, rows)[0], labels, np.arange(len(rows)))


@pytest.mark.parametrize("dim", [16, 20, 8])
@pytest.mark.parametrize("mixed", [0.0, 0.3])
def test_untrained_it_tells_the_classes_apart(dim, mixed):
    rows, labels, truth = clouds(mixed=mixed > 0)
    model = model_for(rows, dim)
    place(model, embedding(model, rows, labels), Prior.uniform(3, 3, mixed), 0)
    prototypes = model.head.prototypes
    assert (prototypes.norm(dim=1) <= 1).all()
    _, logp = predict(model, rows)
    found = scores(truth, logp, 3, "test")
    assert found["novel_acc/test/agnostic"] > 0.95
    assert found["known_acc/test/agnostic"] > 0.95


def test_an_embedding_wider_than_the_items_ends_in_zeros():
    rows, labels, _ = clouds()
    model = model_for(rows, 20)
    place(model, embedding(model, rows, labels), Prior.uniform(3, 3), 0)
    found, _ = predict(model, rows)
    assert np.abs(found[:, :16]).max() > 0.1
    assert not found[:, 16:].any()


def test_known_prototypes_are_the_means_of_their_classes():
    rows, labels, _ = clouds()
    model = model_for(rows, 16)
    place(model, embedding(model, rows, labels), Prior.uniform(3, 3), 0)
    found = unit(predict(model, rows)[0])
    means = np.stack([found[labels == number].mean(0) for number in range(3)])
    np.testing.assert_allclose(model.head.prototypes[:3].numpy(), means, atol=1e-4)


@pytest.mark.parametrize("mixed", [0.0, 0.3])
def test_shares_are_those_of_the_clusters(mixed):
    rows, labels, truth = clouds(mixed=mixed > 0)
    kept = (truth != 3) | (np.arange(600) % 4 == 0)  # the first novel class is a quarter as large as the others
    rows, labels, truth = rows[kept], labels[kept], truth[kept]
    model = model_for(rows, 16)
    shares = place(model, embedding(model, rows, labels), Prior.uniform(3, 3, mixed), 0)[0].numpy()
    true = np.bincount(truth[labels < 0], minlength=6) / (labels < 0).sum()
    np.testing.assert_allclose(np.sort(shares[3:]), np.sort(true[3:]), atol=0.02)
    np.testing.assert_allclose(shares[:3], true[:3], atol=0.02)


def test_the_same_seed_gives_the_same_start():
    rows, labels, _ = clouds(mixed=True)
    for mixed in (0.0, 0.3):
        twins = [model_for(rows, 8) for _ in range(2)]
        for twin in twins:
            place(twin, embedding(twin, rows, labels), Prior.uniform(3, 3, mixed), 5)
        assert torch.equal(twins[0].head.prototypes, twins[1].head.prototypes)


def test_leading_axes_hold_most_of_the_length():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    rows = (rng.normal(size=(500, 6)) * (9, 5, 1, 0.1, 0.1, 0.1) @ turn).astype(np.float32)
    axes = leading_axes(rows, 2)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(np.abs(axes @ turn[:2].T), np.eye(2), atol=0.1)
    assert np.square(rows @ axes.T).sum() > 0.98 * np.square(rows).sum()
    np.testing.assert_array_equal(leading_axes(rows, 6), np.eye(6))
    np.testing.assert_array_equal(leading_axes(rows, 8), np.eye(6))


def test_labeled_items_stay_in_their_class():
    """Two labeled classes whose items lie on each other: nothing but the labels keeps their centres where they are."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(200, 4)), 20 + rng.normal(size=(50, 4))])
    labels = np.concatenate([np.arange(200) % 2, np.full(50, -1)])
    centres = find_classes(rows, labels, Prior.uniform(2, 1, 0.1), 0)
    for number in range(2):
        np.testing.assert_allclose(centres[number], rows[labels == number].mean(0))
    np.testing.assert_allclose(centres[2], rows[200:].mean(0))


def test_unlabeled_items_of_known_classes_move_their_centres():
    rng = np.random.default_rng(0)
    rows = np.concatenate([[[0.0, 0.0]], 0.5 + 0.1 * rng.normal(size=(40, 2)), 9 + 0.1 * rng.normal(size=(40, 2))])
    labels = np.concatenate([[0], np.full(80, -1)])
    centres = find_classes(rows, labels, Prior.uniform(1, 1, 0.5), 0)
    held = (rows[0] + rows[:41].mean(0)) / 2  # half way at the labeled items: else a novel class may draw them away
    np.testing.assert_allclose(centres, [held, rows[41:].mean(0)])


def test_distances_are_squared_and_never_negative():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(30, 5)) + 1e4, rng.normal(size=(4, 5))
    found = squared_distances(rows, centres)
    np.testing.assert_allclose(found, ((rows[:, None] - centres[None]) ** 2).sum(2), rtol=1e-6)
    assert (squared_distances(rows, rows) >= 0).all()
    np.testing.assert_array_equal(unit(np.zeros((2, 3))), np.zeros((2, 3)))


@pytest.mark.parametrize("mixed", [0.0, 0.3])
def test_fewer_distinct_items_than_categories_make_no_noise(mixed):
    rows, labels = np.ones((60, 4), np.float32) / 2, np.where(np.arange(60) < 30, np.arange(60) % 3, -1)
    model = model_for(rows, 4)
    place(model, embedding(model, rows, labels), Prior.uniform(3, 3, mixed), 0)
    assert model.head.prototypes.isfinite().all()


def test_clusters_take_the_numbers_of_the_classes_that_they_hold():
    centres = np.eye(4, dtype=np.float32)
    rows, labels = centres[[3, 3, 1, 0, 2]], np.array([0, 0, 1, -1, -1])
    np.testing.assert_array_equal(known_first(centres, rows, labels, Prior.uniform(2, 2)), centres[[3, 1, 0, 2]])


def test_the_nearest_centre_is_the_same_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(103, 5)), rng.normal(size=(4, 5))
    whole = nearest(rows, centres)
    monkeypatch.setattr(centres_, "BLOCK", 40)
    for found, expected in zip(nearest(rows, centres), whole, strict=True):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(whole[0], squared_distances(rows, centres).argmin(1))


def test_of_round_clouds_of_many_numbers_training_moves_nothing_and_of_ordered_ones_a_part():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 100)
    clouds_there = (0.3 * rng.normal(size=(6, 100))[truth] + rng.normal(size=(600, 100))).astype(np.float32)
    labels = np.where(truth < 3, truth, -1)
    assert round_clouds(clouds_there, labels, 0)
    assert not round_clouds(clouds_there, np.where(np.arange(600) % 100 == 0, labels, -1), 0)  # one item says nothing
    rows, labels, _ = clouds()
    model = model_for(rows, 16)
    assert not round_clouds(rows, labels, 0)
    far = place(model, embedding(model, rows, labels), Prior.uniform(3, 3), 0)[1]
    assert far == pytest.approx(300 / (300 + 2 * 16))
