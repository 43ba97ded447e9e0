"""Source: where a run's data come from and how they are divided: a later command finds the same items again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from novakind.modality import KINDS, VECTORS, Kind
from novakind.settings import BelowOne, PositiveShare, Seed, check


@dataclass(frozen=True)
class Source:
    """The data, and for benchmarks the protocol."""

    data: str = ""
    """A folder (one sub-folder for each known class, the rest in unlabeled/), a .csv, .parquet or .jsonl table
    with the columns path and label, text and label, or vector and label, an .npz with arrays X and y, an .npy with
    labels beside it, or the name of a data set."""
    kind: str = ""
    """What the items are: image, video, series, text or features; found by the files' endings where it is not given."""
    reading: Any = None
    """How they are read: the `Reading` of their kind of data; None stands for its own defaults."""
    truth: str = ""
    """A .csv with the columns path and label: what the unlabeled items really are. Scored, never trained on."""
    published: Any = field(default_factory=dict)
    """A published encoder that looks at the items: its "name", and whether it is "frozen", so that its vectors are
    what training sees."""
    test: BelowOne = 0.0
    """Share of the items held out for a final score. Data sets by name default to their official test part, or to
    0.2 if they have none."""
    split: str = ""
    """How test and validation items are chosen: random (item by item), or whole groups, e.g. subject or trial for data
    sets that name them, file for windows of recordings. The default is an official test part, else groups, else
    random."""
    known: str = ""
    """Benchmark on labeled data: which classes stay labeled (5 = the first five, random:5, or names a,b,"c, d"); the
    others become the novel ones."""
    impose: str = ""
    """Benchmark: leave out unlabeled items until the novel classes have these shares, e.g. 1/2,1/4,1/4."""
    balance: bool = False
    """Benchmark, mobiact and usc-had: at most so many windows of one person's activity, so that classes are alike in
    size, as in the tables here; it looks at the true classes, which nobody can who is still to discover them."""
    labeled: PositiveShare = 1.0
    """Benchmark: this share of the training items of each known class keeps its label; the rest joins the unlabeled
    ones."""
    split_seed: Seed = 0
    """Seed of random classes, of imposed shares, of the labels that stay and of the test and validation items; apart
    from --seed."""
    data_root: str = ""
    """Where data sets by name are kept; by default NOVAKIND_DATA or ~/.cache/novakind."""
    decisions: Any = ""
    """The file of what a person decided about an earlier run, where this one goes on from it."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def learnt(self) -> Kind:
        """The kind of data that training sees: vectors, where a frozen encoder comes first."""
        return learnt_kind(self.kind, self.published)

    @property
    def root(self) -> Path:
        """The folder of all data sets."""
        return data_root(self.data_root)


def learnt_kind(kind: str, published: Mapping[str, Any]) -> Kind:
    """The kind of data that training sees: vectors, where a frozen encoder comes first."""
    return VECTORS if published.get("frozen") else KINDS[kind]


def data_root(given: str = "") -> Path:
    """The folder of all data sets: as given, else NOVAKIND_DATA, else ~/.cache/novakind."""
    return Path(given or os.environ.get("NOVAKIND_DATA", "") or "~/.cache/novakind").expanduser()
