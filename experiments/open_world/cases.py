"""Rows of the table: items of known and novel classes, with known ones among the unlabeled or not, even or uneven.

Development saw other items or classes: every second digit, the first 75 intents, mixtures of other seeds, ten of the
classes of UCF101's frames, and six in ten photographs of clothing, whose ten classes are the same (the draws differ),
as are those of the sensors; pictures of CIFAR-10 it never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from experiments.pretrained.mixtures import MIXTURES, draw
from novakind.app.discover import assemble
from novakind.data.embed import vectors_of
from novakind.data.files import quiet
from novakind.data.source import data_root
from novakind.datasets import DATASETS
from novakind.datasets.gather import gather
from novakind.disk import cache_folder, replacing
from novakind.encoders.front import origin_of
from novakind.modality.image import ImageReading

ENCODER, PICTURES, SIZE = "efficientnet-lite0", 200, 160  # of CIFAR-10: pictures of each class, and their pixels
LABELED = 0.5  # of the items of known classes
LEAST = 12  # items of the smallest novel class, where they are uneven
SMALLEST = 0.15  # of the largest

Vectors = tuple[Float[np.ndarray, "items dim"], np.ndarray]


class Items(NamedTuple):
    """Vectors, labels (-1: none) and the truth, known classes first."""

    rows: Float[np.ndarray, "items dim"]
    labels: Int[np.ndarray, " items"]
    truth: Int[np.ndarray, " items"]
    known: int


class Case(NamedTuple):
    """`mixed` is the wanted share of known classes among the unlabeled items; `uneven`: novel classes fall to 0.15."""

    name: str
    pool: Callable[[int], Vectors]
    known: int
    novel: int
    mixed: float = 0.0
    uneven: bool = False
    each: int = 0
    """Items of each class at most; 0: all."""

    @property
    def title(self) -> str:
        known = f"known ones {self.mixed:.0%} of the unlabeled" if self.mixed else "no known ones among the unlabeled"
        return f"{self.name}, {self.known}/{self.novel}, {'uneven' if self.uneven else 'as they are'}, {known}"

    def items(self, seed: int) -> Items:
        """Other classes are novel, and other items labeled, with each seed."""
        rng = np.random.default_rng([seed, 20])
        rows, names = self.pool(seed)
        chosen = rng.permutation(np.unique(names))[: self.known + self.novel]
        members = [rng.permutation(np.flatnonzero(names == name))[: self.each or None] for name in chosen]
        if self.uneven:
            for place in range(self.novel):
                left = SMALLEST ** (place / max(1, self.novel - 1)) * len(members[self.known + place])
                members[self.known + place] = members[self.known + place][: max(LEAST, int(left))]
        novel = sum(len(one) for one in members[self.known :])
        hidden = [int((1 - LABELED) * len(one)) for one in members[: self.known]]
        part = min(1.0, self.mixed / (1 - self.mixed) * novel / sum(hidden))
        parts, truth, labels = [], [], []
        for number, one in enumerate(members):
            away = hidden[number] if number < self.known else 0
            kept = np.concatenate([one[: round(part * away)], one[away:]]) if away else one
            parts.append(kept)
            truth.append(np.full(len(kept), number))
            labels.append(np.full(len(kept), number if number < self.known else -1))
            labels[-1][: round(part * away)] = -1
        order = rng.permutation(sum(len(one) for one in parts))
        place = np.concatenate(parts)[order]
        return Items(rows[place], np.concatenate(labels)[order], np.concatenate(truth)[order], self.known)


def cases() -> Iterator[Case]:
    """Everything unknown."""
    for mixed, uneven in ((0.0, False), (0.35, False), (0.2, True)):
        yield Case("digits, pixels", digits, 5, 5, mixed, uneven)
        yield Case("CLINC150, MiniLM", intents, 6, 4, mixed, uneven, 100)
        yield Case("clothing, EfficientNet-Lite0", clothing, 5, 5, mixed, uneven, 120)
        yield Case("mixture, unlike widths", partial(mixture, "unlike widths"), 6, 6, mixed, uneven, 100)
    for mixed, uneven in ((0.0, False), (0.35, False), (0.2, True)):
        yield Case("CIFAR-10, EfficientNet-Lite0", cifar10, 5, 5, mixed, uneven, 100)
        yield Case("CLINC150, MiniLM", intents, 20, 10, mixed, uneven, 60)


def counted() -> Iterator[Case]:
    """The number alone, for several choices of classes."""
    pools = {"digits": digits, "clothing": clothing, "CIFAR-10": cifar10, "CLINC150": intents}
    pools |= {"MobiAct": partial(windows, "mobiact"), "USC-HAD": partial(windows, "usc-had")}
    for name, pool in pools.items():
        for known, novel in ((5, 5), (6, 4), (4, 6), (7, 3)) if name != "MobiAct" else ((5, 4), (4, 5), (6, 3)):
            yield Case(name, pool, known, novel, 0.0, False, 100)


def digits(seed: int) -> Vectors:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[1::2].astype(np.float32), y[1::2].astype(str)


def intents(seed: int) -> Vectors:
    X, y = kept("clinc150", partial(named, "clinc150", {"known": "75", "encoder": "minilm"}))
    last = np.isin(y, np.unique(y)[75:])
    return X[last], y[last]


def clothing(seed: int) -> Vectors:
    asked = {"known": "5", "encoder": ENCODER, "tune": "frozen"}
    return kept("clothing", partial(named, "clothing", asked))


def cifar10(seed: int) -> Vectors:
    return kept("cifar10", small_pictures)


def windows(name: str, seed: int) -> Vectors:
    """Of windows of sensors what tells movements apart at first sight: position, spread, change and rhythm."""
    series, y = kept(name, partial(named, name, {"known": "5"}))
    size = np.linalg.norm(series[:, :3], axis=1)
    rhythm = np.log1p(np.abs(np.fft.rfft(size - size.mean(1, keepdims=True)))[:, 1:16])
    numbers = [*np.quantile(series, (0.1, 0.5, 0.9), axis=2), series.mean(2), series.std(2), np.diff(series).std(2)]
    X = np.concatenate([*numbers, rhythm], axis=1)
    return ((X - X.mean(0)) / (X.std(0) + 1e-6)).astype(np.float32), y


def mixture(kind: str, seed: int) -> Vectors:
    return draw(MIXTURES[kind], seed)[:2]


@cache
def kept(name: str, make: Callable[[], Vectors]) -> Vectors:
    """Vectors by name; made once, since opening the pictures takes longer than all the rest."""
    file = cache_folder() / "open_world" / f"{name}.npz"
    if not file.exists():
        X, y = make()
        with replacing(file) as part, part.open("wb") as opened:
            np.savez(opened, X=X, y=y)
    with np.load(file) as arrays:
        return arrays["X"], arrays["y"]


def named(name: str, options: dict[str, str]) -> Vectors:
    source, config = assemble(name, "auto", options)
    collection = gather(source, Path("store"), config.val, quiet)[0]
    return np.asarray(collection.items), np.array(collection.truth_classes)[collection.truth]


def small_pictures() -> Vectors:
    """Test pictures."""
    whole = DATASETS["cifar10"].load(data_root(), ImageReading(size=SIZE), quiet)
    assert whole.official_test is not None
    rng, test = np.random.default_rng(0), whole.official_test
    some = [rng.permutation(np.flatnonzero((whole.truth == one) & test))[:PICTURES] for one in range(10)]
    place = np.sort(np.concatenate(some))
    found = vectors_of(whole.items[place], whole.modality, origin_of(ENCODER), quiet)
    return found, np.array(whole.truth_classes)[whole.truth[place]]
