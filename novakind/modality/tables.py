"""Text tables as loggers, spreadsheets and programs write them, read without being told how they were written."""

from __future__ import annotations

import contextlib
import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from novakind.errors import UnreadableError
from novakind.given import MEGABYTE, MEMORY, read_whole, status

Kind = Literal["number", "date", "text", "empty"]
SEPARATOR = "\x1f"  # made for this, and refused in the file, so that no cell holds it
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-"})
MOST = 512 * MEGABYTE  # of a recording, which is read as a whole
TIMES = 12  # as much memory as the file has bytes, for its text and its cells
BLOCK = 100_000  # rows whose cells are in memory at a time
LARGEST = 1e30  # no sensor measures more, and squares of it still fit into a float
BINARY = re.compile(r"[\x00-\x08\x0e-\x1f]")
STAMP = re.compile(r"\s*(\d{4}-\d\d-\d\d[T ])?(\d\d:\d\d:\d\d(?:\.\d{1,9})?)\d*\s*(?:Z|UTC|[+-]\d\d:?\d\d)?\s*")
UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sekunde", "sekunden", "秒"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds", "毫秒", "ミリ秒"), 1e-3),
    **dict.fromkeys(("us", "μs", "usec", "micros", "microsecond", "microseconds", "微秒"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanosecond", "nanoseconds", "纳秒"), 1e-9),
}
CLOCKS = {"time", "times", "timestamp", "timestamps", "t", "date", "datetime", "elapsed", "epoch", "epoc"}
CLOCKS |= {"zeit", "zeitstempel", "temps", "tiempo", "tempo", "tid", "tijd", "czas", "время", "时间", "時間", "时间戳"}
CLOCKS |= UNITS.keys() - {"s", "us", "μs", "ns"}  # which alone are names of other things
FILLERS = {"in", "since", "start", "relative", "absolute", "unix", "utc", "local", "device", "sensor"}


@dataclass(frozen=True)
class Table:
    """Columns as numbers, NaN where a cell is missing or a word; date-times are in seconds since 1970."""

    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]
    values: Float[np.ndarray, "rows columns"]


@dataclass(frozen=True)
class Layout:
    """How the lines divide into cells, and what most cells of each column are."""

    delimiter: str
    kinds: tuple[Kind, ...]

    @property
    def width(self) -> int:
        return len(self.kinds)

    @property
    def numeric(self) -> int:
        return sum(kind in ("number", "date") for kind in self.kinds)


def read_table(path: Path) -> Table:
    """The table in a text file; whatever is wrong with the file is an UnreadableError."""
    with MEMORY.room(TIMES * status(path).st_size):
        return as_table(decode(read_whole(path, MOST)))


def as_table(text: str) -> Table:
    written = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if written[0].lower().startswith(("sep=", '"sep=')):
        written[0] = ""  # a word to one spreadsheet program
    lines = list(filter(is_content if "#" in text or "%" in text else str.strip, written))
    layout = find_layout(lines)
    rows = separate(lines, layout.delimiter)
    first = first_of_data(rows, layout)
    names = header(rows[:first], layout)
    body = even(rows[first:], layout, lambda row: line_number(written, first + row))
    blocks = [parse(body[start : start + BLOCK], layout.kinds) for start in range(0, len(body), BLOCK)]
    return Table(names, layout.kinds, np.concatenate(blocks))


def decode(data: bytes) -> str:
    """By the byte order mark where there is one, else UTF-8, else Latin-1, in which every byte means something."""
    encodings = ("utf-16",) if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "latin-1")
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if BINARY.search(text):
            break
        if not text.strip():
            raise UnreadableError("empty file")
        return text
    raise UnreadableError("not a text file")


def is_content(line: str) -> bool:
    """Neither blank nor a comment."""
    start = line.lstrip()[:1]
    return bool(start) and start not in "#%"


def line_number(written: list[str], row: int) -> int:
    """Where the row stands in the file, counted from 1 as editors do."""
    return [number for number, line in enumerate(written, 1) if is_content(line)][row]


def find_layout(lines: list[str]) -> Layout:
    """By the delimiter that yields most numeric columns, and among equals one that yields no others."""
    some = lines[:: max(1, len(lines) // 200)]
    layouts = [layout for delimiter in "\t;, " for layout in layouts_by(some, delimiter) if layout.numeric]
    if not layouts:
        raise UnreadableError("holds no numbers")
    return max(layouts, key=lambda layout: (layout.numeric, "text" not in layout.kinds))  # the first of equals


def layouts_by(lines: list[str], delimiter: str) -> list[Layout]:
    """The layout by this delimiter, or none where it divides nothing; headers are above the rows that are judged."""
    rows = [row.replace(",", ".").split(SEPARATOR) for row in separate(lines, delimiter)]
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda width: (widths[width], width), default=0)
    even_rows = [row for row in rows if len(row) == width]
    if width == 0 or (width == 1 and delimiter != " "):
        return []
    body = even_rows[min(10, len(even_rows) // 2) :]
    return [Layout(delimiter, tuple(kind_of(column) for column in zip(*body, strict=True)))]


def separate(lines: list[str], delimiter: str) -> list[str]:
    """The lines with one SEPARATOR between cells, which have lost their quotes."""
    if delimiter == " ":
        lines = [" ".join(line.split()) for line in lines]
    elif delimiter == ",":
        lines = [line.rstrip(";") for line in lines]  # some loggers end every row like a statement
    text = "\n".join(lines)
    quote = next((mark for mark in "\"'" if mark in text), None)
    if quote is None:
        return text.replace(delimiter, SEPARATOR).split("\n")
    try:
        return [SEPARATOR.join(row) for row in csv.reader(lines, delimiter=delimiter, quotechar=quote)]
    except csv.Error as error:
        raise UnreadableError(f"has quotes that do not close ({error})") from None


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def kind_of(cells: Sequence[str]) -> Kind:
    """What at least half of the filled cells are; single words among numbers are a sensor's complaints."""
    filled = [cell for cell in cells if not is_missing(cell)]
    if not filled:
        return "empty"
    if 2 * sum(map(is_number, filled)) >= len(filled):
        return "number"
    if 2 * sum(STAMP.fullmatch(cell) is not None for cell in filled) >= len(filled):
        return "date"
    return "text"


def first_of_data(rows: list[str], layout: Layout) -> int:
    """The first row whose cells are what the columns hold; everything above it is header and preamble."""

    def fits(cell: str, kind: Kind) -> bool:
        if kind in ("text", "empty") or is_missing(cell):
            return True
        return is_number(cell) if kind == "number" else STAMP.fullmatch(cell) is not None

    for place, row in enumerate(rows):
        cells = squared(row, layout).replace(",", ".").split(SEPARATOR)
        if len(cells) == layout.width and all(map(fits, cells, layout.kinds)):
            return place
    raise UnreadableError("holds no numbers")


def squared(row: str, layout: Layout) -> str:
    """The row with the delimiter at its end that it lacks, or without one that others lack."""
    excess = row.count(SEPARATOR) + 1 - layout.width
    if excess == -1 and layout.kinds[-1] == "empty":
        return row + SEPARATOR
    return row[:-1] if excess == 1 and row.endswith(SEPARATOR) else row


def header(rows: list[str], layout: Layout) -> tuple[str, ...] | None:
    """The first row above the data that names all columns, or all but the first as R does; units may stand below it."""
    named = [tuple(cell.strip() for cell in squared(row, layout).split(SEPARATOR)) for row in rows]
    whole = [cells for cells in named if len(cells) == layout.width]
    return next(iter(whole + [("", *cells) for cells in named if len(cells) == layout.width - 1]), None)


def even(rows: list[str], layout: Layout, number_of_row: Callable[[int], int]) -> list[str]:
    """Rows of one width; what is wider or narrower by more than a delimiter at its end is an error."""
    if {row.count(SEPARATOR) + 1 for row in rows} == {layout.width}:
        return rows
    rows = [squared(row, layout) for row in rows]
    for place, row in enumerate(rows):
        cells = row.count(SEPARATOR) + 1
        if cells != layout.width:
            raise UnreadableError(f"line {number_of_row(place)} has {cells} cells, not {layout.width}")
    return rows


def parse(rows: list[str], kinds: tuple[Kind, ...]) -> Float[np.ndarray, "rows columns"]:
    """Cells to numbers: all at once where they are nothing else, column by column where some are missing."""
    text = "\n".join(rows).replace(",", ".")
    if set(kinds) == {"number"} and len(kinds) > 1:  # a single empty cell would be an empty line, and skipped
        with contextlib.suppress(ValueError):
            return within_reason(np.loadtxt(text.split("\n"), delimiter=SEPARATOR, comments=None, ndmin=2))
    cells = text.replace("\n", SEPARATOR).split(SEPARATOR)
    values = np.full((len(rows), len(kinds)), np.nan)
    for place, kind in enumerate(kinds):
        if kind == "date":
            values[:, place] = seconds(cells[place :: len(kinds)])
        elif kind != "text":
            values[:, place] = numbers(cells[place :: len(kinds)])
    return within_reason(values)


def within_reason(values: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """NaN for what no sensor measures."""
    values[~(np.abs(values) < LARGEST)] = np.nan
    return values


def numbers(cells: list[str]) -> Float[np.ndarray, " rows"]:
    """NaN for what is no number."""
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        return np.array([float(cell) if is_number(cell) else np.nan for cell in cells])


def seconds(cells: list[str]) -> Float[np.ndarray, " rows"]:
    """ISO date-times, or times of day, as seconds since 1970; NaN for anything else. Time zones are not looked at."""
    matches = map(STAMP.fullmatch, cells)
    stamps = [f"{match[1] or '1970-01-01T'}{match[2]}" if match else "NaT" for match in matches]
    try:
        moments = np.array(stamps, dtype="datetime64[ns]")
    except ValueError:
        raise UnreadableError("has a date-time that no calendar knows") from None
    return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e9)


def words(name: str) -> list[str]:
    """The words of a column's name, in any script."""
    return re.findall(r"[^\W\d_]+", unicodedata.normalize("NFKC", name).casefold())


def is_time(name: str) -> bool:
    """A word for time, and beside it at most a unit and the like: "time (ms)", "seconds_elapsed", no "time to peak"."""
    found = set(words(name))
    return bool(found & CLOCKS) and found <= CLOCKS | FILLERS | UNITS.keys()


def find_time(table: Table) -> int | None:
    """The first column that is named as time, or without a header a first column that ticks like a clock."""
    filled = np.flatnonzero(np.isfinite(table.values).any(0)).tolist()
    if table.names is not None:
        return next((place for place in filled if is_time(table.names[place])), None)
    first = filled[:1] == [0] and table.values.shape[1] > 1
    return 0 if first and (table.kinds[0] == "date" or ticks(table.values[:, 0])) else None


def ticks(column: Float[np.ndarray, " rows"]) -> bool:
    """Always forward by nearly the same step; by one is a row number, which tells no time."""
    steps = np.diff(column)
    if len(steps) < 2 or not (steps > 0).all() or (steps == 1).all():
        return False
    low, middle, high = np.quantile(steps, (0.05, 0.5, 0.95)).tolist()
    return 0.5 * middle < low and high < 1.5 * middle


def in_seconds(table: Table, place: int) -> Float[np.ndarray, " times"]:
    """Since the first row, by the named unit, or by the one that makes 1 to 2000 rows per second."""
    column = np.asarray(table.values[:, place])
    times = column[np.isfinite(column)]
    since = times - times[0]
    if table.kinds[place] == "date" or len(since) < 2:
        return since
    named = [UNITS[word] for word in words(table.names[place]) if word in UNITS] if table.names else []
    step = float(np.median(np.diff(since)))
    likely = [unit for unit in (1.0, 1e-3, 1e-6, 1e-9) if 1 <= 1 / max(step * unit, 1e-12) <= 2000]
    return since * [*named, *likely, 1.0][0]
