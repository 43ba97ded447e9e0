"""Many small pictures in folders: how fast they are read, and sorted by a trained model.

    python bench/pictures.py                     # 200,000 pictures, some minutes
    python bench/pictures.py --pictures 20000
    python bench/pictures.py --pictures 10000 --size 500x375    # as cameras and the web have them: JPEG alone

reading: novakind's store of all of them  /  a loop of Pillow over the same files in as many processes, which keeps
         nothing. Time of all cores together, and by the clock; the same where one process does it alone
adding:  how many files are read when one is added, and when the reading of all is killed halfway and begun again
predict: novakind predict of all  /  decoding by that loop and looking by the same network, and nothing else; whether
         its memory grows
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import ImageFilter
from watched import Needed, family, needed, novakind

from novakind.disk import write_atomic
from novakind.modality.image import Image
from novakind.model import Card, Model, to_bytes

SIDE, FOLDERS = 64, 200
BESIDE = str(Path(__file__).with_name("decoding.py"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=200_000)
    parser.add_argument("--size", type=size, default=(SIDE, SIDE), help="64x64 has JPEG and PNG in turn")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        make(Path(folder) / "pictures", asked.pictures, asked.size)
        compare(Path(folder), asked.pictures)


def size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)


def compare(folder: Path, count: int) -> None:
    reading(folder, count)
    adding(folder, count)
    sorting(folder, count)


def reading(folder: Path, count: int) -> None:
    cores = len(os.sched_getaffinity(0))
    script("pillow", folder, cores)  # so that both find the files in memory
    for processes in dict.fromkeys((cores, 1)):
        ours = script("store", folder, processes, f"store-{processes}")
        bare = script("pillow", folder, processes)
        print(
            f"reading:  {ours.cores / bare.cores:.2f} of Pillow's work, {ours.seconds / bare.seconds:.2f} by the clock,"
            f" {count:,} pictures, {processes} processes, {count / ours.cores:.0f} per second and core"
        )


def adding(folder: Path, count: int) -> None:
    """The store of the first measurement gets one more file; another one is killed on its way."""
    store = next(folder.glob("store-*"))
    Pillow.new("RGB", (SIDE, SIDE)).save(folder / "pictures" / "0" / "added.png")
    print(f"adding:   {read_anew(folder, store)} of {count + 1:,} files read when one is added")
    words = (sys.executable, BESIDE, "store", str(folder), "1", "killed")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while lines(folder / "killed") < count // 2 and process.poll() is None:
        time.sleep(0.01)
    for each in reversed(family(process.pid)):
        os.kill(each, signal.SIGKILL)
    process.wait()
    print(f"          {read_anew(folder, folder / 'killed'):,} when it is begun again after a kill halfway")


def lines(store: Path) -> int:
    index = store / "index.jsonl"
    return index.read_bytes().count(b"\n") - 1 if index.exists() else 0


def read_anew(folder: Path, store: Path) -> int:
    before = lines(store)
    script("store", folder, len(os.sched_getaffinity(0)), store.name)
    return lines(store) - before


def sorting(folder: Path, count: int) -> None:
    (folder / "run").mkdir()
    names = tuple(f"class {number}" for number in range(10))
    card = Card("convnet", "prototype", 128, 0.1, 5, names, Image(32).settings())
    write_atomic(folder / "run" / "model.safetensors", to_bytes(Model(card)))
    cores = len(os.sched_getaffinity(0))
    given = (str(folder / "run"), str(folder / "pictures"), "--out", str(folder / "sorted.csv"))
    ours = needed(*novakind("predict", *given))
    bare = script("forward", folder, cores)
    print(
        f"predict:  {ours.cores / bare.cores:.2f} of decoding and looking alone, {ours.seconds / bare.seconds:.2f} by "
        f"the clock, {count / ours.cores:.0f} per second and core"
    )
    print(f"          {ours.memory:.2f} GB, in the last half of the time {ours.later:.2f} of what it was in the first")


def script(what: str, folder: Path, processes: int, *more: str) -> Needed:
    return needed(sys.executable, BESIDE, what, str(folder), str(processes), *more)


def make(folder: Path, count: int, size: tuple[int, int] = (SIDE, SIDE)) -> None:
    """Smooth pictures of random colours: small ones as JPEG and PNG in turn, in folders of about a thousand."""
    rng, (width, height) = np.random.default_rng(0), size
    endings = ("jpg", "png") if max(size) <= SIDE else ("jpg", "jpg")
    for number in range(count):
        inside = folder / str(number % min(FOLDERS, count))
        if number < FOLDERS:
            inside.mkdir(parents=True, exist_ok=True)
        tones = rng.integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
        picture = Pillow.fromarray(tones).resize(size).filter(ImageFilter.BoxBlur(1))
        picture.save(inside / f"{number}.{endings[number % 2]}", compress_level=1)


if __name__ == "__main__":
    main()
