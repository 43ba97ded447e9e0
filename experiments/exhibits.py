"""What a table, a figure or a case is: rows x data sets; every place is a cell, found from settings alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from experiments.cells import Cell, make_cell
from experiments.scales import DATA, Changes


@dataclass(frozen=True)
class Row:
    """A row: what it changes everywhere, and besides at a scale ("cpu") or on a data set ("MobiAct")."""

    name: str
    changes: Changes = field(default_factory=dict)
    where: dict[str, Changes] = field(default_factory=dict)
    on: tuple[str, ...] = ()
    """The data sets that have this row; none named: all of the table's."""
    scales: tuple[str, ...] = ("smoke", "cpu", "paper")
    why: str = ""
    """Why it is not for the other scales."""
    paper: str = ""
    """What the paper calls it, where that differs."""
    group: str = ""
    once: tuple[str, ...] = ()
    """The scales at which one seed is enough."""


@dataclass(frozen=True)
class Exhibit:
    """A table, figure, setting or case."""

    name: str
    title: str
    data: dict[str, str]
    """The data sets, and whose numbers of the paper stand beside them."""
    rows: tuple[Row, ...]
    budget: str = "ablation"
    """Its name: by default the one of equal epochs, for rows an epoch of which costs the same."""
    where: dict[str, Changes] = field(default_factory=dict)
    """Changes of all rows at a scale."""
    numbers: str = ""
    """The paper's table that has the numbers, where it is another one."""
    pictures: tuple[str, ...] = ()
    """confusion, merge, recall, map or kl: see figures.py."""
    remarks: tuple[str, ...] = ()
    """order or mergers: see remarks.py."""
    shown: str = ""
    """Another exhibit that shows the same rows, so that RESULTS.md need not do so twice."""
    note: str = ""

    def cell(self, scale: str, data: str, row: Row) -> Cell | None:
        """What fills a place; None where the row, or the data set, is not for that scale."""
        if scale not in row.scales or scale not in DATA[data].at:
            return None
        changes: Changes = {}
        for place in (self.where.get(scale, {}), row.changes, row.where.get(scale, {}), row.where.get(data, {})):
            changes |= place
        return make_cell(scale, data, self.budget, changes)

    def places(self, scale: str) -> Iterator[tuple[str, Row, Cell | None]]:
        """Every data set with every row that it has."""
        for data in self.data:
            yield from ((data, row, self.cell(scale, data, row)) for row in self.rows if not row.on or data in row.on)
