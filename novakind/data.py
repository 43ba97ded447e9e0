"""Collection: the items, their labels (-1 = unlabeled), the names of the known classes; and how to load one."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int
from PIL import Image as Pillow

from novakind.errors import UnreadableError, UserError
from novakind.modality import Modality
from novakind.modality.features import Features
from novakind.modality.image import Image, open_rgb
from novakind.store import decode

UNLABELED = "unlabeled"
Labels = Int[np.ndarray, " items"]
Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Collection:
    """Items of one modality, some of them labeled.

    `labels[i]` indexes `classes`, or is -1. `truth[i]` indexes `truth_classes`, which begins with `classes`, or is -1
    where unknown: it is never trained on, only scored against. `official_test` marks the test part of a data set that
    was published with one.
    """

    name: str
    items: np.ndarray
    labels: Labels
    classes: tuple[str, ...]
    modality: Modality
    paths: tuple[str, ...]
    truth: Labels
    truth_classes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    official_test: Bool[np.ndarray, " items"] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def digest(self) -> str:
        """Changes with names, labels and items (of which 4,096 are read): a run resumes only with its own data."""
        summary = hashlib.sha256(repr((self.modality.settings(), self.classes, self.paths)).encode())
        summary.update(np.ascontiguousarray(self.labels, dtype=np.int64).tobytes())
        if self.official_test is not None:
            summary.update(np.packbits(self.official_test).tobytes())
        some = self.items[:: max(1, len(self.items) // 4096)]
        summary.update(np.ascontiguousarray(some).tobytes())
        return summary.hexdigest()[:16]


def load(path: Path, store: Path, size: int = 0, watch: Watch = lambda done, total: None) -> Collection:
    """A folder tree, a CSV manifest or an .npz as a Collection; pictures are decoded into the folder `store`.

    `size` is the side of the pictures in pixels; 0 chooses it from the pictures, at most 64.
    """
    if path.is_dir():
        names, labels, passed_over = _walk(path)
        collection = _from_files(path.resolve().name, path, names, labels, store, size, watch)
        return replace(collection, skipped=(*collection.skipped, *passed_over))
    if not path.exists():
        raise UserError(f"{path} does not exist: give a folder, a .csv manifest or an .npz file")
    if path.suffix.lower() == ".csv":
        names, labels = read_manifest(path)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise UserError(f"{path} names {twice[0]} more than once, but an item has one row: remove the others")
        labels = ["" if label == UNLABELED else label for label in labels]
        return _from_files(path.stem, path.parent, names, labels, store, size, watch)
    if path.suffix.lower() == ".npz":
        if size:
            raise UserError(f"--size {size} is for files of pictures, and those in {path} have a size: leave it out")
        X, y = _read_npz(path)
        return from_arrays(X, y, name=path.stem)
    raise UserError(f"{path} is neither a folder, a .csv manifest nor an .npz file: give one of those")


def from_arrays(X: np.ndarray, y: np.ndarray, name: str = "arrays") -> Collection:
    """Vectors (N x D) or uint8 pictures (N x H x H [x 3]); y holds classes, and -1, None or "" for unlabeled."""
    if X.ndim == 0 or y.ndim != 1:
        raise UserError(
            f"X of shape {X.shape} and y of shape {y.shape} do not fit: give one row of X and one entry of y an item"
        )
    if len(X) != len(y):
        raise UserError(f"X has {len(X)} items and y has {len(y)}, but each item needs one entry of y (-1 = unlabeled)")
    if len(X) == 0:
        raise UserError("X holds no item, but training needs some: give an array with at least one row")
    labels, classes = encode_labels(y)
    items, modality = as_items(X)
    names = tuple(str(number) for number in range(len(X)))
    return Collection(name, items, labels, classes, modality, names, labels, classes)


def as_items(X: np.ndarray) -> tuple[np.ndarray, Modality]:
    """Rows for the store's place in a Collection, and the modality that fits them."""
    if X.ndim == 2 and X.size:
        items = check_features(X)
        return items, Features.of(items)
    if X.ndim in (3, 4) and X.dtype == np.uint8 and (X.ndim == 3 or X.shape[3] in (1, 3)) and X.shape[1] == X.shape[2]:
        planes = X[:, None] if X.ndim == 3 else X.transpose(0, 3, 1, 2)
        items = np.ascontiguousarray(np.broadcast_to(planes, (len(X), 3, *X.shape[1:3])))
        return items, Image(X.shape[1]).fitted(items)
    raise UserError(
        f"X of shape {X.shape} and type {X.dtype} is neither vectors (N x D) nor square uint8 pictures "
        "(N x H x H or N x H x H x 3): reshape or convert it"
    )


def check_features(X: np.ndarray) -> np.ndarray:
    """X as float32; a value that is not a finite number is refused with its place."""
    try:
        with np.errstate(over="ignore"):  # beyond float32: infinite, and refused below
            items = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        raise UserError(
            f"X of type {X.dtype} is not numeric, but features must be numbers: convert it to float"
        ) from None
    bad = ~np.isfinite(items)
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise UserError(
            f"X holds {int(bad.sum())} values that are not finite numbers, the first in row {row}, column {column}: "
            "remove or fill them in"
        )
    return items


def encode_labels(y: np.ndarray) -> tuple[Labels, tuple[str, ...]]:
    """Integers into the sorted names of the classes; -1, None, NaN and "" are unlabeled."""
    values = [None if _is_missing(value) else value for value in np.asarray(y).tolist()]
    present = sorted({value for value in values if value is not None}, key=lambda v: (isinstance(v, str), v))
    number = {value: index for index, value in enumerate(present)}
    labels = np.array([-1 if value is None else number[value] for value in values], dtype=np.int64)
    return labels, tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in present)


def _is_missing(value: object) -> bool:
    return value is None or value == "" or value == -1 or value != value  # NaN differs from itself


def _walk(root: Path) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Paths below `root`, their labels (the top folder; "" below `unlabeled/`), and what is passed over, and why."""
    names, labels, passed_over = [], [], []
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root)
        if any(part.startswith(".") for part in inside.parts) or file.is_dir():
            continue
        if not file.is_file():
            passed_over.append((inside.as_posix(), "a broken link" if file.is_symlink() else "not a file"))
        elif len(inside.parts) < 2:
            passed_over.append((inside.as_posix(), "not in the folder of a class"))
        else:
            names.append(inside.as_posix())
            labels.append("" if inside.parts[0] == UNLABELED else inside.parts[0])
    if not names:
        raise UserError(
            f"{root} holds no file in a sub-folder: put known items into one folder for each class, "
            f"and the rest into {UNLABELED}/"
        )
    return names, labels, passed_over


def read_manifest(path: Path, labels: bool = True) -> tuple[list[str], list[str]]:
    """The columns `path` and `label` of a CSV file; without `labels` the second may be absent."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror}): give a .csv file with a column path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as UTF-8 CSV ({error}): save it as CSV with UTF-8 encoding") from None
    if not rows:
        raise UserError(f"{path} holds no row: give a header path,label and one row an item")
    for column in ("path", "label") if labels else ("path",):
        if column not in rows[0]:
            found = ", ".join(str(name) for name in rows[0])
            raise UserError(
                f'{path} has no column "{column}" among those it has ({found}): its first line must be path,label, '
                "with commas between"
            )
    return [row["path"] or "" for row in rows], [(row.get("label") or "").strip() for row in rows]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, without unpickling anything."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(file)
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror or error}): give a readable .npz file") from None
    except Exception:  # numpy, zipfile and zlib each have their own ways to say so, none of them for users
        raise UserError(
            f"{path} is no .npz file of plain arrays, or damaged: write it with numpy.savez(path, X=..., y=...)"
        ) from None


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = read_arrays(path)
    for key in ("X", "y"):
        if key not in arrays:
            raise UserError(
                f"{path} has no array {key}: write it with numpy.savez(path, X=..., y=...), y = -1 for unlabeled"
            )
    return arrays["X"], arrays["y"]


def _from_files(
    name: str, root: Path, names: Sequence[str], labels: Sequence[str], store: Path, size: int, watch: Watch
) -> Collection:
    files = [root / item for item in names]
    modality = Image(size or choose_size(files))
    stored = decode(files, names, store, modality, watch)
    if not stored.kept:
        raise UserError(
            f"none of the {len(files)} files in {root} is an image that can be read "
            f"(the first, {names[0]}: {stored.skipped[0][1]}): give images such as PNG or JPEG"
        )
    numbers, classes = encode_labels(np.array([labels[number] for number in stored.kept]))
    return Collection(
        name,
        stored.rows,
        numbers,
        classes,
        modality.fitted(stored.rows),
        tuple(names[number] for number in stored.kept),
        numbers,
        classes,
        tuple((names[number], reason) for number, reason in stored.skipped),
    )


def choose_size(files: Sequence[Path]) -> int:
    """The median short side of some of the pictures, between 8 and 64 pixels: more is slow on a CPU."""
    sides = []
    for file in files[:: max(1, len(files) // 50)]:
        try:
            sides.append(min(open_rgb(file).size))
        except (UnreadableError, OSError, Pillow.DecompressionBombError):
            continue
    return int(np.clip(np.median(sides), 8, 64)) if sides else 64
