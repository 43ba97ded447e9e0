"""Pictures of CIFAR-10 as a person has photographs: PNG files, a folder for each of the known classes, the others in
`unlabeled`.

    python -m experiments.folder photos --each 625
    novakind discover photos --truth photos-truth.csv --test 0.2

The first classes are known, in their official order. Which pictures, of the official training part, the seed says.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image as Pillow

from experiments.pretrained.reduced import drawn
from novakind.data.collection import Collection
from novakind.data.source import data_root
from novakind.data.split import official_test
from novakind.datasets.images import load
from novakind.disk import csv_bytes, write_atomic
from novakind.modality.image import ImageReading


def write_folder(collection: Collection, root: Path, each: int, known: int, labeled: float, seed: int) -> Path:
    """So many pictures of each class, of the known ones a share of them labeled; the file with the truth of all."""
    rows = []
    chosen = drawn(collection, ~official_test(collection), each, seed).reshape(-1, each)
    for number, (name, items) in enumerate(zip(collection.truth_classes, chosen.tolist(), strict=True)):
        for place, item in enumerate(items):
            told = number < known and place < labeled * each
            inside = Path(name if told else "unlabeled") / f"{item:05}.png"
            (root / inside.parent).mkdir(parents=True, exist_ok=True)
            Pillow.fromarray(collection.items[item].transpose(1, 2, 0)).save(root / inside)
            rows.append((inside.as_posix(), name))
    truth = root.with_name(f"{root.name}-truth.csv")
    write_atomic(truth, csv_bytes(["path", "label"], rows))
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="the folder to write; the truth is written beside it")
    parser.add_argument("--each", type=int, default=500, help="pictures of each class")
    parser.add_argument("--known", type=int, default=5, help="classes that are known")
    parser.add_argument("--labeled", type=float, default=1.0, help="share of the known classes' pictures with a label")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.root.exists():
        parser.error(f"{asked.root} is there already")
    pictures = load("cifar10", data_root(), ImageReading())
    print(write_folder(pictures, asked.root, asked.each, asked.known, asked.labeled, asked.seed))


if __name__ == "__main__":
    main()
