"""Batches that a thread makes while the network works are those that would have been made in turn."""

import threading
import time
from dataclasses import replace

import pytest
import torch
from small import blobs_file

from novakind.config import Config
from novakind.data.files import load
from novakind.data.split import hide, part
from novakind.modality.features import FeatureViews
from novakind.training import ahead, loop
from novakind.training.ahead import by_thread


class StumbleError(Exception):
    pass


def counted(end: int, stumbles: bool = False):
    yield from range(end)
    if stumbles:
        raise StumbleError


def test_everything_comes_in_its_order():
    assert list(by_thread(counted(50))) == list(range(50))
    assert list(by_thread(counted(0))) == []


def test_what_is_raised_there_is_raised_here():
    made = by_thread(counted(3, stumbles=True))
    assert [next(made) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(StumbleError):
        next(made)


def test_who_stops_leaves_no_thread_behind():
    before = threading.active_count()
    for each in (made := by_thread(counted(1000))):
        if each == 3:
            break
    made.close()
    time.sleep(0.02)
    assert threading.active_count() == before


@pytest.mark.parametrize("device", ["cuda", "mps", "meta"])
def test_a_network_elsewhere_leaves_the_cores_to_a_thread(monkeypatch, device):
    monkeypatch.setattr(ahead, "by_thread", lambda made: iter(["by a thread"]))
    assert next(ahead.ahead(counted(3), torch.device(device))) == "by a thread"


def test_a_training_is_the_same_with_and_without(tmp_path, monkeypatch):
    """Although the network draws too, as dropout does, whenever its turn comes."""
    blobs_file(tmp_path / "blobs.npz")
    collection = hide(load(tmp_path / "blobs.npz", tmp_path), "2")
    split = part(collection, 0.2, 0.0)
    views = FeatureViews(noise=0.3, mix=0.2, neighbours=0)
    config = replace(Config(novel=2, epochs=2, batch=40, encoder="mlp", dim=8), views=views)
    step = loop.take_step

    def drawing(loss, optimizer, batch):
        torch.rand(7)
        return step(loss, optimizer, batch)

    monkeypatch.setattr(loop, "take_step", drawing)
    weights = []
    for way in (lambda made, device: made, lambda made, device: by_thread(made)):
        monkeypatch.setattr(loop, "ahead", way)
        weights.append(loop.fit(collection, split, config)[0].state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
