"""What a person's minutes are worth: a simulated reviewer answers the queue, or as many random items, from the truth.

python -m experiments.minutes [--data digits cifar10 mobiact] [--seeds 3] [--budgets 10 30 50 100]

A run finds the novel categories among vectors: 64 pixels of the digits; EfficientNet-Lite0's of 100 pictures of each
class of CIFAR-10; statistics of the windows of MobiAct. The reviewer names each category after the class that fits it
best, then says what single items are: those that the queue asks about, or as many drawn at random. Each number of
decisions is followed by a second round. The score is the share of all unlabeled items whose final label is right.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from experiments.draw import MARGIN, SIDE, Panel, picture
from experiments.stamp import commit, machine
from novakind.compare.bars import shown
from novakind.compare.curves import HUES
from novakind.config import starting
from novakind.data.embed import vectors_of
from novakind.data.source import Source, data_root
from novakind.datasets import DATASETS
from novakind.datasets.images import digit_pictures
from novakind.encoders.front import origin_of
from novakind.modality.features import Features
from novakind.objective.metrics import contingency, pair_off
from novakind.results.review.desk import Desk
from novakind.runs.complete import complete
from novakind.runs.discovery import Discovery
from novakind.runs.rounds import decisions_of

HERE = Path(__file__).parent / "results"
WAYS = ("the queue", "at random")
ASKED = 10  # decisions, after which the queue is asked anew, as the page does


class Task(NamedTuple):
    """Vectors, their classes, and how many of those are known."""

    X: np.ndarray
    truth: np.ndarray
    known: int


def digits() -> Task:
    pictures, truth = digit_pictures()
    return Task(pictures.reshape(len(pictures), -1).astype(np.float32), truth, 5)


def cifar10(each: int = 300, side: int = 128) -> Task:
    """The first training pictures of each class, as EfficientNet-Lite0 sees them when they are made larger."""
    kind = DATASETS["cifar10"]
    collection = kind.load(data_root(), kind.kind.Reading(size=side), lambda done, total: None)
    train = np.flatnonzero(~collection.official_test) if collection.official_test is not None else np.arange(0)
    chosen = np.concatenate([train[collection.truth[train] == number][:each] for number in range(10)])
    X = vectors_of(
        collection.items[chosen], collection.modality, origin_of("efficientnet-lite0"), lambda done, total: None
    )
    return Task(X, collection.truth[chosen], 5)


def mobiact(each: int = 150) -> Task:
    """Windows of nine activities as mean, spread, extremes and spectrum of each channel."""
    kind = DATASETS["mobiact"]
    assert kind.balanced is not None
    collection = kind.balanced(data_root(), kind.kind.Reading(), lambda done, total: None)
    rng = np.random.default_rng(0)
    members = [np.flatnonzero(collection.truth == number) for number in range(len(collection.truth_classes))]
    chosen = np.concatenate([rng.permutation(ones)[:each] for ones in members])
    rows = np.asarray(collection.items[chosen], dtype=np.float32)
    time_last = rows if rows.shape[1] < rows.shape[2] else rows.swapaxes(1, 2)
    waves = np.log1p(np.abs(np.fft.rfft(time_last - time_last.mean(2, keepdims=True), axis=2))[:, :, 1:25])
    plain = [time_last.mean(2), time_last.std(2), time_last.min(2), time_last.max(2)]
    return Task(np.concatenate([*plain, waves.reshape(len(rows), -1)], 1), collection.truth[chosen], 5)


TASKS: dict[str, Callable[[], Task]] = {"digits": digits, "cifar10": cifar10, "mobiact": mobiact}


def named(found: Discovery, truth: np.ndarray) -> Discovery:
    """Each new category after the class that fits it best, no two alike; as a person does who looks at it."""
    known, free = found.known, np.array(found.status) == "suggested"
    table = contingency(truth[free], found.category[free])
    table = np.pad(table, [(0, max(0, len(found.names) - table.shape[0])), (0, len(found.names) - table.shape[1])])
    rows, columns = pair_off(table[known:, known:])
    for row, column in zip(rows, columns, strict=True):
        found = found.rename(int(column) + known, f"class {row + known}")
    return found


def decide(found: Discovery, truth: np.ndarray, items: Sequence[int]) -> Discovery:
    """What the items really are: confirmed where they are right, else moved."""
    for item in items:
        name = f"class {truth[item]}"
        living = {one: number for number, one in enumerate(found.names) if found.snapshot.alive[number]}
        if found.final[item] == name:
            found = found.confirm([item])
        elif name in living:
            found = found.move([item], living[name])
        else:
            found = found.create([item], name)
    return found


def accuracy(found: Discovery, truth: np.ndarray, free: np.ndarray) -> float:
    right = np.array([name == f"class {number}" for name, number in zip(found.final, truth, strict=True)])
    return 100 * float(right[free].mean())


def course(task: Task, seed: int, budgets: Sequence[int], folder: Path) -> dict[str, dict[str, list[float]]]:
    """The scores of one seed: by way, before and after a second round, for each number of decisions."""
    labels = np.where(task.truth < task.known, np.char.add("class ", task.truth.astype(str)), "")
    file, run = folder / "items.npz", folder / "run"
    np.savez(file, X=task.X, y=labels)
    config = replace(starting(Features), novel=int(task.truth.max()) + 1 - task.known, seed=seed)
    complete(Source(str(file)), config, run, quiet=True)
    free = labels == ""
    start = named(Discovery.load(run), task.truth)
    first = accuracy(start, task.truth, free)
    found: dict[str, dict[str, list[float]]] = {}
    edits = (run / "edits.jsonl").read_bytes()
    drawn = np.random.default_rng([seed, 9]).permutation(np.flatnonzero(free)).tolist()
    for way in WAYS:
        found[way] = {"reviewed": [first], "second": [first]}
        for budget in budgets:
            (run / "edits.jsonl").write_bytes(edits)
            now, desk = Discovery.load(run), Desk(run)
            for start in range(0, budget, ASKED):
                desk.watch()
                asked = [one["item"] for one in desk.queue(ASKED)["entries"]] if way == WAYS[0] else drawn[start:]
                now = decide(now, task.truth, asked[:ASKED])
            found[way]["reviewed"].append(accuracy(now, task.truth, free))
            out = folder / f"{way}-{budget}"
            complete(Source(str(file)), config, out, quiet=True, decisions=decisions_of(run))
            found[way]["second"].append(accuracy(Discovery.load(out), task.truth, free))
    return found


def worth(budgets: Sequence[int], by_queue: Sequence[float], at_random: Sequence[float]) -> float:
    """How many decisions of the queue give what the most random ones give, by straight lines between budgets."""
    places = [0, *budgets]
    for (one, low), (other, high) in zip(
        zip(places, by_queue, strict=True), zip(places[1:], by_queue[1:], strict=True), strict=False
    ):
        if high >= at_random[-1] > low:
            return one + (other - one) * (at_random[-1] - low) / (high - low)
    return 0.0 if by_queue[0] >= at_random[-1] else float("inf")


def panel(title: str, budgets: Sequence[int], courses: dict[str, list[list[float]]]) -> Panel:
    """Accuracy by decisions: a thin line per seed, a thick one for their mean."""
    values = [value for seeds in courses.values() for seed in seeds for value in seed]
    low, high, places = min(values) // 2 * 2, 100.0, [0, *budgets]

    def place(number: float, value: float) -> str:
        return f"{40 + (SIDE - 40) * number / places[-1]:.1f},{SIDE * (1 - (value - low) / (high - low)):.1f}"

    lines = []
    for tick in np.linspace(low, high, 5):
        y = place(0, float(tick)).split(",")[1]
        lines.append(f'<line class="grid" x1="40" x2="{SIDE}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text class="right" x="34" y="{float(y) + 4:.1f}">{tick:g}</text>')
    for number in places:
        x = place(number, low).split(",")[0]
        lines.append(f'<text class="tick" x="{x}" y="{SIDE + 18}">{number}</text>')
    for (name, seeds), hue in zip(courses.items(), HUES, strict=False):
        together = [mean(each) for each in zip(*seeds, strict=True)]
        for style, values in (*(("seed", seed) for seed in seeds), ("curve", together)):
            path = " ".join(place(number, value) for number, value in zip(places, values, strict=True))
            lines.append(f'<polyline class="{style}" stroke="{hue}" points="{path}"/>')
        x, y = map(float, place(places[-1], together[-1]).split(","))
        y += 14 * (name == WAYS[1])
        lines.append(f'<text class="end" x="{x + 8:.1f}" y="{y + 4:.1f}" style="fill:{hue}">{shown(name, 24)}</text>')
    lines.append(f'<text class="tick" x="{SIDE / 2 + 20}" y="{SIDE + 38}">decisions of a person</text>')
    return title, SIDE + 3 * MARGIN, SIDE + 44, lines


def summary(budgets: Sequence[int], seeds: list[dict[str, dict[str, list[float]]]]) -> dict[str, Any]:
    """All seeds, their mean, and what the queue's decisions are worth."""
    both = [[mean(values) for values in zip(*(one[way]["second"] for one in seeds), strict=True)] for way in WAYS]
    return {"seeds": seeds, "mean": dict(zip(WAYS, both, strict=True)), "worth": worth(budgets, *both)}


def write(results: dict[str, Any], out: Path) -> None:
    """The numbers, and the picture of them."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "minutes.json").write_text(json.dumps(results, indent=1))
    panels = [
        panel(
            f"{one}: {facts['worth']:.0f} of the queue are worth {facts['budgets'][-1]} random ones",
            facts["budgets"],
            {way: [seed[way]["second"] for seed in facts["seeds"]] for way in WAYS},
        )
        for one, facts in results.items()
    ]
    seeds = ", ".join(f"{name}: {len(facts['seeds'])}" for name, facts in results.items())
    title = "What a person's decisions are worth, after a second round"
    subtitle = (
        f"unlabeled items whose final label is right, in percent; a thin line per seed, their mean (seeds: {seeds})"
    )
    (out / "minutes.svg").write_text(picture(title, subtitle, panels, 3))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 30, 50, 100])
    parser.add_argument("--out", type=Path, default=HERE)
    given = parser.parse_args(words)
    file = given.out / "minutes.json"
    for name in given.data:
        task, results = TASKS[name](), json.loads(file.read_text()) if file.exists() else {}
        typed = f"python -m experiments.minutes --data {name} --seeds {given.seeds} --budgets "
        typed += " ".join(map(str, given.budgets))
        before = results.get(name, {})
        seeds, spent = (before["seeds"], before["minutes"]) if before.get("command") == typed else ([], 0.0)
        for seed in range(len(seeds), given.seeds):  # what was stopped goes on
            began = time.process_time()
            with TemporaryDirectory() as folder:
                seeds.append(course(task, seed, given.budgets, Path(folder)))
            print(name, seed, json.dumps(seeds[-1]), file=sys.stderr, flush=True)
            spent = round(spent + (time.process_time() - began) / 60, 2)  # of a processor: others may use it too
            facts = {"command": typed, "commit": commit(), "machine": machine(), "items": len(task.X)}
            facts |= {"unlabeled": int((task.truth >= task.known).sum()), "budgets": given.budgets}
            results[name] = facts | summary(given.budgets, seeds) | {"minutes": spent}
            write(results, given.out)
        write(results, given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
