"""What a frozen encoder costs beyond decoding and looking, as a ratio measured in one run; and how soon a second run
starts.

    python bench/embed.py FOLDER --items 1000        # a folder of pictures
    python bench/embed.py FOLDER --encoder efficientnet-lite2 --size 160

embed:  listing, decoding into the store, content keys, looking, keeping the vectors  /  decoding + looking
again:  the same a second time, when everything is there, in seconds
The two sides of the ratio take turns over pieces of the pictures, so that both meet the same noise.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from novakind.data.embed import embed
from novakind.data.files import from_files
from novakind.data.paths import Listing, walk
from novakind.encoders.front import Front, origin_of
from novakind.modality.image import Image, ImageReading

PIECES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--encoder", default="efficientnet-lite0")
    parser.add_argument("--size", type=int, default=0)
    arguments = parser.parse_args()
    files = [file for file in sorted(walk(arguments.folder)) if file.suffix.lower() in Image.endings]
    files = files[:: max(1, len(files) // arguments.items)][: arguments.items]
    origin = origin_of(arguments.encoder)
    modality = Image.survey(files, ImageReading(size=arguments.size), origin)
    front = Front.opened(origin, modality)
    whole = bare = again = 0.0
    with tempfile.TemporaryDirectory() as place:
        os.environ["NOVAKIND_CACHE"] = place
        embed_piece(files[:8], modality, origin, Path(place, "warm"))
        for piece in range(PIECES):
            some = files[piece::PIECES]
            started = time.perf_counter()
            with ThreadPoolExecutor() as pool:
                rows = np.stack([row for found in pool.map(modality.read, some) for _, row in found])
            front(rows)
            bare += time.perf_counter() - started
            started = time.perf_counter()
            embed_piece(some, modality, origin, Path(place, str(piece)))
            whole += time.perf_counter() - started
            started = time.perf_counter()
            embed_piece(some, modality, origin, Path(place, str(piece)))
            again += time.perf_counter() - started
    print(f"{len(files)} pictures of {modality.size} pixels, {arguments.encoder}")
    print(f"embed  {whole / bare:.3f}  ({whole:.1f} s / {bare:.1f} s, {len(files) / whole:.0f} pictures per second)")
    print(f"again  {again:.2f} s, {1e4 * again / len(files):.2f} s for 10,000 pictures")


def embed_piece(files: list[Path], modality: Image, origin, store: Path) -> None:
    """As a run does it."""
    names = [str(file) for file in files]
    collection = from_files(
        "bench", Listing(Path(), names, [""] * len(names)), modality, store, lambda *_: None, measured=False
    )
    embed(collection, origin, lambda *_: None)


if __name__ == "__main__":
    main()
