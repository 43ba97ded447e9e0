"""What bench/pictures.py compares: `store` decodes all pictures of a folder as novakind does, `pillow` as a bare loop
does in as many processes, `forward` also looks at them with the network of a run.

    python bench/decoding.py store FOLDER PROCESSES STORE
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image as Pillow

from novakind.data.files import load
from novakind.modality.image import Image
from novakind.model import load_model

PIECE = 64


def main() -> None:
    what, folder, processes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processes])  # novakind takes as many as there are cores
    if what == "store":
        load(folder / "pictures", folder / sys.argv[4], kind=Image)
    elif what == "pillow":
        for _ in decoded(folder, processes, as_they_are):
            pass
    else:
        forward(folder, processes)


def as_they_are(files: list[str]) -> int:
    """Decoded, and forgotten: sending them would be work too."""
    for file in files:
        with Pillow.open(file) as picture:
            np.asarray(picture.convert("RGB"))
    return len(files)


def scaled(side: int, files: list[str]) -> np.ndarray:
    rows = []
    for file in files:
        with Pillow.open(file) as picture:
            small = picture.convert("RGB").resize((side, side), Pillow.Resampling.BILINEAR)
            rows.append(np.asarray(small).transpose(2, 0, 1))
    return np.stack(rows)


def decoded(folder: Path, processes: int, work: Callable) -> Iterator:
    files = sorted(os.path.join(place, name) for place, _, names in os.walk(folder / "pictures") for name in names)
    pieces = [files[start : start + PIECE] for start in range(0, len(files), PIECE)]
    if processes == 1:
        yield from map(work, pieces)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(work, pieces)


@torch.inference_mode()
def forward(folder: Path, processes: int) -> None:
    model = load_model(folder / "run" / "model.safetensors")
    modality = model.modality
    with (folder / "bare.csv").open("w") as out:
        for rows in decoded(folder, processes, partial(scaled, modality.shape[-1])):
            logp = model(modality.normalise(modality.collate(rows)))
            for number, share in zip(logp.argmax(1).tolist(), logp.amax(1).exp().tolist(), strict=True):
                out.write(f"{number},{share:.6f}\n")


if __name__ == "__main__":
    main()
