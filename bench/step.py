"""What novakind adds to the bare cost of a network, as ratios measured in one run.

    python bench/step.py                      # the default: convnet, 32 x 32 pixels, 256 labeled + 2 x 256 unlabeled
    python bench/step.py --encoder resnet18-cifar --batch 64

step:    sampling, two augmented views, the method's loss, backward, optimiser  /  forward + backward of the same model
predict: reading rows, normalising, softmax, collecting                         /  forward of the same model
The two sides of a ratio alternate, so that both meet the same noise; medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from novakind.config import Config
from novakind.data import from_arrays
from novakind.methods import make_method
from novakind.methods.protocol import Stage
from novakind.model import predict
from novakind.optim import make_optimizer
from novakind.prior import Prior
from novakind.progress import Reporter
from novakind.split import part
from novakind.train import batches, make_model, make_sampler, take_step


def ratio(whole: Callable[[], object], bare: Callable[[], object], rounds: int) -> tuple[float, float, float]:
    """Median seconds of each, in turns, after two rounds to warm up; and their ratio."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 2):
        for side, work in enumerate((whole, bare)):
            started = time.perf_counter()
            work()
            if turn >= 2:
                times[side].append(time.perf_counter() - started)
    first, second = (statistics.median(side) for side in times)
    return first, second, first / second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="convnet")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (4 * options.batch, options.size, options.size, 3), dtype=np.uint8)
    collection = from_arrays(pictures, np.where(np.arange(len(pictures)) % 2, -1, np.arange(len(pictures)) % 10 // 2))
    config = replace(Config(novel=5), encoder=options.encoder, batch=options.batch, val=0.0)
    prior = Prior.uniform(len(collection.classes), config.novel)
    method, split = make_method(config, prior), part(collection, 0.0, 0.0)
    sampler = make_sampler(collection, split, config)
    model = make_model(collection, split, config, Reporter(quiet=True))
    stage = Stage("discover", 1)
    method.begin(model, stage)
    optimizer = make_optimizer(model, config.optim)
    items = next(iter(sampler.epoch(0)))
    ready = next(iter(batches(collection, model, stage, config, items, 0.0))).x

    def whole_step() -> None:
        for batch in batches(collection, model, stage, config, next(iter(sampler.epoch(0))), 0.0):
            take_step(model, method, optimizer, batch)

    def bare_step() -> None:
        model.zero_grad(set_to_none=True)
        model(ready).sum().backward()

    def bare_forward() -> None:
        model.eval()
        with torch.inference_mode():
            for start in range(0, len(ready), 512):
                model(ready[start : start + 512])
        model.train()

    rows = collection.items[np.concatenate([items[0], items[1], items[1]])]
    print(f"{options.encoder}, {options.size} px, {len(ready)} pictures a step, {torch.get_num_threads()} threads")
    for name, sides in (
        ("step", (whole_step, bare_step)),
        ("predict", (lambda: predict(model, rows), bare_forward)),
    ):
        first, second, quotient = ratio(*sides, options.rounds)
        print(f"{name:8} {1000 * first:7.1f} ms / {1000 * second:7.1f} ms = {quotient:.3f}")


if __name__ == "__main__":
    main()
