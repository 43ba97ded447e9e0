"""What exactness and size cost, as ratios measured in one run.

    python bench/scale.py                                          # a quarter of an hour on two cores
    python bench/scale.py --pictures 200000 --vectors 1000000      # at full size

parts:    a step of 10 U items in parts  /  the same step as a whole, by the time that it takes
messages: bytes that a step of ResNet-18 sends for its statistics  /  bytes that it sends for its gradients (counted)
work:     operations of ResNet-18 for one view of 64 pixels, forward and back (counted), and how many one core does
reading, adding, predict: of many pictures, see bench/pictures.py
vectors, k-means: of many vectors on disk, see bench/vectors.py
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pictures
import torch
import vectors

from novakind.config import Config
from novakind.methods import Batch, Method, make_method
from novakind.modality.image import Image
from novakind.model import Card, Model
from novakind.objective.prior import Prior
from novakind.training.pace import operations
from novakind.training.parts import in_parts

ROUNDS, PARTS = 3, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--vectors", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where made-up data go while they are needed")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    parts()
    messages()
    work()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        pictures.make(Path(folder) / "pictures", asked.pictures)
        pictures.compare(Path(folder), asked.pictures)
        vectors.compare(Path(folder), asked.vectors, max(asked.vectors // 20, 15 * vectors.CLASSES), vectors.CLASSES)


def parts(novel: int = 50, known: int = 50) -> None:
    """Ten items for each of 50 novel classes, pictures of 16 pixels, in eight parts."""
    model, method = made(known, novel)
    unlabeled = 10 * novel
    x = torch.randn(3 * unlabeled, 3, 16, 16)
    labels, items = torch.arange(unlabeled) % known, torch.arange(unlabeled)
    whole, numbered = Batch(x, labels, 0.5, items), Batch(torch.arange(len(x)), labels, 0.5, items)
    seen = in_parts(lambda batch: method.loss(model, batch), model, model.encoder, lambda numbers, _: x[numbers], PARTS)
    kept = {"whole": 0, "parts": 0}

    def step(name: str, loss: Callable[[Batch], dict], batch: Batch) -> None:
        held: list[int] = []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: (held.append(t.numel() * t.element_size()), t)[1], same
        ):
            total = torch.stack(list(loss(batch).values())).sum()
        kept[name] = sum(held)
        model.zero_grad()
        total.backward()

    sides = (
        lambda: step("whole", lambda batch: method.loss(model, batch), whole),
        lambda: step("parts", seen, numbered),
    )
    one, other = turns(*sides)
    print(f"parts:    {other / one:.2f} of the time, U = {novel}, {3 * unlabeled} views in {PARTS} parts")
    print(f"          as a whole {kept['whole'] / 2**20:.0f} MB are kept for the way back, in parts those of one part")


def same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def messages() -> None:
    """The statistics are (K + 1)^2 numbers for the covariance, K for the mean, one for each other term."""
    weights = sum(weight.numel() for weight in resnet().parameters())
    for classes in (10, 100, 1000, 10_000):
        sums = 2 * ((classes + 1) ** 2 + 2 * classes + 10)  # there and back
        print(
            f"messages: K = {classes:,}: {4 * sums / 1e6:.3f} MB, {sums / weights:.4f} of the gradients' "
            f"{4 * weights / 1e6:.1f} MB"
        )


def work(views: int = 16, side: int = 64) -> None:
    model, x = resnet(), torch.randn(views, 3, side, side)

    def step() -> None:
        model.embedding(x).square().mean().backward()

    each = operations(step) / views
    fastest = turns(step, step)[0] / views
    print(
        f"work:     {each / 1e9:.1f} x 10^9 operations for a view, {1e3 * fastest:.0f} ms of one core, "
        f"{each / fastest / 1e9:.0f} x 10^9 a second"
    )


def resnet() -> Model:
    return Model(Card("resnet18-cifar", "prototype", 128, 0.1, 1, ("a", "b"), Image(64).settings())).train()


def made(known: int, novel: int) -> tuple[Model, Method]:
    torch.manual_seed(0)
    names = tuple(f"class {number}" for number in range(known + novel))
    model = Model(Card("convnet", "prototype", 128, 0.1, known, names, Image(16).settings()))
    return model.train(), make_method(Config(novel=novel), Prior.uniform(known, novel))


def turns(one: Callable[[], None], other: Callable[[], None]) -> tuple[float, float]:
    """Seconds of each, the best of some rounds in turn."""
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        for side, work in enumerate((one, other)):
            started = time.process_time()
            work()
            best[side] = min(best[side], time.process_time() - started)
    return best[0], best[1]


if __name__ == "__main__":
    main()
