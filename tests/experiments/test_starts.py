"""What baselines have when discovery begins, and pictures of a data set as a person has photographs."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

from experiments import starts
from experiments.folder import write_folder
from novakind.data.collection import from_arrays
from novakind.data.files import quiet
from novakind.data.source import Source
from novakind.data.split import hide, part
from novakind.datasets.gather import gather
from novakind.datasets.images import digit_pictures
from novakind.training.loop import fit


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(("method", "begun"), [("uno", True), ("nev", False)])
def test_the_start_is_the_training_up_to_the_last_stage(method, begun):
    pictures, digits = digit_pictures()
    collection = hide(from_arrays(pictures[:400], digits[:400]), "5")
    split = part(collection, 0.1, 0.2)
    config = replace(starts.CASES["digits"].config, method=method, novel=5, epochs=14)
    model = starts.start_of(collection, split, config)
    found = starts.clustered(collection, split, model, 0)
    assert all(0.2 <= score <= 1 for score in found)
    whole, _, history = fit(collection, split, config)
    assert [line["stage"] for line in history].count("supervised") == 4 * begun
    untrained = starts.start_of(collection, split, replace(config, method="nev"))
    weights = [each.embed.weight for each in (model, untrained, whole)]
    assert weights[0].equal(weights[1]) == (not begun)
    assert not weights[0].equal(weights[2])


def test_pictures_become_a_folder_that_discover_reads(tmp_path):
    pictures, digits = digit_pictures()
    planes = np.repeat(pictures[..., None], 3, axis=3)
    collection = from_arrays(planes, [f"digit {digit}" for digit in digits])
    collection = replace(collection, official_test=np.arange(len(digits)) % 2 == 0)
    root = tmp_path / "photos"
    truth = write_folder(collection, root, 10, 5, 0.5, 0)
    assert sorted(place.name for place in root.iterdir()) == [*(f"digit {digit}" for digit in range(5)), "unlabeled"]
    assert len(list((root / "unlabeled").iterdir())) == 5 * 5 + 5 * 10
    assert len(list((root / "digit 3").iterdir())) == 5
    file = next((root / "digit 3").iterdir())
    np.testing.assert_array_equal(np.asarray(Pillow.open(file)), planes[int(file.stem)])
    assert int(file.stem) % 2 == 1  # of the training part
    read, _ = gather(Source(str(root), truth=str(truth)), tmp_path / "store", 0.1, quiet)
    assert len(read) == 100
    assert (np.bincount(read.truth) == 10).all()
