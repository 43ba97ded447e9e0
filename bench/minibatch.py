"""MiniBatchKMeans on the unlabeled rows of X.npy in a folder, as bench/vectors.py compares with."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans

STEP = 20_000


def main() -> None:
    folder, clusters = Path(sys.argv[1]), int(sys.argv[2])
    X, labels = np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "X.labels.npy")
    parts = [slice(start, start + STEP) for start in range(0, len(X), STEP)]
    rows = np.concatenate([X[part][labels[part] < 0] for part in parts])
    model = MiniBatchKMeans(clusters, random_state=0, batch_size=4096).fit(rows.astype(np.float32))
    del rows
    found = np.zeros(len(X), np.int64)
    for part in parts:
        found[part] = model.predict(X[part].astype(np.float32))
    np.save(folder / "kmeans.npy", found)


if __name__ == "__main__":
    main()
