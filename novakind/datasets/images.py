"""Data sets of pictures.

They lie under one folder, the data root, in an official layout or as the one file that `novakind data` makes.
"""

from __future__ import annotations

import gzip
import pickle
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, UInt8

from novakind.data.collection import Collection, Labels, from_arrays
from novakind.data.files import Watch, quiet
from novakind.data.source import data_root
from novakind.errors import UnreadableError, UserError
from novakind.given import opened, read_whole
from novakind.modality.image import Image, ImageReading

CLASSES = {
    name: tuple(classes.split(", "))  # in their official order
    for name, classes in {
        "cifar10": "airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck",
        "fashion-mnist": "T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot",
    }.items()
}
OFFICIAL = {
    "cifar10": "the folder cifar-10-batches-py or cifar-10-batches-bin",
    "fashion-mnist": "the four files train-images-idx3-ubyte.gz etc. in a folder fashion-mnist",
}
DEBIAN = Path("/usr/share/datasets/fashion-mnist")  # its package dataset-fashion-mnist


class Pictures(NamedTuple):
    """A data set as it is published: N x 3 x H x H or N x H x H pixels, the official order, training items first."""

    images: UInt8[np.ndarray, " items *pixels"]
    labels: Labels
    test: Bool[np.ndarray, " items"]


Part = tuple[np.ndarray, np.ndarray]


def digits(root: Path, reading: ImageReading, watch: Watch = quiet) -> Collection:
    """scikit-learn's handwritten digits."""
    return from_arrays(*digit_pictures(), "digits", reading)


def digit_pictures() -> tuple[np.ndarray, np.ndarray]:
    """1,797 pictures of 8 x 8 pixels, their 17 tones spread over 0 to 255; and the digits."""
    from sklearn.datasets import load_digits  # here, since its import takes a second

    X, y = load_digits(return_X_y=True)
    return np.round(X * (255 / 16)).astype(np.uint8).reshape(-1, 8, 8), y


def load(name: str, root: Path, reading: ImageReading, watch: Watch = quiet) -> Collection:
    """The first of the data set's layouts that is there, with its official classes and test part."""
    places = PLACES[name](root)
    for file, read in places:
        if file.exists():
            return collect(name, read(file), reading)
    command = f"novakind data {name}" + ("" if root == data_root() else f" --data-root {root}")
    raise UserError(
        f"{name} is not in {root}, run: {command} (or put {OFFICIAL[name]} there; "
        f"looked for {', '.join(str(file) for file, _ in places)})"
    )


def collect(name: str, pictures: Pictures, reading: ImageReading) -> Collection:
    """A Collection in which every item is labeled and the official test part is marked."""
    images, labels, test = pictures
    classes = CLASSES[name]
    if not 0 <= int(labels.min(initial=0)) <= int(labels.max(initial=0)) < len(classes):
        raise UserError(f"{name} holds a label beyond its {len(classes)} classes: put the official files there again")
    items = images if images.ndim == 4 else np.repeat(images[:, None], 3, axis=1)  # grey: three equal planes
    numbers = np.where(test, np.cumsum(test), np.cumsum(~test)) - 1
    paths = tuple(f"{'test' if held else 'train'}/{number}" for held, number in zip(test, numbers, strict=True))
    modality = Image(items.shape[2], flips=reading.flips, seen=reading.size).fitted(items[: np.count_nonzero(~test)])
    return Collection(name, items, labels, classes, modality, paths, labels, classes, official_test=test)


def cifar10_places(root: Path) -> list[tuple[Path, Callable[[Path], Pictures]]]:
    """All three hold the same bytes in the same order."""
    folders = (root, root / "cifar10")
    return [
        *((folder / "cifar-10-batches-py" / "data_batch_1", read_python_batches) for folder in folders),
        *((folder / "cifar-10-batches-bin" / "data_batch_1.bin", read_binary_batches) for folder in folders),
        (made(root, "cifar10"), partial(read_made, "cifar10")),
    ]


def fashion_mnist_places(root: Path) -> list[tuple[Path, Callable[[Path], Pictures]]]:
    """Official files go before the one that `novakind data` makes: that one is the set's first release.

    Not the root itself, where files of these names may be MNIST's.
    """
    folders = (root / "fashion-mnist", root / "FashionMNIST" / "raw", DEBIAN)
    names = ("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte")
    return [
        *((folder / name, read_idx) for folder in folders for name in names),
        (made(root, "fashion-mnist"), partial(read_made, "fashion-mnist")),
    ]


def made(root: Path, name: str) -> Path:
    """The one file that `novakind data` makes."""
    return root / name / f"{name}.npz"


def read_made(name: str, file: Path) -> Pictures:
    """The file that `novakind data` made; nothing is unpickled, and the checksums within are compared."""
    try:
        with opened(file) as stream, np.load(stream, allow_pickle=False) as arrays:
            return Pictures(arrays["images"], arrays["labels"].astype(np.int64), arrays["test"])
    except Exception as error:  # damaged archives raise almost anything
        raise UserError(f"{file} is damaged ({error}): delete it, then run: novakind data {name}") from None


def read_python_batches(first: Path) -> Pictures:
    """`cifar-10-batches-py`: five training batches and a test batch, each a pickled dictionary."""
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    *train, test = (unpickle_batch(first.with_name(name)) for name in names)
    return together(train, [test])


def read_binary_batches(first: Path) -> Pictures:
    """`cifar-10-batches-bin`: the same as records of one byte of label and 3 x 32 x 32 of picture."""
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    parts = []
    for file in (first.with_name(name) for name in names):
        content = np.frombuffer(read_bytes(file), np.uint8)
        if content.size % 3073:
            raise UserError(f"{file} is no multiple of 3073 bytes long: put the official file there again")
        records = content.reshape(-1, 3073)
        parts.append((records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]))
    return together(parts[:-1], parts[-1:])


def read_idx(first: Path) -> Pictures:
    """Fashion-MNIST's `*-ubyte` files, compressed or not."""
    parts = []
    for stem in ("train", "t10k"):
        files = [first.with_name(f"{stem}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1")]
        images, labels = (parse_idx(file if file.exists() else file.with_name(f"{file.name}.gz")) for file in files)
        if images.shape != (*labels.shape, 28, 28):
            raise UserError(f"{files[0]} and {files[1].name} do not fit each other: put the official files there again")
        parts.append((images, labels))
    return together(parts[:1], parts[1:])


def parse_idx(file: Path) -> np.ndarray:
    """Two zeros, 8 for bytes, the number of dimensions, each dimension in four bytes; then the values."""
    content = read_bytes(file)
    head = 4 + 4 * content[3] if content[:3] == b"\0\0\x08" and len(content) > 3 else 0
    shape = tuple(np.frombuffer(content[4:head], ">u4").tolist()) if 0 < head <= len(content) else (-1,)
    if np.prod(shape) != len(content) - head:
        raise UserError(f"{file} is no idx file of bytes, or not whole: put the official file there again")
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def together(train: list[Part], test: list[Part]) -> Pictures:
    """Parts end to end."""
    images = np.concatenate([images for images, _ in (*train, *test)])
    labels = np.concatenate([labels for _, labels in (*train, *test)]).astype(np.int64)
    held = sum(len(labels) for _, labels in test)
    return Pictures(images, labels, np.arange(len(labels)) >= len(labels) - held)


def read_bytes(file: Path) -> bytes:
    """A file's contents, decompressed."""
    try:
        content = read_whole(file)
        return gzip.decompress(content) if file.suffix == ".gz" else content
    except (UnreadableError, OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{file} cannot be read ({reason}): put the official file there again") from None


class Inert:
    """Stands for what numpy would build while unpickling: keeps what it is given, and does nothing."""

    def __init__(self, *given: object) -> None:
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


def to_latin1(text: str, encoding: str) -> bytes:
    """How Python 3 pickles bytes for Python 2; no other codec is looked up."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"it asks for the codec {encoding!r}")
    return text.encode("latin1")


class BatchUnpickler(pickle.Unpickler):
    """Runs no code that a file names: the four names that official batches hold get harmless stand-ins."""

    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if (module.replace("_core", "core"), name) == ("numpy.core.multiarray", "_reconstruct"):
            return Inert
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return Inert
        if (module, name) == ("_codecs", "encode"):
            return to_latin1
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no official batch does")


def unpickle_batch(file: Path) -> Part:
    """The rows and labels of a batch; whatever is not an official one's contents is refused."""
    try:
        with opened(file) as stream:
            batch = BatchUnpickler(stream, encoding="latin1").load()
        _, (count, width), _, fortran, content = batch["data"].state
        raw = content.encode("latin1") if isinstance(content, str) else content
        rows = np.frombuffer(raw, np.uint8).reshape((count, width), order="F" if fortran else "C")
        if width != 3072 or len(batch["labels"]) != count:
            raise ValueError(f"{len(batch['labels'])} labels for {count} rows of {width} values")
        return rows.reshape(-1, 3, 32, 32), np.array(batch["labels"], dtype=np.uint8)
    except Exception as error:  # what a hostile or damaged pickle raises is its author's choice
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{file} cannot be read as a CIFAR-10 batch ({reason}): put the official file there") from None


PLACES = {"cifar10": cifar10_places, "fashion-mnist": fashion_mnist_places}
