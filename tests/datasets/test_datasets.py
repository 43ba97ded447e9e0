"""Data sets by name: each official layout, in small; what is refused; the order of classes; the official test part."""

import gzip
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from novakind.data.files import quiet
from novakind.data.source import Source, data_root
from novakind.datasets import DATASETS, is_named
from novakind.datasets import images as datasets
from novakind.datasets.gather import gather
from novakind.datasets.images import CLASSES
from novakind.errors import UserError
from novakind.modality.image import ImageReading

rng = np.random.default_rng(0)
ROWS = rng.integers(0, 256, (36, 3072), dtype=np.uint8)  # five training batches of 5 and a test batch of 11
NUMBERS = np.append(np.arange(25) % 10, np.arange(11) % 10)
CUTS = [5, 10, 15, 20, 25]
BATCHES = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch, tmp_path):
    """Neither the data nor the settings of whoever runs the tests are seen."""
    monkeypatch.setattr(datasets, "DEBIAN", tmp_path / "debian")
    monkeypatch.delenv("NOVAKIND_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def short(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text


def official_pickle(rows: np.ndarray, numbers: np.ndarray) -> bytes:
    """Byte for byte as Python 2 wrote the official batches: protocol 2, its strings are bytes."""
    dtype = b"cnumpy\ndtype\n" + short(b"u1") + b"K\0K\1\x87R(K\3" + short(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" + short(b"b") + b"\x87R(K\1"
    array += b"K" + bytes([len(rows)]) + b"M" + struct.pack("<H", rows.shape[1]) + b"\x86"
    array += dtype + b"K\0tb\x89T" + struct.pack("<i", rows.size) + rows.tobytes() + b"tb"
    labels = b"](" + b"".join(b"K" + bytes([number]) for number in numbers.tolist()) + b"e"
    names = b"](" + short(b"leptodactylus_pentadactylus_s_000004.png") + b"e"
    items = [short(b"batch_label"), short(b"batch 1 of 5"), short(b"labels"), labels]
    return b"\x80\2}(" + b"".join([*items, short(b"data"), array, short(b"filenames"), names]) + b"u."


def write_python(folder: Path, write=official_pickle) -> None:
    folder.mkdir(parents=True)
    for name, rows, numbers in zip(BATCHES, np.split(ROWS, CUTS), np.split(NUMBERS, CUTS), strict=True):
        (folder / name).write_bytes(write(rows, numbers))


def write_binary(folder: Path) -> None:
    folder.mkdir(parents=True)
    records = np.concatenate([NUMBERS[:, None].astype(np.uint8), ROWS], axis=1)
    for name, part in zip(BATCHES, np.split(records, CUTS), strict=True):
        (folder / f"{name}.bin").write_bytes(part.tobytes())


def write_made(root: Path) -> None:
    (root / "cifar10").mkdir(parents=True)
    test = np.arange(36) >= 25
    np.savez(root / "cifar10" / "cifar10.npz", images=ROWS.reshape(-1, 3, 32, 32), labels=NUMBERS, test=test)


def by_python_3(protocol: int):
    """The same dictionary as a user's own Python and numpy write it."""
    return lambda rows, numbers: pickle.dumps({"data": rows, "labels": numbers.tolist()}, protocol)


LAYOUTS = {
    "python": lambda root: write_python(root / "cifar-10-batches-py"),
    "python-inside": lambda root: write_python(root / "cifar10" / "cifar-10-batches-py"),
    "python-3": lambda root: write_python(root / "cifar-10-batches-py", by_python_3(2)),
    "python-4": lambda root: write_python(root / "cifar-10-batches-py", by_python_3(4)),
    "fortran": lambda root: write_python(
        root / "cifar-10-batches-py", lambda rows, numbers: by_python_3(4)(np.asfortranarray(rows), numbers)
    ),
    "binary": lambda root: write_binary(root / "cifar-10-batches-bin"),
    "made": write_made,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cifar10_is_the_same_in_every_layout(tmp_path, layout):
    LAYOUTS[layout](tmp_path / "root")
    collection = DATASETS["cifar10"].load(tmp_path / "root", ImageReading(), quiet)
    np.testing.assert_array_equal(collection.items, ROWS.reshape(-1, 3, 32, 32))
    np.testing.assert_array_equal(collection.labels, NUMBERS)
    np.testing.assert_array_equal(collection.official_test, np.arange(36) >= 25)
    assert collection.classes == collection.truth_classes == CLASSES["cifar10"]
    assert collection.paths[0] == "train/0"
    assert collection.paths[24:26] == ("train/24", "test/0")
    write_made(tmp_path / "other")
    assert collection.digest() == DATASETS["cifar10"].load(tmp_path / "other", ImageReading(), quiet).digest()
    mean = ROWS[:25].reshape(25, 3, -1).mean((0, 2)) / 255  # of the training items alone
    np.testing.assert_allclose(collection.modality.mean, mean, atol=1e-4)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


CLOTHES = rng.integers(0, 256, (32, 28, 28), dtype=np.uint8)
KINDS = np.arange(32) % 10


def write_idx(folder: Path, compressed: bool) -> None:
    folder.mkdir(parents=True)
    for stem, part in (("train", slice(0, 20)), ("t10k", slice(20, 32))):
        for kind, array in (("images-idx3", CLOTHES[part]), ("labels-idx1", KINDS[part])):
            name = f"{stem}-{kind}-ubyte" + (".gz" if compressed else "")
            (folder / name).write_bytes(gzip.compress(idx(array)) if compressed else idx(array))


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("folder", ["root/fashion-mnist", "root/FashionMNIST/raw", "debian"])
def test_fashion_mnist_as_official_files(tmp_path, folder, compressed):
    write_idx(tmp_path / folder, compressed)
    collection = DATASETS["fashion-mnist"].load(tmp_path / "root", ImageReading(), quiet)
    np.testing.assert_array_equal(collection.items, np.repeat(CLOTHES[:, None], 3, axis=1))
    np.testing.assert_array_equal(collection.labels, KINDS)
    np.testing.assert_array_equal(collection.official_test, np.arange(32) >= 20)
    assert collection.classes[0] == "T-shirt/top"
    assert collection.classes[9] == "Ankle boot"


def test_official_files_go_before_the_first_release(tmp_path):
    write_idx(tmp_path / "fashion-mnist", True)
    nothing = np.zeros((2, 28, 28), np.uint8)
    np.savez(
        tmp_path / "fashion-mnist" / "fashion-mnist.npz", images=nothing, labels=np.arange(2), test=np.eye(2)[1] > 0
    )
    assert len(DATASETS["fashion-mnist"].load(tmp_path, ImageReading(), quiet)) == 32
    (tmp_path / "fashion-mnist" / "train-images-idx3-ubyte.gz").unlink()
    assert len(DATASETS["fashion-mnist"].load(tmp_path, ImageReading(), quiet)) == 2


def test_known_classes_and_test_part_are_official(tmp_path):
    write_made(tmp_path / "root")

    def watch(done: int, total: int) -> None: ...

    source = Source(data="cifar10", known="5", data_root=str(tmp_path / "root"))
    collection, split = gather(source, tmp_path / "store", 0.4, watch)
    assert collection.classes == ("airplane", "automobile", "bird", "cat", "deer")
    assert split.test.tolist() == list(range(25, 36))
    assert len(split.val) == 5 + 4  # one of three items of each known class, four of ten unlabeled ones
    assert sorted([*split.train, *split.val]) == list(range(25))

    animals = "bird,cat,deer,dog,frog,horse"
    collection, _ = gather(Source(data="cifar10", known=animals, data_root="root"), tmp_path / "store", 0.0, watch)
    assert collection.classes == tuple(animals.split(","))
    assert collection.truth_classes[6:] == ("airplane", "automobile", "ship", "truck")

    _, split = gather(Source(data="cifar10", test=0.3, data_root="root"), tmp_path / "store", 0.0, watch)
    assert (split.test < 25).sum() > 0  # asked for: a random share
    _, split = gather(Source(data="digits", known="5"), tmp_path / "store", 0.1, watch)
    assert abs(len(split.test) - 0.2 * 1797) < 6


def test_data_root(monkeypatch, tmp_path):
    assert data_root() == tmp_path / "home" / ".cache" / "novakind"
    monkeypatch.setenv("NOVAKIND_DATA", "~/sets")
    assert data_root() == tmp_path / "home" / "sets"
    assert data_root("here") == Path("here")


def test_a_folder_of_that_name_goes_first_unless_it_is_the_data_set(tmp_path):
    assert is_named("cifar10", tmp_path / "root")
    assert not is_named("cifar11", tmp_path / "root")
    (tmp_path / "cifar10").mkdir()
    assert not is_named("cifar10", tmp_path / "root")
    assert is_named("cifar10", Path())


@pytest.mark.parametrize("name", ["cifar10", "fashion-mnist"])
def test_nothing_found_says_what_to_run_and_where_it_looked(tmp_path, name):
    with pytest.raises(UserError, match=f"{name} is not in .*root, run: novakind data {name}") as caught:
        DATASETS[name].load(tmp_path / "root", ImageReading(), quiet)
    assert str(tmp_path / "root" / name / f"{name}.npz") in str(caught.value)
    assert f"novakind data {name} --data-root {tmp_path / 'root'} " in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=rf"run: novakind data {name} \(or put"):
        DATASETS[name].load(data_root(), ImageReading(), quiet)


def test_mnist_in_the_root_is_not_taken_for_fashion_mnist(tmp_path):
    write_idx(tmp_path / "root", True)
    with pytest.raises(UserError, match="fashion-mnist is not in"):
        DATASETS["fashion-mnist"].load(tmp_path / "root", ImageReading(), quiet)


class Malicious:
    """Unpickled as pickle would, this makes a folder."""

    def __init__(self, call, *given):
        self.call = call, given

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Malicious(os.mkdir, "hacked"), 2), "posix.mkdir, which no official batch does"),
        (pickle.dumps({"data": Malicious(eval, "__import__('os').mkdir('hacked')")}, 2), "eval, which no"),
        (pickle.dumps({"data": Malicious(np.load, "x.npy")}, 4), "numpy.load, which no official batch does"),
        (b"cnumpy\nndarray.__init__\n.", "ndarray.__init__, which no official batch does"),
        (b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.", "ndarray.__init__, which no official batch does"),
        (b"c_codecs\nencode\n(Vtext\nVrot13\ntR.", "asks for the codec 'rot13'"),
        (b"Pevil\n.", "persistent"),
        (pickle.dumps([1, 2], 2), "cannot be read as a CIFAR-10 batch"),
        (pickle.dumps({"data": ROWS[:5], "labels": [1, 2]}, 2), "2 labels for 5 rows of 3072 values"),
        (pickle.dumps({"data": ROWS[:5, :9], "labels": [0] * 5}, 2), "5 labels for 5 rows of 9 values"),
        (pickle.dumps({"data": ROWS[:5], "labels": [0, 1, 2, 3, 999]}, 2), "out of bounds"),
        (official_pickle(ROWS[:5], NUMBERS[:5])[:-200], "truncated"),
        (b"", "Ran out of input"),
        (None, "No such file"),
    ],
)
def test_batches_that_are_not_official_are_refused_and_nothing_runs(tmp_path, content, message):
    write_python(tmp_path / "cifar-10-batches-py")
    file = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        DATASETS["cifar10"].load(tmp_path, ImageReading(), quiet)
    assert "data_batch_3 cannot be read as a CIFAR-10 batch" in str(caught.value)
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cifar-10-batches-bin/test_batch.bin", b"12345", "test_batch.bin is no multiple of 3073 bytes"),
        ("cifar-10-batches-bin/test_batch.bin", None, "test_batch.bin cannot be read .No such file"),
        ("cifar-10-batches-bin/test_batch.bin", b"\x0a" + bytes(3072), "a label beyond its 10 classes"),
        ("cifar10/cifar10.npz", b"PK not a zip", "cifar10.npz is damaged .*run: novakind data cifar10"),
        ("fashion-mnist/t10k-labels-idx1-ubyte", None, "t10k-labels-idx1-ubyte.gz cannot be read .No such file"),
        ("fashion-mnist/t10k-images-idx3-ubyte", b"\0\0\x08", "is no idx file of bytes, or not whole"),
        ("fashion-mnist/t10k-images-idx3-ubyte", idx(CLOTHES)[:-1], "is no idx file of bytes, or not whole"),
        ("fashion-mnist/t10k-images-idx3-ubyte", b"\0\0\x08\x03\0\0", "is no idx file of bytes, or not whole"),
        ("fashion-mnist/t10k-labels-idx1-ubyte", idx(KINDS), "do not fit each other"),
        ("fashion-mnist/train-images-idx3-ubyte.gz", gzip.compress(idx(CLOTHES))[:-9], "cannot be read"),
        ("fashion-mnist/train-images-idx3-ubyte.gz", b"text", "Not a gzipped file"),
    ],
)
def test_damage_is_told_by_name(tmp_path, name, content, message):
    kind, file = name.split("/")[0], tmp_path / name
    if kind == "cifar10":
        write_made(tmp_path)
    elif kind == "fashion-mnist":
        write_idx(tmp_path / kind, compressed=name.endswith(".gz"))
    else:
        write_binary(tmp_path / kind)
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(UserError, match=message):
        DATASETS["fashion-mnist" if kind == "fashion-mnist" else "cifar10"].load(tmp_path, ImageReading(), quiet)
