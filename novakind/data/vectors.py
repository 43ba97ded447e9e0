"""Vectors in Parquet and Arrow tables: one column of them, one of labels, and perhaps one of names."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from novakind.data.manifest import UNLABELED, as_text, check_unlabeled
from novakind.data.parquet import check_room, opened_parquet
from novakind.errors import UserError
from novakind.given import to_read

if TYPE_CHECKING:
    from pyarrow import ChunkedArray, Schema, Table

VECTORS = ("vector", "embedding", "embeddings", "X")
NAMES = ("path", "id")
NUMBER = 8  # bytes


def has_vectors(path: Path) -> bool:
    """Whether a Parquet file has a column of vectors; what cannot be read has none."""
    try:
        with opened_parquet(path) as file:
            return vector_column(file.schema_arrow) is not None
    except UserError:
        return False


def vector_column(schema: Schema) -> str | None:
    """The first of VECTORS that is a column of lists."""
    from pyarrow import types

    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    kinds = dict(zip(schema.names, schema.types, strict=True))
    return next((name for name in VECTORS if name in kinds and any(is_a(kinds[name]) for is_a in lists)), None)


def read_vectors(path: Path, labeled: bool) -> tuple[np.ndarray, np.ndarray | None, list[str] | None]:
    """X, the labels where they are asked for, and the names of the items where the table has some."""
    table = read_table(path)
    columns = table.column_names
    vectors = vector_column(table.schema)
    if vectors is None:
        raise UserError(
            f"{path} has no column of vectors among those it has ({', '.join(columns):.200}): call it "
            f"{', '.join(VECTORS[:-1])} or {VECTORS[-1]}, with a list of numbers in each row"
        )
    if labeled and "label" not in columns:
        raise UserError(
            f'{path} has no column "label" among those it has ({", ".join(columns):.200}): '
            "add one, empty for unlabeled items"
        )
    twice = next((name for name in (vectors, "label", *NAMES) if columns.count(name) > 1), None)
    if twice:
        raise UserError(f"{path} has two columns {twice}, but an item has one: remove or rename the others")
    if not table.num_rows:
        raise UserError(f"{path} holds no row: give one row per item")
    names = next((names_of(table[name], path) for name in NAMES if name in columns), None)
    return as_matrix(table[vectors], path), labels_of(path, table["label"].to_pylist()) if labeled else None, names


def read_table(path: Path) -> Table:
    """The columns that matter: of Parquet in memory, of Arrow on disk until they are asked for."""
    if path.suffix.lower() == ".parquet":
        with opened_parquet(path) as file:
            wanted = {vector_column(file.schema_arrow), "label", *NAMES}
            names = [name for name in file.schema_arrow.names if name in wanted]
            check_room(path, file, names, NUMBER)
            return checked(file.read(names))
    try:
        import pyarrow
        from pyarrow import ipc
    except ImportError:
        raise UserError(f"{path} needs pyarrow: pip install 'novakind[parquet]', or save it as .npz") from None
    with to_read(path, "a readable file") as stream:
        try:
            buffer = pyarrow.py_buffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
            is_file = bytes(buffer[:6]) == b"ARROW1"
            return checked((ipc.open_file(buffer) if is_file else ipc.open_stream(buffer)).read_all())
        except (pyarrow.ArrowException, OSError, ValueError):  # ValueError: an empty file cannot be mapped
            raise UserError(f"{path} is no Parquet or Arrow file, or damaged: write it again") from None


def checked(table: Table) -> Table:
    """The same, if no place in the columns that matter points out of the file: Arrow would read what lies there."""
    wanted = {vector_column(table.schema), "label", *NAMES}
    table.select([number for number, name in enumerate(table.column_names) if name in wanted]).validate(full=True)
    return table


def as_matrix(column: ChunkedArray, path: Path) -> np.ndarray:
    """The vectors as rows: the numbers as they lie in the table where they lie in one piece, else copied once."""
    from pyarrow import compute, types

    kind = column.type.value_type
    if not (types.is_floating(kind) or types.is_integer(kind)):
        raise UserError(f"{path} has vectors of type {kind}, but features must be numbers: convert them to float")
    if column.null_count:
        row = first(column.is_null())
        raise UserError(f"{path} has no vector in row {row}, but every item needs one: fill it in or leave the row out")
    lengths = compute.list_value_length(column).to_numpy()
    odd = np.flatnonzero(lengths != lengths[0])
    if len(odd):
        raise UserError(
            f"{path} has {lengths[odd[0]]} numbers in row {odd[0]} and {lengths[0]} in row 0: "
            "give vectors of one length"
        )
    width = int(lengths[0])
    parts = [chunk.flatten() for chunk in column.chunks]
    for start, part in zip(np.cumsum([0, *map(len, parts)]).tolist(), parts, strict=False):
        if part.null_count:
            row = (start + first(part.is_null())) // width
            raise UserError(f"{path} has a gap in the vector of row {row}, but features must be numbers: fill it in")
    numbers = [part.to_numpy(zero_copy_only=False) for part in parts]
    return (numbers[0] if len(numbers) == 1 else np.concatenate(numbers)).reshape(len(lengths), width)


def first(marks: Any) -> int:
    """The place of the first true one."""
    return int(np.flatnonzero(np.asarray(marks))[0])


def labels_of(path: Path, values: Sequence[Any]) -> np.ndarray:
    """As they are, of any type, but strings as in manifests: without blanks around them, and with the word that stands
    for no label there."""
    given = [value.strip() if isinstance(value, str) else value for value in values]
    check_unlabeled(path, (value for value in given if isinstance(value, str)))
    labels = np.empty(len(given), dtype=object)
    labels[:] = ["" if isinstance(value, str) and value == UNLABELED else value for value in given]
    return labels


def names_of(column: ChunkedArray, path: Path) -> list[str]:
    names = [as_text(value) for value in column.to_pylist()]
    if "" in names:
        raise UserError(f"{path} has no name in row {names.index('')}: fill in the column, or leave it out as a whole")
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise UserError(f'{path} names "{name}" more than once, but an item has one row: remove the others')
    return names
