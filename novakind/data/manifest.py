"""Manifests: tables of items with a column `path` and, where it is known, a column `label`, as CSV or Parquet."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

from novakind.errors import UserError

MANIFESTS = {".csv", ".parquet"}


def read_manifest(path: Path, labels: bool = True) -> tuple[list[str], list[str]]:
    """The columns `path` and `label`; without `labels` the second may be absent."""
    columns, rows = (read_parquet if path.suffix.lower() == ".parquet" else read_csv)(path)
    if not rows:
        raise UserError(f"{path} holds no row: give the columns path and label, and one row per item")
    for column in ("path", "label") if labels else ("path",):
        if column not in columns:
            raise UserError(
                f'{path} has no column "{column}" among those it has ({", ".join(columns)}): it needs path and label, '
                "which in a CSV file are the first line, with a comma between"
            )
    return [as_text(row["path"]) for row in rows], [as_text(row.get("label")).strip() for row in rows]


def read_csv(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    try:
        try:
            return read_rows(path)
        except UnicodeDecodeError:
            columns, rows = read_rows(path, "surrogateescape")
            if not all(is_readable(column, cell, path.parent) for row in rows for column, cell in row.items()):
                raise
            return columns, rows
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror}): give a .csv file with a column path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read as UTF-8 CSV ({error}): save it as CSV with UTF-8 encoding") from None


def read_rows(path: Path, errors: str = "strict") -> tuple[list[str], list[dict[str, Any]]]:
    with path.open(encoding="utf-8-sig", errors=errors, newline="") as file:
        reader = csv.DictReader(file)
        return [str(name) for name in reader.fieldnames or ()], list(reader)


def is_readable(column: str, cell: Any, folder: Path) -> bool:
    """Whether a cell is UTF-8, or names a file whose own name is not."""
    is_text = not any("\ud800" <= sign <= "\udfff" for sign in f"{column}{cell}")
    return is_text or (column == "path" and os.path.exists(os.path.join(folder, cell)))


def read_parquet(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UserError(f"{path} needs pyarrow: pip install 'novakind[parquet]', or save it as CSV") from None
    try:
        with path.open("rb") as opened:
            file = parquet.ParquetFile(opened)
            return file.schema_arrow.names, file.read(["path", "label"]).to_pylist()
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror or error}): give a readable file") from None
    except ArrowException:
        raise UserError(f"{path} is no Parquet file, or damaged: write it again, or save it as CSV") from None


def as_text(value: Any) -> str:
    """A cell: nothing, also what a number's gap is, is ""; numbers that stand beside gaps lose the point they got."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return os.fsdecode(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_manifest(path: Path) -> bool:
    """Whether a table lists items, by a column `path`; a CSV file that holds a recording has none."""
    if path.suffix.lower() != ".csv":
        return path.suffix.lower() in MANIFESTS
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            return "path" in next(csv.reader([file.readline()]), ())
    except (OSError, csv.Error):
        return False
