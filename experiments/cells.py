"""Cell: one question that is run once for each seed, in plain values; tables that ask the same share its answer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from experiments.scales import DATA, At, Changes
from novakind.config import Config, as_tables, starting, starting_reading
from novakind.data.source import Source
from novakind.modality import KINDS, Kind
from novakind.runs.folder import MOVABLE, flatten
from novakind.settings import change

# of all tables alike, recorded ones too: MobiAct and USC-HAD are balanced, given shares stand in a fixed order
PROTOCOL = {"data.balance", "overclustering"}
start = cache(starting)  # thousands of cells start from a few presets, and settings never change in place


@dataclass(frozen=True)
class Cell:
    """A data set at a scale, within a budget, with some settings changed: sorted by name, none equal to the default."""

    scale: str
    data: str
    budget: str
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def id(self) -> str:
        """Eight digits, the same for the same question at every scale: what its file and run folder are called."""
        return hashlib.sha256(self.question.encode()).hexdigest()[:8]

    @property
    def question(self) -> str:
        """Data, budget and changes in words: nothing else makes the id, so that tables and rows can be renamed."""
        return "; ".join([self.title, self.budget or "-", *(f"{name}={value}" for name, value in self.changes)])

    @property
    def title(self) -> str:
        """What the data really are."""
        return self.at.title or self.data

    @property
    def at(self) -> At:
        return DATA[self.data].at[self.scale]

    def settings(self) -> tuple[Source, Config]:
        """What the package is given."""
        at = self.at
        source = replace(at.source, kind=self.kind.kind, reading=starting_reading(self.kind, at.preset))
        config = start(self.kind, at.preset)
        for name, value in [*at.changes.items(), *at.budgets.get(self.budget, {}).items(), *self.changes]:
            if name.startswith("data."):
                source = change(source, name.removeprefix("data."), value)
            else:
                config = change(config, name, value)
        given = config.prior not in ("uniform", "auto") and config.method == "ours"
        return source, replace(config, overclustering=1) if given else config

    @property
    def kind(self) -> Kind:
        return KINDS[DATA[self.data].kind]

    def essence(self) -> dict[str, Any]:
        """The settings that are not novakind's defaults: a setting that is added later changes nothing here."""
        unchanged = Source(kind=self.kind.kind, reading=self.kind.Reading()), Config(views=self.kind.Views())
        mine, default = (flatten(plain(*pair)) for pair in (self.settings(), unchanged))
        return {"data": self.title, "set": self.at.source.data} | {
            name: value for name, value in mine.items() if name not in MOVABLE | PROTOCOL and value != default[name]
        }

    def key(self, code: str) -> str:
        """Changes with the settings, and with the code that a number depends on."""
        return hashlib.sha256(json.dumps([self.essence(), code], sort_keys=True).encode()).hexdigest()[:16]


def plain(source: Source, config: Config) -> dict[str, Any]:
    return {"data": asdict(source)} | as_tables(config)


def make_cell(scale: str, data: str, budget: str, changes: Changes) -> Cell:
    """The cell of a row: names of settings and of classes as this data set has them at this scale."""
    at = DATA[data].at[scale]
    bare = Cell(scale, data, budget if budget in at.budgets else "")
    defaults = flatten(plain(*bare.settings()))
    spelled = dict(changes)
    if "data.known" in spelled:
        spelled["data.known"] = translated(spelled["data.known"], data, at.named)
    return replace(bare, changes=tuple(sorted((k, v) for k, v in spelled.items() if defaults[k] != v)))


def translated(known: str, data: str, named: tuple[str, ...]) -> str:
    """Names of classes as other data, which stand in at this scale, have them."""
    classes = DATA[data].classes
    if not named or isinstance(classes, int) or known.isdecimal() or known.startswith("random:"):
        return known
    return ",".join(named[classes.index(name)] for name in known.split(","))
