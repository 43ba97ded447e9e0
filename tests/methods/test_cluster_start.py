"""What docs/theory.md claims of a start from clusters."""

import numpy as np
import pytest
import torch

from novakind.methods.protocol import Embedded
from novakind.methods.start import place
from novakind.modality.features import Features
from novakind.model import Card, Model, predict
from novakind.objective.prior import Prior

TAU = 0.1


def blobs(dim: int = 6, each: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around four of the axes."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), each)
    rows = np.eye(dim)[classes] + 0.1 * rng.normal(size=(len(classes), dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), classes


def placed(rows: np.ndarray, labels: np.ndarray, prior: Prior, dim: int) -> Model:
    """A model that was put where clustering says, before its first step."""
    names = tuple(f"c{number}" for number in range(prior.classes))
    plain = Features((0.0,) * rows.shape[1], (1.0,) * rows.shape[1])
    model = Model(Card("flat", "prototype", dim, TAU, prior.known, names, plain.settings()))
    place(model, lambda _: Embedded(predict(model, rows)[0], labels, np.arange(len(rows))), prior, seed=0)
    return model


@pytest.mark.parametrize("dim", [4, 6, 8])
def test_before_the_first_step_an_item_is_of_the_nearest_centre(dim):
    rows, classes = blobs()
    labels = np.where(classes < 2, classes, -1)
    model = placed(rows, labels, Prior.uniform(2, 2), dim)
    seen = rows @ model.embed.weight.detach().numpy().T + model.embed.bias.detach().numpy()
    seen /= np.linalg.norm(seen, axis=1, keepdims=True)
    known = np.stack([seen[labels == number].mean(0) for number in range(2)])
    prototypes = model.head.prototypes.numpy()
    np.testing.assert_allclose(prototypes[:2], known, atol=1e-5)
    logp = predict(model, rows)[1]
    near = -np.square(seen[:, None] - prototypes).sum(2) / 2
    expected = torch.log_softmax(torch.from_numpy(near / (TAU * np.linalg.norm(prototypes, axis=1).mean())), 1).numpy()
    np.testing.assert_allclose(logp, expected, atol=1e-4)
    assert [len(np.unique(logp.argmax(1)[classes == number])) for number in range(4)] == [1, 1, 1, 1]
    assert len(np.unique(logp.argmax(1))) == 4


def test_known_classes_among_the_unlabeled_have_one_centre():
    rows, classes = blobs()
    labels = np.where((classes < 2) & (np.arange(len(classes)) % 2 > 0), classes, -1)
    found = predict(placed(rows, labels, Prior.uniform(2, 2, mixed=1 / 3), 6), rows)[1].argmax(1)
    assert (found[classes < 2] == classes[classes < 2]).all()
    assert sorted({*found[classes == 2], *found[classes == 3]}) == [2, 3]
