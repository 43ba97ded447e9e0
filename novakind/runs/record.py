"""Record: what a run folder holds, read back. Nothing in it is trusted, for anybody may have touched or damaged it.

Every file is checked for its structure, its types, its ranges, and for what it must have in common with the others.
What does not hold is refused in one sentence that names the file and the way out.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
import torch

from novakind.errors import UnreadableError, UserError
from novakind.given import MEGABYTE, opened, read_whole
from novakind.runs.carried import Carried, read_carried
from novakind.settings import BelowOne, Range
from novakind.structure import misfit_table
from novakind.toml import read_toml

AGAIN = "run its novakind discover again to write it anew"
FRESH = "give --fresh to the novakind discover that wrote it"
RETRAIN = "delete it to train again from the start, the decoded files are kept"
TEXT = 512 * MEGABYTE  # the largest table
SMALL = 16 * MEGABYTE  # the largest of settings and results
COLUMNS = ("path", "split", "label", "truth", "id", "category", "probability")
SPLITS = ("train", "val", "test")
SOME = 10_000  # rows at a time
LARGE = 512 * MEGABYTE  # arrays that stay on disk until they are asked for
FARTHEST = 1e18  # whose square float32 still holds
CLOSE = 1e-3  # how far a probability may be from its logarithm: the table rounds

Count = Annotated[int, Range(0, 2**53)]
Epochs = Annotated[int, Range(0, 10_000_000)]
Seconds = Annotated[float, Range(0)]
RESULTS: dict[str, Any] = {"classes": list[str], "known": Count}
MAYBE: dict[str, Any] = {
    "metrics": dict[str, float | None],
    "minutes": Seconds,
    "warnings": list[str],
    "truth_classes": list[str] | None,
    "data": str,
    "items": Count,
    "split": str,
    "skipped": Count,
    "version": str,
    "round": dict[str, Any],
    "estimate": dict[str, Any] | None,
    "merging": dict[str, Any] | None,
}
LINE: dict[str, Any] = {"epoch": Epochs, "seconds": Seconds, "stage": str, "warning": str}
STATE: dict[str, Any] = {
    "epochs": Epochs,
    "planned": Epochs,
    "model": dict[str, torch.Tensor],
    "kept": dict[str, torch.Tensor],
    "optimizer": dict[str, Any],
}


class Predictions(NamedTuple):
    """The columns of predictions.csv, and the arrays beside it."""

    paths: tuple[str, ...]
    splits: tuple[str, ...]
    labels: tuple[str, ...]
    truth: tuple[str, ...]
    category: np.ndarray
    probability: np.ndarray
    embedding: np.ndarray
    logp: np.ndarray
    carried: Carried | None


def damaged(file: Path, reason: object, way: str) -> UserError:
    """The sentence that refuses a file."""
    said = " ".join(str(reason).split())[:120] or type(reason).__name__
    return UserError(f"{file} is damaged ({said}): {way}")


def check(file: Path, wrong: str, way: str) -> None:
    """Refuse the file if something is wrong with it."""
    if wrong:
        raise damaged(file, wrong, way)


def content_of(file: Path, most: int, way: str) -> bytes:
    try:
        return read_whole(file, most)
    except UnreadableError as error:
        raise damaged(file, error, way) from None


def read_json(file: Path, way: str) -> Any:
    try:
        return json.loads(content_of(file, SMALL, way))
    except (ValueError, RecursionError) as error:
        raise damaged(file, error, way) from None


def read_settings(file: Path) -> dict[str, Any]:
    """config.toml: nested plain values, of which those that every verb needs are what they must be."""
    try:
        found = read_toml(content_of(file, SMALL, FRESH).decode(errors="surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise damaged(file, error, FRESH) from None
    check(file, misfit_table(found, {}, {"data": dict[str, Any], "val": BelowOne}), FRESH)
    data = {"digest": str, "kind": str, "published": dict[str, Any], "reading": dict[str, Any]}
    check(file, misfit_table(found.get("data", {}), {}, data), FRESH)
    return found


def read_results(run: Path) -> dict[str, Any]:
    """results.json."""
    file = run / "results.json"
    found = read_json(file, AGAIN)
    check(file, misfit_table(found, RESULTS, MAYBE), AGAIN)
    names, known, truth = found["classes"], found["known"], found.get("truth_classes")
    if known > len(names) or len(set(names)) < len(names) or not all(names):
        raise damaged(file, f"{known} known ones among {len(names)} classes, which must differ", AGAIN)
    if truth is not None and len(set(truth)) < len(truth):
        raise damaged(file, "two true classes have one name", AGAIN)
    return found


def read_predictions(run: Path, results: dict[str, Any]) -> Predictions:
    """predictions.csv and embeddings.npz, which must agree with each other and with results.json."""
    file, names = run / "predictions.csv", results["classes"]
    rows = read_columns(file)
    count = len(rows["id"])
    embedding, logp = read_arrays(run / "embeddings.npz", ("embedding", "logp"))
    if not count == len(embedding) == len(logp) or logp.shape[1] != len(names):
        found = f"{count} predictions of {len(names)} classes but arrays of shape {logp.shape}"
        raise UserError(f"{run} has {found}, which must agree: {AGAIN}")
    try:
        category = np.array([int(number) for number in rows["id"]], dtype=np.int64)
        probability = np.array([float(share) for share in rows["probability"]], dtype=np.float64)
    except (ValueError, OverflowError) as error:
        raise damaged(file, error, AGAIN) from None
    paths, splits, labels, truth = (tuple(rows[name]) for name in ("path", "split", "label", "truth"))
    labelable = names if "round" in results else names[: results["known"]]
    given, true = {"", *labelable}, {"", *(results.get("truth_classes") or ())}
    wrong = {
        "a category's number is out of range": not ((category >= 0) & (category < len(names))).all(),
        "a probability is not from 0 to 1": not ((probability >= 0) & (probability <= 1 + CLOSE)).all(),
        "a split is none of train, val, test": not set(splits) <= set(SPLITS),
        "a label is no known class": not set(labels) <= given,
        "a true class is not in results.json": results.get("truth_classes") is not None and not set(truth) <= true,
    }
    check(file, next((what for what, holds in wrong.items() if holds), ""), AGAIN)
    if any(names[number] != name for number, name in zip(category, rows["category"], strict=True)):
        raise damaged(file, "a category's name is not the one in results.json", AGAIN)
    if not embedding.shape[1] or not all(
        (abs(embedding[start : start + SOME]) < FARTHEST).all() for start in range(0, len(embedding), SOME)
    ):
        raise damaged(run / "embeddings.npz", "embedding holds what is no vector of numbers", AGAIN)
    if not all((logp[start : start + SOME] <= CLOSE).all() for start in range(0, len(logp), SOME)):  # nor is NaN
        raise damaged(run / "embeddings.npz", "logp holds what is no logarithm of a probability", AGAIN)
    for array in (category, probability, embedding, logp):
        array.flags.writeable = False
    try:
        carried = read_carried(results, count)
    except ValueError as error:
        raise damaged(run / "results.json", error, AGAIN) from None
    return Predictions(paths, splits, labels, truth, category, probability, embedding, logp, carried)


def read_columns(file: Path) -> dict[str, list[str]]:
    """By name; equal cells of a table of very many rows take the place of one."""
    text = content_of(file, TEXT, AGAIN).decode("utf-8", "surrogateescape")
    known: dict[str, str] = {}
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        lacking = [name for name in COLUMNS if name not in header]
        check(file, f"it has no column {lacking[0]}" if lacking else "", AGAIN)
        columns: list[list[str]] = [[] for _ in header]
        for row in reader:
            if len(row) != len(header):
                number = len(columns[0])
                raise damaged(file, f"row {number} has another number of cells than the header", AGAIN)
            for column, cell in zip(columns, row, strict=True):
                column.append(known.setdefault(cell, cell) if len(known) < SOME else known.get(cell, cell))
    except csv.Error as error:
        raise damaged(file, error, AGAIN) from None
    check(file, "" if columns[0] else "it holds no row", AGAIN)
    return dict(zip(header, columns, strict=True))


def read_leaves(run: Path, items: int) -> np.ndarray:
    """The leaf of the merge tree that each item is in, -1 for none, from embeddings.npz."""
    file = run / "embeddings.npz"
    (leaves,) = read_arrays(file, ("leaves",))
    if leaves.shape != (items, 1) or not (abs(leaves) < 2**24).all():  # nor NaN
        raise damaged(file, f"leaves of shape {leaves.shape} for {items} items", AGAIN)
    return leaves[:, 0].astype(np.int64)


def read_arrays(file: Path, names: tuple[str, ...]) -> list[np.ndarray]:
    """Matrices of numbers, without unpickling anything."""
    try:
        with opened(file) as stream:
            size = sum(entry.file_size for entry in zipfile.ZipFile(stream).infolist())
            if size > max(64 * TEXT, 4 * stream.seek(0, 2)):
                raise UnreadableError("it holds more than memory does")
            stream.seek(0)
            if size > LARGE:
                found = [mapped_entry(file, stream, name) for name in names]
            else:
                with np.load(stream, allow_pickle=False) as arrays:
                    found = [arrays[name] for name in names]
    except UnreadableError as error:
        raise damaged(file, error, AGAIN) from None
    except Exception as error:  # numpy, zipfile and zlib each have their own ways to say so
        raise damaged(file, f"{type(error).__name__}: {error}", AGAIN) from None
    for name, array in zip(names, found, strict=True):
        if array.ndim != 2 or array.dtype.kind != "f":
            raise damaged(file, f"{name} of type {array.dtype} and shape {array.shape} is no matrix of numbers", AGAIN)
    return [array if isinstance(array, np.memmap) else np.array(array, dtype=np.float32) for array in found]


def mapped_entry(file: Path, stream: BinaryIO, name: str) -> np.ndarray:
    """An array of an .npz file that is not compressed, left where it is."""
    with zipfile.ZipFile(stream) as archive:
        entry = archive.getinfo(f"{name}.npy")
    if entry.compress_type != zipfile.ZIP_STORED:
        raise UnreadableError("it is compressed")
    stream.seek(entry.header_offset + 26)
    lengths = stream.read(4)  # of the name and of what follows it, in the header of 30 bytes
    stream.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
    np.lib.format.read_magic(stream)
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    return np.memmap(file, np.dtype(dtype), "r", stream.tell(), shape)


def read_history(file: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, epoch by epoch; the last may be half written, and is left out then."""
    if not file.exists():
        return []
    history: list[dict[str, Any]] = []
    *lines, rest = content_of(file, TEXT, FRESH).split(b"\n")
    for number, line in enumerate([*lines, rest] if rest else lines, 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number > len(lines):
                break
            raise damaged(file, f"line {number}: {error}", FRESH) from None
        check(file, misfit_table(found, {}, LINE, f"line {number}"), FRESH)
        history.append(found)
    return history


def read_state(file: Path) -> dict[str, Any] | None:
    """state.pt, without running anything that is in it; None where there is none."""
    if not file.exists():
        return None
    try:
        with opened(file) as stream:
            state = torch.load(stream, weights_only=True, map_location="cpu")
    except Exception as error:  # damaged files raise almost anything
        raise damaged(file, str(error).strip().split("\n")[0], RETRAIN) from None
    check(file, misfit_table(state, STATE, {}), RETRAIN)
    return state
