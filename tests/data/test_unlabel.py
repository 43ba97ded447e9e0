"""The benchmark protocol of mixed data: most items of known classes lose their label and join the unlabeled ones."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from novakind.data.collection import Collection, from_arrays
from novakind.data.source import Source
from novakind.data.split import hide, part, unlabel
from novakind.datasets.gather import gather
from novakind.errors import UserError
from novakind.modality.features import Features
from novakind.runs.folder import essence

COUNTS = (40, 3, 100, 60)


def half_known(**fields) -> Collection:
    """Classes a, b and c are known, d is novel; an item is the number of its row."""
    names = np.repeat(["a", "b", "c", "d"], COUNTS)
    return replace(hide(from_arrays(np.arange(len(names), dtype=float)[:, None], names), "3"), **fields)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.001])
def test_a_share_of_each_known_class_keeps_its_label(share):
    collection = half_known()
    result = unlabel(collection, share)
    kept = np.bincount(result.labels[result.labels >= 0], minlength=3)
    assert kept.tolist() == [max(1, round(share * count)) for count in COUNTS[:3]]
    np.testing.assert_array_equal(result.truth, collection.truth)
    assert ((result.labels == collection.labels) | (result.labels == -1)).all()
    assert (result.classes, result.truth_classes) == (("a", "b", "c"), ("a", "b", "c", "d"))
    assert collection.labels.max() == 2  # the collection that was given stays as it was
    np.testing.assert_array_equal(unlabel(collection, share).labels, result.labels)
    assert (unlabel(collection, share, seed=1).labels != result.labels).any()


def test_all_labels_stay_with_a_share_of_one():
    np.testing.assert_array_equal(unlabel(half_known(), 1.0).labels, half_known().labels)


def test_an_official_test_part_keeps_its_labels():
    test = np.arange(sum(COUNTS)) % 4 == 0
    collection = half_known(official_test=test)
    result = unlabel(collection, 0.1)
    np.testing.assert_array_equal(result.labels[test], collection.labels[test])
    assert (result.labels[~test] >= 0).sum() == sum(max(1, round(0.1 * n)) for n in (30, 2, 75))
    assert part(result, 0.1, 0.0).test.tolist() == np.flatnonzero(test).tolist()


def test_a_source_asks_for_it(tmp_path):
    file = tmp_path / "items.npz"
    rng = np.random.default_rng(0)
    np.savez(file, X=rng.normal(size=(sum(COUNTS), 4)), y=np.repeat(np.arange(4), COUNTS))

    def labels(**settings) -> np.ndarray:
        source = Source(str(file), known="3", test=0.2, **settings)
        return gather(source, tmp_path / "store", 0.1, lambda done, total: None)[0].labels

    whole, tenth = labels(), labels(labeled=0.1)
    assert (whole >= 0).sum() == 143
    assert (tenth >= 0).sum() == 15
    assert (labels(labeled=0.1, split_seed=1) != tenth).any()
    with pytest.raises(UserError, match=r"--labeled 0 is out of range, it must be above 0 and at most 1"):
        Source("digits", labeled=0)


def test_a_run_of_an_older_version_goes_on():
    present = {"data": asdict(Source("digits", kind="features", reading=Features.Reading(), split_seed=2))}
    earlier = {"data": {name: value for name, value in present["data"].items() if name != "labeled"}}
    assert essence(earlier) == essence(present)
    assert essence({"data": present["data"] | {"labeled": 0.1}}) != essence(present)
