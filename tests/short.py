"""Short trainings for tests: vectors that are told apart at a glance, and runs that stop and go on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from novakind.config import Config, Optim
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import Split
from novakind.model import Model
from novakind.runs.folder import Run
from novakind.training.loop import fit

QUICK = Config(novel=3, batch=64, epochs=15, optim=Optim(lr=0.05))


def blobs(known: int = 3, novel: int = 3, items: int = 600, spread: float = 2.0) -> Collection:
    """Well separated vectors; the last `novel` classes are unlabeled."""
    X, truth = make_blobs(items, 16, centers=known + novel, cluster_std=spread, random_state=1)
    collection = from_arrays(X, np.where(truth < known, truth, -1), "blobs")
    names = tuple(str(number) for number in range(known + novel))
    return replace(collection, truth=truth.astype(np.int64), truth_classes=names)


def fit_until(epoch: int, collection: Collection, split: Split, config: Config, run: Run) -> None:
    """Train, or go on, until the checkpoint of this epoch is written."""

    def stop(run: Run, state: dict) -> None:
        checkpoint(run, state)
        if state["epochs"] == epoch:
            raise KeyboardInterrupt

    checkpoint = Run.checkpoint
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "checkpoint", stop)
        with pytest.raises(KeyboardInterrupt):
            fit(collection, split, config, run)


def fit_in_halves(epoch: int, collection: Collection, split: Split, config: Config, path: Path) -> Model:
    """Train until the checkpoint of this epoch is written, then go on from it with everything made anew."""
    fit_until(epoch, collection, split, config, Run.claim(path))
    return fit(collection, split, config, Run(path))[0]
