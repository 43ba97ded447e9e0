"""Taught: what a next round learns of items that nobody decided about."""

from dataclasses import replace

import numpy as np

from novakind.data.collection import Decided, from_arrays
from novakind.runs.linear import compact, judged
from novakind.runs.reviewed import CONFIRMED, SUGGESTED
from novakind.runs.taught import LEAST, spread, trust


def said(*confirmed):
    return np.where(np.array(confirmed), CONFIRMED, SUGGESTED).astype(np.uint8)


def test_a_category_is_believed_less_the_more_often_it_was_found_wrong():
    first, category = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 1, 2, 2])
    assert trust(first, category, said(0, 0, 0, 0, 0, 0), 3).tolist() == [1, 1, 1]
    assert trust(first, category, said(1, 1, 1, 1, 0, 0), 3).tolist() == [1, 1, 1]
    once, twice = (trust(first, category, said(1, 1, 1, 1, 1, more), 3) for more in (0, 1))
    assert once[0] == twice[0] == 1
    assert 1 > once[1] > twice[1] >= LEAST
    many = trust(np.zeros(50, dtype=np.int64), np.ones(50, dtype=np.int64), said(*[1] * 50), 2)
    assert many[0] == LEAST


def blobs():
    """Category 1 holds two clouds; ten of the second were moved to category 2 by a person."""
    rng = np.random.default_rng(0)
    clouds = np.repeat([0, 1, 2], 30)
    rows = (6 * np.eye(5)[clouds] + rng.normal(size=(90, 5))).astype(np.float32)
    collection = from_arrays(rows, np.where(clouds == 0, 0, -1))
    return clouds, collection


def test_a_decision_tells_about_items_that_are_like_it():
    clouds, collection = blobs()
    before = np.where(clouds == 0, 0, 1)
    confirmed = np.zeros(90, dtype=bool)
    confirmed[60:70], confirmed[30:33] = True, True
    before[60:70] = 2
    first = dict(zip(collection.paths, np.where(clouds == 0, 0, 1).tolist(), strict=True))
    taught = (clouds > 0) & ~confirmed
    guide = Decided(("known", "a", "b"), (0, 1, 2), (True, True, True), {89: [2]}, confirmed, taught, before)
    given = replace(collection, labels=before.copy(), decided=guide)
    labels = spread(given, np.arange(90), first).labels
    assert (labels[clouds == 1] == 1).all()
    assert (labels[70:89] == 2).mean() > 0.9
    assert labels[89] != 2  # it was kept out of that category
    assert (labels[confirmed] == before[confirmed]).all()
    assert (labels[clouds == 0] == 0).all()


def test_answers_that_no_decision_speaks_against_stay_even_where_a_classifier_would_change_them():
    clouds, collection = blobs()
    odd = np.flatnonzero(clouds == 1)[:3]  # as the model had it, though they look like the others of their cloud
    before = clouds.copy()
    before[odd] = 2
    first = dict(zip(collection.paths, before.tolist(), strict=True))
    confirmed = np.isin(np.arange(90), [40, 41, 70])  # as the model had them
    names, into = ("known", "a", "b"), (0, 1, 2)
    guide = Decided(names, into, (True,) * 3, {}, confirmed, (clouds > 0) & ~confirmed, before)
    given = replace(collection, labels=before.copy(), decided=guide)
    rows = given.modality.normalise(given.modality.collate(given.items)).numpy()
    assert (judged(compact(rows), before, np.ones(90), 3, 1.0).argmax(1)[odd] == 1).all()
    assert (spread(given, np.arange(90), first).labels == before).all()


def test_one_category_is_all_there_is_and_many_numbers_become_few():
    rows = np.random.default_rng(0).normal(size=(20, 30))
    chances = judged(rows, np.full(20, 2), np.ones(20), 4, 1.0)
    assert (chances[:, 2] == 1).all()
    assert compact(rows, 5).shape == (20, 5)
    assert compact(rows, 40).shape == (20, 30)
