"""What novakind adds to the bare cost of a network, as ratios measured in one run.

    python bench/step.py                      # the default: convnet, 32 x 32 pixels, 256 labeled + 2 x 256 unlabeled
    python bench/step.py --preset fast        # the preset for small photographs on CPUs
    python bench/step.py --encoder resnet18-cifar --batch 64
    python bench/step.py --preset videos --size 48 --frames 8
    python bench/step.py --losses             # what the losses cost with very many classes

step:    sampling, two augmented views, the method's loss, backward, optimiser  /  forward + backward of the same model
predict: reading rows, normalising, softmax, collecting                         /  forward of the same model
losses:  every term of the paper, forward + backward, 1,000 classes, 4,096 rows /  forward + backward of ResNet-18
Steps are taken at five points of a training, since views may be smaller at first. The two sides of a ratio alternate,
so that both meet the same noise; the median over rounds counts, and the mean over the points. After the ratios come the
stages that a step consists of, and the most memory that the process has used.
"""

from __future__ import annotations

import argparse
import copy
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from novakind.config import Config, Objective, starting, starting_reading
from novakind.data.collection import Collection, from_arrays
from novakind.data.split import part
from novakind.encoders import build
from novakind.methods import Batch, Method, Stage, make_method
from novakind.methods.ours import Ours
from novakind.modality.features import Features
from novakind.modality.image import Image
from novakind.modality.video import Video
from novakind.model import Card, Model, predict
from novakind.objective.prior import Prior
from novakind.progress import Reporter
from novakind.training.average import move_towards
from novakind.training.batches import batches
from novakind.training.loop import take_step
from novakind.training.memory import keep_memory
from novakind.training.optim import make_optimizer
from novakind.training.setup import make_model, make_sampler


class Times(NamedTuple):
    """Seconds of the two sides, and their ratio."""

    whole: float
    bare: float
    ratio: float


def compare(whole: Callable[[], object], bare: Callable[[], object], rounds: int) -> Times:
    """Median seconds of each, in turns, after two rounds to warm up; and the median of the rounds' ratios."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 2):
        for side, work in enumerate((whole, bare)):
            started = time.perf_counter()
            work()
            if turn >= 2:
                times[side].append(time.perf_counter() - started)
    first, second = (statistics.median(side) for side in times)
    return Times(first, second, statistics.median(one / other for one, other in zip(*times, strict=True)))


def show(name: str, times: Times) -> None:
    print(f"{name:12} {1000 * times.whole:7.1f} ms / {1000 * times.bare:7.1f} ms = {times.ratio:.3f}", flush=True)


def noise(count: int, size: int, frames: int) -> Collection:
    """Pictures, or clips where there are frames, every other one with a label."""
    rng, numbers = np.random.default_rng(0), np.arange(count)
    labels = np.where(numbers % 2, -1, numbers % 10 // 2)
    pictures = from_arrays(rng.integers(0, 256, (count, size, size, 3), dtype=np.uint8), labels)
    if not frames:
        return pictures
    clips = rng.integers(0, 256, (count, 3, 2 * frames, size, size), dtype=np.uint8)
    return replace(pictures, items=clips, modality=Video(size, frames, 2 * frames).fitted(clips))


class Bench:
    """A model and noise to train it with, at some points of a training (from 0 to 1)."""

    def __init__(self, config: Config, reading: Any, size: int, frames: int, points: tuple[float, ...]) -> None:
        self.points = points
        self.config, self.stage = config, Stage("discover", 1)
        self.collection = noise(4 * config.batch, size, frames)
        seen = {name: value for name, value in vars(reading).items() if name in ("flips", "motion")}
        self.collection = replace(self.collection, modality=replace(self.collection.modality, **seen))
        split = part(self.collection, 0.0, 0.0)
        self.method: Method = make_method(config, Prior.uniform(len(self.collection.classes), config.novel))
        self.sampler = make_sampler(self.collection, split, config)
        self.model = make_model(self.collection, split, config, Reporter(quiet=True))
        self.method.begin(self.model, self.stage)
        self.kept = copy.deepcopy(self.model)
        self.optimizer = make_optimizer(self.model, config.optim)
        self.drawn = [next(self.batches(point)) for point in points]

    def batches(self, point: float) -> Iterator[Batch]:
        items = next(iter(self.sampler.epoch(0)))
        return batches(self.collection, self.model, self.stage, self.config, items, point)

    def whole_step(self, point: float) -> None:
        for batch in self.batches(point):
            take_step(self.model, self.method, self.optimizer, batch)
        if self.config.ema:
            move_towards(self.kept, self.model, self.config.ema)

    def bare_step(self, batch: Batch) -> None:
        self.model.zero_grad(set_to_none=True)
        self.model(batch.x).sum().backward()

    def steps(self, rounds: int) -> None:
        """The ratio at each point, and over the whole training."""
        found: list[Times] = []
        for point, batch in zip(self.points, self.drawn, strict=True):
            found.append(compare(partial(self.whole_step, point), partial(self.bare_step, batch), rounds))
            show(f"step {batch.x.shape[-1]:4} px", found[-1])
        bare = sum(times.bare for times in found)
        ratio = sum(times.ratio * times.bare for times in found) / bare
        show("all steps", Times(sum(times.whole for times in found), bare, ratio))

    def bare_forward(self) -> None:
        x = self.drawn[-1].x
        self.model.eval()
        with torch.inference_mode():
            for start in range(0, len(x), 512):
                for _ in self.model.modality.faces(x[:1]):  # each picture, and perhaps its mirror image
                    self.model(x[start : start + 512])
        self.model.train()

    def stages(self, rounds: int) -> dict[str, float]:
        """Seconds of every stage of a step: the median over rounds, and the mean of that over the training."""
        times: defaultdict[str, list[float]] = defaultdict(list)

        @contextmanager
        def timed(name: str) -> Iterator[None]:
            started = time.perf_counter()
            yield
            times[name].append(time.perf_counter() - started)

        modality = self.model.modality
        for turn in range(rounds * len(self.points)):
            batch = self.drawn[turn % len(self.drawn)]
            policy = self.config.video if modality.kind == "video" else self.config.image.at(batch.progress)
            with timed("draw items"):
                labeled, unlabeled, _ = next(iter(self.sampler.epoch(0)))
                rows = np.concatenate([labeled, unlabeled, unlabeled])
            with torch.no_grad(), timed("read"):
                x = modality.collate(self.collection.items[rows])
            with torch.no_grad(), timed("augment"):
                x = modality.augment(x, policy, torch.default_generator)
            with torch.no_grad(), timed("normalise"):
                x = modality.normalise(x)
            with timed("encoder"):
                features = self.model.encoder(x)
            with timed("losses"):
                total = total_loss(self.method, encoded(self.model, features), replace(batch, x=x))
            self.optimizer.zero_grad(set_to_none=True)
            with timed("backward"):
                total.backward()
            with timed("optimiser"):
                self.optimizer.step()
            with timed("average"):
                if self.config.ema:
                    move_towards(self.kept, self.model, self.config.ema)
        count = len(self.points)
        return {
            name: statistics.mean(statistics.median(values[first::count]) for first in range(count))
            for name, values in times.items()
        }


class Given(nn.Module):
    """Gives the same, whatever is asked."""

    def __init__(self, output: Tensor) -> None:
        super().__init__()
        self.output = output

    def forward(self, x: Tensor) -> Tensor:
        return self.output


def encoded(model: Model, features: Tensor) -> Model:
    """The same model, whose encoder has done its work already."""
    twin = copy.copy(model)
    twin._modules = {**model._modules, "encoder": Given(features)}
    return twin


def total_loss(method: Method, model: Model, batch: Batch) -> Tensor:
    return torch.stack(list(method.loss(model, batch).values())).sum()


def losses_of_many(rounds: int, known: int = 500, novel: int = 500, rows: int = 4096) -> Times:
    """All of the paper's terms with 1,000 classes against ResNet-18 on the same number of 32-pixel pictures.

    The network takes 256 of them, to spare memory, and its time is multiplied by 16.
    """
    third = rows // 3
    config = Config(novel=novel, objective=Objective(entropy=1, norm=1, swapped=1, kl=1, var=1))
    ours = Ours(config, Prior.uniform(known, novel))
    labels = torch.arange(rows - 2 * third) % known
    batch = Batch(torch.zeros(rows, 1), labels, 0.0, torch.arange(third))
    logits = torch.randn(rows, known + novel, requires_grad=True)
    settings = Features((0.0,), (1.0,)).settings()
    model = Model(Card("mlp", "linear", 2, 0.1, known, tuple(map(str, range(known + novel))), settings))
    net = build("resnet18-cifar-pool", (3, 32, 32)).to(memory_format=torch.channels_last)
    pictures = torch.randn(256, 3, 32, 32).contiguous(memory_format=torch.channels_last)

    def all_losses() -> None:
        model.forward = lambda x: torch.log_softmax(logits, 1)
        total_loss(ours, model, batch).backward()

    def bare_step() -> None:
        net(pictures).sum().backward()

    times = compare(all_losses, bare_step, rounds)
    second = times.bare * rows / len(pictures)
    return Times(times.whole, second, times.whole / second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="default", help="of pictures or, with --frames, of videos")
    parser.add_argument("--encoder", default="", help="another network than the preset's")
    parser.add_argument("--batch", type=int, default=0, help="another size of batch than the preset's")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--frames", type=int, default=0, help="clips of so many frames instead of pictures")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--losses", action="store_true")
    options = parser.parse_args()
    keep_memory()  # as the command line does
    if options.losses:
        show("losses", losses_of_many(options.rounds))
        return
    kind = Video if options.frames else Image
    reading, config = starting_reading(kind, options.preset), starting(kind, options.preset)
    config = replace(config, novel=5, val=0.0, encoder=options.encoder or config.encoder)
    config = replace(config, batch=options.batch or config.batch)
    bench = Bench(config, reading, options.size, options.frames, (0.1, 0.3, 0.5, 0.7, 0.9))
    count = len(bench.drawn[0].x)
    print(f"{config.encoder}, {count} items per step, {torch.get_num_threads()} threads")
    bench.steps(options.rounds)
    rows = bench.collection.items[np.arange(count) % len(bench.collection)]
    show("predict", compare(lambda: predict(bench.model, rows), bench.bare_forward, options.rounds))
    stages = bench.stages(options.rounds)
    for name, seconds in stages.items():
        print(f"  {name:10} {1000 * seconds:7.1f} ms  {100 * seconds / sum(stages.values()):5.1f} %")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB of memory")


if __name__ == "__main__":
    main()
