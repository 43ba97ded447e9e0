"""Arrays on disk: .npz with X and y, .npy with X beside its labels, and columns of vectors in tables."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from novakind.data.vectors import has_vectors, labels_of, read_vectors
from novakind.errors import UserError
from novakind.given import memory, to_read

LABELS = ".labels.npy"
WIDEST = 2**28  # numbers of one item
DAMAGED = "{} is no .npz file of plain arrays, or damaged: write it with numpy.savez(path, X=..., y=...)"


class Arrays(NamedTuple):
    """One row of each array is an item; `y` is there where labels were asked for."""

    arrays: Mapping[str, np.ndarray]
    names: Sequence[str]


def holds_arrays(path: Path) -> bool:
    """By its ending; a Parquet file by its columns, for without vectors it is a manifest."""
    return path.suffix.lower() in READERS and (path.suffix.lower() != ".parquet" or has_vectors(path))


def read(path: Path, labeled: bool) -> Arrays:
    """The items of a file for which `holds_arrays`."""
    return READERS[path.suffix.lower()](path, labeled)


def numbered(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Items that are called by the numbers of their rows."""
    rows = len(arrays["X"]) if arrays["X"].ndim else 0
    return Arrays(arrays, [str(number) for number in range(rows)])


def read_npz(path: Path, labeled: bool) -> Arrays:
    arrays = read_arrays(path)
    for key in ("X", "y") if labeled else ("X",):
        if key not in arrays:
            raise UserError(
                f"{path} has no array {key}: write it with numpy.savez(path, X=..., y=...), y = -1 for unlabeled"
            )
    return numbered(arrays | {"y": as_in_tables(path, arrays["y"])} if labeled else arrays)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, without unpickling anything."""
    try:
        with to_read(path, "a readable .npz file") as opened:
            check_size(path, opened)
            with np.load(opened, allow_pickle=False) as file:
                return dict(file)
    except UserError:
        raise
    except Exception:  # numpy, zipfile and zlib each have their own ways to say so, none of them for users
        raise UserError(DAMAGED.format(path)) from None


def check_size(path: Path, opened: BinaryIO) -> None:
    """Refuse arrays that do not fit into memory: some KB of a file can be gigabytes of one number; and those that are
    smaller than their header says, for which numpy would make room all the same."""
    with zipfile.ZipFile(opened) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        for entry in archive.infolist():
            with archive.open(entry) as file:
                shape, dtype = read_header(file)
            if math.prod(shape) * dtype.itemsize > entry.file_size and not dtype.hasobject:
                raise UserError(DAMAGED.format(path))
    opened.seek(0)
    if size > memory():
        raise UserError(
            f"{path} holds {size / 2**30:,.0f} GB of arrays, more than this machine's memory: save X with numpy.save, "
            "for an .npy file stays on disk"
        )


def read_npy(path: Path, labeled: bool) -> Arrays:
    """X stays on disk until its rows are asked for; the labels of NAME.npy are in NAME.labels.npy."""
    arrays = {"X": mapped(path)}
    if labeled:
        beside = path.with_name(path.stem + LABELS)
        if not beside.exists():
            raise UserError(
                f"{path} holds no labels, and there is no {beside.name} beside it: "
                f"write them with numpy.save('{beside.name}', y), -1 for unlabeled"
            )
        arrays["y"] = as_in_tables(beside, np.array(mapped(beside)))
    return numbered(arrays)


def as_in_tables(path: Path, y: np.ndarray) -> np.ndarray:
    """Labels, strings of which mean what they mean in a table."""
    return labels_of(path, y.tolist()).astype(str) if y.dtype.kind == "U" and y.ndim == 1 else y


def mapped(path: Path) -> np.ndarray:
    """The array of an .npy file, without reading it, and without unpickling anything."""
    try:
        with to_read(path, "a readable .npy file"):
            return np.lib.format.open_memmap(path, mode="r")
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror or error}): give a readable .npy file") from None
    except Exception:  # numpy has several ways to say so, none of them for users
        raise UserError(f"{path} is no .npy file of plain numbers, or damaged: write it with numpy.save") from None


def read_table(path: Path, labeled: bool) -> Arrays:
    X, y, names = read_vectors(path, labeled)
    found = numbered({"X": X} if y is None else {"X": X, "y": y})
    return found if names is None else found._replace(names=names)


READERS: dict[str, Callable[[Path, bool], Arrays]] = {
    ".npz": read_npz,
    ".npy": read_npy,
    ".parquet": read_table,
    ".arrow": read_table,
    ".feather": read_table,
}


def like(path: Path) -> np.ndarray:
    """Two blank rows of the type and shape of X, without reading it: it may be larger than memory."""
    if path.suffix.lower() == ".npz":
        return like_npz(path)
    if path.suffix.lower() == ".npy":
        X = mapped(path)
        return blank(path, X.shape, X.dtype)
    return np.zeros((2, 1))  # a column of vectors is one row of numbers per item, whatever their length


def blank(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if math.prod(shape[1:]) > WIDEST:
        raise UserError(
            f"{path} has items of {math.prod(shape[1:]):,} numbers, more than {WIDEST:,}: give smaller ones"
        )
    return np.ones((2, *shape[1:]), dtype)


def read_header(file: Any) -> tuple[tuple[int, ...], np.dtype]:
    """What an .npy file says of itself: shape and type."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    return shape, dtype


def like_npz(path: Path) -> np.ndarray:
    try:
        with (
            to_read(path, "a readable .npz file") as opened,
            zipfile.ZipFile(opened) as archive,
            archive.open("X.npy") as file,
        ):
            shape, dtype = read_header(file)
            whole = math.prod(shape) * dtype.itemsize <= archive.getinfo("X.npy").file_size
        if not whole and not dtype.hasobject:
            raise UserError(DAMAGED.format(path))
        return blank(path, shape, dtype)
    except UserError:
        raise
    except Exception as error:  # zipfile and numpy each have their own ways to say so
        raise UserError(f"{path} has no array X that can be read ({error})") from None
