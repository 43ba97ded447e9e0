"""Tables of items as CSV, Parquet or JSON lines: of files by a column `path`, or of texts by a column `text`."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from novakind.data.parquet import CELL, check_room, opened_parquet
from novakind.errors import UnreadableError, UserError
from novakind.given import is_regular, opened, to_read
from novakind.structure import is_whole

LINES = {".jsonl", ".ndjson"}
MANIFESTS = {".csv", ".parquet", *LINES}
UNLABELED = "unlabeled"
NEARLY = {UNLABELED, "unlabelled"}  # but for blanks and capitals
HEADER = 2**20  # bytes of the longest header
LABELED, CONFIRMED, SUGGESTED, IGNORED = "labeled", "confirmed", "suggested", "ignored"
TEXT = "text"  # the column of texts
COLUMNS = ("path", "file_name", TEXT, "label", "id", "status")  # those that mean something, of all there may be

Rows = list[dict[Any, Any]]  # None stands for cells behind the last column


class TextTable(NamedTuple):
    """The rows of a table of texts, but for those that say nothing."""

    names: list[str]
    """The ids, or the numbers of the rows from 0."""
    texts: list[str]
    labels: list[str]
    empty: list[tuple[str, str]]
    """Of rows that say nothing: the name, and which row it is."""


def read_manifest(path: Path, labels: bool = True) -> tuple[list[str], list[str]]:
    """The columns `path` and `label`; without `labels` the second may be absent.

    A column `status`, as exports have it, leaves out what is to be ignored.
    """
    rows = kept(path, read_table(path, ("path", "label") if labels else ("path",)))
    return [as_text(row.get("path")) for row in rows], [as_text(row.get("label")).strip() for row in rows]


def read_texts(path: Path, labels: bool = True) -> TextTable:
    """The columns `text`, `label` and, to name the items, `id`; without `labels` the second may be absent."""
    rows = read_table(path, ("text", "label") if labels else ("text",))
    for number, row in enumerate(rows):
        if None in row:
            raise UserError(
                f"{path} has more cells in row {number} than it has columns: put every text with a comma in it "
                "between quotes"
            )
        nested = next((name for name in COLUMNS if isinstance(row.get(name), list | dict)), None)
        if nested:
            raise UserError(f"{path} has several values for {nested} in row {number}, but an item has one: give one")
    rows = kept(path, [row | {"id": name} for row, name in zip(rows, names_of(path, rows), strict=True)])
    names = [row["id"] for row in rows]
    texts = [as_text(row.get("text")).strip() for row in rows]
    said = [number for number, text in enumerate(texts) if text]
    empty = [(names[number], f"row {number} has no text") for number, text in enumerate(texts) if not text]
    if not said:
        raise UserError(f"{path} has no text in any of its {len(rows)} rows: fill in its column text")
    given = [as_text(row.get("label")).strip() for row in rows]
    names, texts, given = ([column[number] for number in said] for column in (names, texts, given))
    return TextTable(names, texts, given, empty)


def kept(path: Path, rows: Rows) -> Rows:
    """The rows that nobody decided to leave out."""
    left = [row for row in rows if as_text(row.get("status")) != IGNORED]
    if not left:
        raise UserError(f"{path} says of every row that it is to be ignored: leave the column status out")
    return left


def names_of(path: Path, rows: Rows) -> list[str]:
    """The column `id`, whose entries tell the items apart; the numbers of the rows where there is none."""
    if not any("id" in row for row in rows):
        return [str(number) for number in range(len(rows))]
    names = [as_text(row.get("id")) for row in rows]
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if not name:
            raise UserError(f"{path} has no id in row {number}, but a column id names every item: fill it in")
        if name in first:
            raise UserError(
                f'{path} has the id "{name}" in row {first[name]} and in row {number}, but an item has one row: '
                "give each row another id, or leave that column out"
            )
        first[name] = number
    return names


def read_table(path: Path, needed: Sequence[str]) -> Rows:
    """The rows of a table that has these columns."""
    ending = path.suffix.lower()
    columns, rows = (read_parquet if ending == ".parquet" else read_lines if ending in LINES else read_csv)(path)
    if not rows:
        raise UserError(f"{path} holds no row: give the columns {' and '.join(needed)}, and one row per item")
    twice = next((name for name in COLUMNS if columns.count(name) > 1), None)
    if twice:
        raise UserError(f"{path} has two columns {twice}, but an item has one: remove or rename the others")
    for column in needed:
        if column not in columns:
            raise UserError(
                f'{path} has no column "{column}" among those it has ({", ".join(columns):.200}): it needs path and '
                "label, or text and label, which in a CSV file are the first line, with a comma between"
            )
    return rows


def read_csv(path: Path) -> tuple[list[str], Rows]:
    try:
        try:
            return read_rows(path)
        except UnicodeDecodeError:
            columns, rows = read_rows(path, "surrogateescape")
            there = [str(row.get("path")) for row in rows if is_there(path.parent, str(row.get("path")))]
            named = {*there, *(part for name in there if not is_text(name) for part in name.split("/"))}
            if not all(is_text(f"{cell}") or cell in named for row in rows for cell in (*row, *row.values())):
                raise
            return columns, rows
    except (UnicodeDecodeError, csv.Error) as error:
        if "unexpected end" in str(error):
            raise UserError(f"{path} has a quote that is opened and never closed: close or remove it") from None
        raise UserError(f"{path} cannot be read as UTF-8 CSV ({error}): save it as CSV with UTF-8 encoding") from None


def read_rows(path: Path, errors: str = "strict") -> tuple[list[str], Rows]:
    """A quote that does not close is refused: it would swallow the rows behind it."""
    texts = has_texts(path)  # long ones
    with (
        to_read(path, "a .csv file with a column path") as opened,
        io.TextIOWrapper(opened, encoding="utf-8-sig", errors=errors, newline="") as file,
        long_cells() if texts else nullcontext(),
    ):
        reader = csv.DictReader(file, strict=True)
        columns, rows = [str(name) for name in reader.fieldnames or ()], list(reader)
    (check_texts if texts else check_quotes)(path, rows)
    return columns, rows


def check_quotes(path: Path, rows: Rows) -> None:
    """Refuse a cell that holds other rows: a line break in it with the name of a file behind."""
    for number, row in enumerate(rows):
        for column in ("path", "label"):
            first, *behind = str(row.get(column) or "").splitlines() or [""]
            names = [line.split(",")[0].strip('"') for line in behind]
            whole = column == "path" and behind and is_there(path.parent, row[column])
            if not whole and any(name and is_there(path.parent, name) for name in names):
                raise UserError(
                    f"{path} has the beginning of a quote in row {number} ({first}) that swallows the rows behind it: "
                    "close or remove it"
                )


def check_texts(path: Path, rows: Rows) -> None:
    """Refuse a text that holds other rows: a line in it that has as many cells, and the label of another row."""
    labels = {str(row.get("label") or "").strip() for row in rows} - {""}
    for number, row in enumerate(rows):
        columns = [str(name) for name in row]
        for line in str(row.get("text") or "").splitlines()[:-1]:
            cells = next(csv.reader([line]), [])
            if len(cells) == len(columns) and dict(zip(columns, cells, strict=True)).get("label", "").strip() in labels:
                raise UserError(
                    f'{path} has a quote in row {number} that swallows the rows behind it, the first "{line:.50}": '
                    "close or remove it"
                )


def is_there(folder: Path, name: str) -> bool:
    return os.path.lexists(os.path.join(folder, name)) if "\0" not in name else False


@contextmanager
def long_cells() -> Iterator[None]:
    """Cells of any length: Python's limit is for all readers, so it is set back."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def is_text(cell: str) -> bool:
    """Whether a cell is UTF-8; the name of a file, and of a class that is called after its folder, need not be."""
    return not any("\ud800" <= sign <= "\udfff" for sign in cell)


def read_lines(path: Path, most: int | None = None) -> tuple[list[str], Rows]:
    """JSON lines: an object a line; keys that some objects lack are empty there. At most the first `most` rows."""
    rows: Rows = []
    try:
        with to_read(path, "a readable file") as file:
            for number, line in enumerate(file, 1):
                if len(rows) == most:
                    break
                if line.strip():
                    rows.append(read_object(path, number, line))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): give a readable file") from None
    return list(dict.fromkeys(key for row in rows for key in row)), rows


def read_object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else f"{error}"
        raise UserError(f"{path} has no JSON in UTF-8 in line {number} ({reason}): correct or remove it") from None
    if b"\\u" in line:
        row = whole_signs(path, f"line {number}", row)
    if not isinstance(row, dict):
        raise UserError(f'{path} has no JSON object in line {number}: write each as {{"text": "...", "label": "..."}}')
    return row


def whole_signs(path: Path, where: str, value: Any) -> Any:
    """The same, where no text holds half a sign, as JSON may say it; but bytes of names that are no UTF-8 are said so
    too. In a text it is replaced."""
    if isinstance(value, dict):
        return {
            key: value[key].encode("utf-8", "replace").decode()
            if isinstance(value[key], str) and key == TEXT
            else whole_signs(path, where, value[key])
            for key in value
        }
    if isinstance(value, list):
        return [whole_signs(path, where, one) for one in value]
    if isinstance(value, str) and not is_whole(value):
        raise UserError(f"{path} has half a sign, {value!a:.50}, in {where}: correct it")
    return value


def read_parquet(path: Path) -> tuple[list[str], Rows]:
    with opened_parquet(path) as file:
        names = file.schema_arrow.names
        check_room(path, file, [name for name in names if name in COLUMNS], CELL)
        return names, file.read(list(COLUMNS)).to_pylist()


def as_text(value: Any) -> str:
    """A cell: nothing, also what a number's gap is, is ""; numbers that stand beside gaps lose the point they got."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return os.fsdecode(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_unlabeled(path: Path, labels: Iterable[str]) -> None:
    """Refuse what is nearly the word for items without a label: as a class it would be learnt."""
    for label in dict.fromkeys(labels):
        if label != UNLABELED and label.strip().casefold() in NEARLY:
            raise UserError(
                f'{path} has "{label}" for a class, which is nearly "{UNLABELED}": call it {UNLABELED}, or if it is a '
                "class, give it another name"
            )


def columns_of(path: Path) -> list[str]:
    """The columns of a table, by a look at its beginning."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        with opened_parquet(path) as file:
            return file.schema_arrow.names
    if ending in LINES:
        return read_lines(path, 1)[0]
    try:
        with opened(path) as file:
            line = file.readline(HEADER).decode("utf-8-sig", "surrogateescape")
            return next(csv.reader([line]), []) if ending == ".csv" else []
    except (UnreadableError, OSError, csv.Error):
        return []


def is_manifest(path: Path) -> bool:
    """Whether a table lists files, by a column `path`; a CSV file that holds a recording has none."""
    ending = path.suffix.lower()
    return ending in MANIFESTS and not has_texts(path) and (ending != ".csv" or "path" in columns_of(path))


def has_texts(path: Path) -> bool:
    """Whether a file is a table of texts: with a column `text`, and none for files."""
    if path.suffix.lower() not in MANIFESTS or not is_regular(path):
        return False
    columns = columns_of(path)
    return "text" in columns and "path" not in columns
