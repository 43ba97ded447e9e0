"""What a baseline has when discovery begins: k-means on the network as it is then, beside what training makes of it.

    python -m experiments.starts digits                # in the places of experiments/results/compare
    python -m experiments.starts mobiact --seeds 3

Every method is trained as `novakind compare` would, up to its last stage; one that has a single stage is not trained at
all. Then k-means with the true number of novel classes, of ten starts the best, sorts the unlabeled training items, at
length 1, and each test item of a novel class goes to the nearest centre: task-aware novel ACC. The scores after
training are those of the comparison's CSV file.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from novakind.compare.board import Cell
from novakind.compare.plan import Plan, look, parse_methods
from novakind.config import Config, starting
from novakind.data.collection import Collection
from novakind.data.source import Source
from novakind.data.split import Split
from novakind.datasets.gather import gather, placed
from novakind.methods import make_method
from novakind.methods.clusters import kmeans
from novakind.modality.image import Image
from novakind.modality.series import Series
from novakind.model import Model, embeddings_of
from novakind.objective.metrics import clustering_acc
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.training.loop import fit
from novakind.training.setup import make_model

RESULTS = Path(__file__).parent / "results" / "compare"
METHODS = "uno,iic,autonovel,kcl,mcl,dtc,spacing,uno-direct,simgcd,nev,ours"
SCORE = "novel_acc/test/aware"


class Case(NamedTuple):
    """A comparison: its data, its settings, and the file with its scores."""

    source: Source
    config: Config
    scores: str


CASES = {
    "digits": Case(Source("digits", known="5"), starting(Image, "glyphs"), "digits-equal-work"),
    "mobiact": Case(
        Source("mobiact", known="5", balance=True), replace(starting(Series, "sensors"), epochs=20), "mobiact"
    ),
}


class ReachedError(Exception):
    """The last stage would begin now."""


class UpTo:
    """Takes the weights when the last stage would begin, and stops the training."""

    def __init__(self, config: Config, prior: Prior) -> None:
        self.config, self.prior = config, prior
        self.weights: dict[str, Any] = {}

    def restore(self) -> None:
        return None

    def history(self, epochs: int) -> list[dict[str, Any]]:
        return []

    def log(self, line: dict[str, Any]) -> None:
        return

    def checkpoint(self, state: dict[str, Any]) -> None:
        if state["epochs"] == sum(stage.epochs for stage in self.stages(state["planned"])[:-1]):
            self.weights = state["kept"]
            raise ReachedError

    def stages(self, epochs: int) -> tuple[Any, ...]:
        return make_method(self.config, self.prior).stages(epochs)


def start_of(collection: Collection, split: Split, config: Config) -> Model:
    """The model when its last stage begins."""
    prior = Prior.parse(config.prior, len(collection.classes), config.novel, config.known_share)
    run, method = UpTo(config, prior), make_method(config, prior)
    model = make_model(collection, split, config, Reporter(quiet=True))
    earlier = run.stages(100)[:-1]
    if not earlier:
        return model.eval()
    with suppress(ReachedError):
        fit(collection, split, config, run)
    for stage in earlier:
        method.begin(model, stage)
    model.load_state_dict(run.weights)
    return model.eval()


def clustered(collection: Collection, split: Split, model: Model, seed: int) -> tuple[float, float]:
    """Task-aware novel ACC of k-means on the encoder's output, and on the embedding."""
    known = len(collection.classes)
    train = split.train[collection.labels[split.train] < 0]
    test = split.test[collection.truth[split.test] >= known]
    heard: list[np.ndarray] = []
    listener = model.encoder.register_forward_hook(lambda module, inputs, output: heard.append(output.cpu().numpy()))
    embeddings = np.concatenate([embeddings_of(model, collection.items, part) for part in (train, test)])
    listener.remove()
    found = []
    for rows in (np.concatenate(heard), embeddings):
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        centres = kmeans(unit[: len(train)], len(collection.truth_classes) - known, seed)
        answers = centres.predict(unit[len(train) :]).astype(np.int64)
        found.append(clustering_acc(collection.truth[test] - known, answers))
    return found[0], found[1]


def scored(file: Path) -> dict[tuple[str, int], float]:
    """Scores after training, by method and seed."""
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        return {(row["method"], int(row["seed"])): float(row[SCORE]) for row in csv.DictReader(lines) if row[SCORE]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", choices=CASES)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seeds", type=int, default=1)
    asked = parser.parse_args()
    case = CASES[asked.data]
    names, after = parse_methods(asked.methods), scored(RESULTS / f"{case.scores}.csv")
    source = placed(case.source)
    lines = [
        "| method | n | k-means on the encoder's output | on the embedding | after training |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder, Reporter(quiet=True) as report:
        store = Path(folder) / "store"
        collection, split = gather(source, store, case.config.val, report.decoding, report.embedding)
        _, digests, work, least = look(source, case.config, store, [], "", report)
        config = replace(case.config, novel=len(collection.truth_classes) - len(collection.classes))
        plan = Plan(source, config, Path(folder), digests, {}, work, least)
        for name in names:
            found = []
            for seed in range(asked.seeds):
                settings = plan.settings(Cell(name, seed))
                model = start_of(collection, split, settings)
                found.append((*clustered(collection, split, model, seed), after.get((name, seed), float("nan"))))
                print(name, seed, *(f"{100 * value:.1f}" for value in found[-1]), flush=True)
            means = " | ".join(f"{100 * mean(column):.1f}" for column in zip(*found, strict=True))
            lines.append(f"| {name} | {asked.seeds} | {means} |".replace("nan", "-"))
    file = RESULTS / f"{case.scores}-starts.md"
    note = f"Task-aware novel ACC on test items, percent; mean of n seeds. `python -m experiments.starts {asked.data}"
    file.write_text("\n".join(lines) + f"\n\n{note} --methods {asked.methods} --seeds {asked.seeds}`\n")
    print(file)


if __name__ == "__main__":
    main()
