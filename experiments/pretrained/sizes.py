"""How large small pictures must be shown to a published encoder, and in which tones it wants them.

    python -m experiments.pretrained.sizes

CIFAR-10, 120 training pictures of each class. k-means: ACC of the first five classes, ten starts, mean of three seeds.
linear: a linear classifier of all ten classes, half of the pictures to train, the other half to test. One draw of the
pictures; the test part is not touched.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from novakind.data.files import quiet
from novakind.data.source import data_root
from novakind.datasets import DATASETS
from novakind.encoders.front import Front, network_of, origin_of
from novakind.encoders.origin import Origin
from novakind.methods.clusters import kmeans
from novakind.modality.image import Image, ImageReading
from novakind.objective.metrics import clustering_acc

EACH, KNOWN, SEEDS = 120, 5, 3
IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
LOOKS = [
    ("efficientnet-lite0", 96, False),
    ("efficientnet-lite0", 128, False),
    ("efficientnet-lite0", 128, True),
    ("efficientnet-lite0", 160, False),
    ("efficientnet-lite0", 224, False),
    ("efficientnet-lite2", 128, False),
    ("efficientnet-lite2", 160, False),
]
OUT = Path("experiments") / "results" / "pretrained" / "sizes.md"


def judged(origin: Origin, size: int, flips: bool, pictures: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Percent right by k-means and by a linear classifier."""
    image = Image(pictures.shape[2], seen=size, flips=flips)
    vectors = Front(origin, image.for_encoder(origin), network_of(origin))(pictures)
    first = classes < KNOWN
    found = [kmeans(vectors[first], KNOWN, seed).labels_ for seed in range(SEEDS)]
    clustered = np.mean([clustering_acc(classes[first], labels.astype(np.int64)) for labels in found])
    half = np.arange(len(classes)) % 2 == 0
    linear = LogisticRegression(C=30, max_iter=300).fit(vectors[half], classes[half])
    return 100 * float(clustered), 100 * float(linear.score(vectors[~half], classes[~half]))


def main() -> None:
    whole = DATASETS["cifar10"].load(data_root(), ImageReading(), quiet)
    assert whole.official_test is not None
    rng = np.random.default_rng(1)
    free = [np.flatnonzero((whole.labels == number) & ~whole.official_test) for number in range(len(whole.classes))]
    some = np.concatenate([rng.permutation(items)[:EACH] for items in free])
    pictures, classes = np.ascontiguousarray(whole.items[some]), whole.labels[some]
    lines = [f"# Sizes and tones\n\n```\n{(__doc__ or '').strip()}\n```\n", "| | k-means | linear |", "|---|---:|---:|"]
    for name, size, flips in LOOKS:
        looks = {"": origin_of(name)} | (
            {", ImageNet's tones": replace(origin_of(name), **IMAGENET)} if size == 128 else {}
        )
        for tones, origin in looks.items():
            scores = judged(origin, size, flips, pictures, classes)
            row = f"{name}, {size} pixels{', and mirrored' if flips else ''}{tones}"
            lines.append(f"| {row} | {scores[0]:.1f} | {scores[1]:.1f} |")
            print(lines[-1], flush=True)
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
