"""Parquet files: whatever is wrong with one is told in a sentence, and none is read that takes more than all memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from novakind.errors import UserError
from novakind.given import memory, to_read

CELL = 300  # bytes of a cell as Python keeps it


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """The Parquet file; whatever is wrong with it, within the block too, is told in a sentence."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UserError(f"{path} needs pyarrow: pip install 'novakind[parquet]', or save it as CSV") from None
    try:
        with to_read(path, "a readable file") as opened:
            yield parquet.ParquetFile(opened)
    except UserError:
        raise
    except (OSError, ArrowException, ValueError):  # ValueError: names that are no UTF-8
        raise UserError(f"{path} is no Parquet file, or damaged: write it again, or save it as CSV") from None


def check_room(path: Path, file: Any, names: Sequence[str], size: int) -> None:
    """Refuse columns whose values, of `size` bytes each, are more than memory holds: some KB of a file can be billions
    of equal ones."""
    facts = file.metadata
    wanted = [number for number in range(facts.num_columns) if facts.schema.column(number).path.split(".")[0] in names]
    groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
    values = sum(group.column(number).num_values for group in groups for number in wanted)
    if size * max(values, facts.num_rows) > memory():
        raise UserError(
            f"{path} holds {max(values, facts.num_rows):,} values, more than this machine's memory: give fewer rows"
        )
