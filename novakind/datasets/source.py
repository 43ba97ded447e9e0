"""Source: where a run's data come from and how they are divided: a later command finds the same items again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import tyro

from novakind.data.collection import Collection
from novakind.data.files import Reading, are_recordings, are_videos, load, refuse
from novakind.data.manifest import is_manifest, read_manifest
from novakind.data.split import Split, hide, impose, part, standardise, with_truth
from novakind.datasets.images import DATASETS, data_root, is_named
from novakind.datasets.sensors import SENSORS
from novakind.datasets.videos import ACTIONS
from novakind.errors import UserError


@dataclass(frozen=True)
class Source:
    """The data, and for benchmarks the protocol."""

    data: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="DATA")] = ""
    """A folder (one sub-folder for each known class, the rest in unlabeled/), a .csv or .parquet manifest with the
    columns path and label, an .npz with arrays X and y, or the name of a data set."""
    size: int = 0
    """Side of pictures and videos in pixels; 0 chooses by the files, at most 64."""
    window: str = ""
    """Cut recordings into windows of this length: 3s, 500ms, or 150 for samples; without it a file is one item."""
    hop: str = ""
    """From the start of one window to the next, written like --window; half a window where it is not given."""
    rate: float = 0.0
    """Samples per second that recordings are brought to. Those without a column of times are taken to have this rate;
    0 takes the rate that most files have."""
    gravity: Literal["keep", "remove"] = "keep"
    """remove: take what is slower than 0.3 Hz out of recordings."""
    frames: int = 0
    """Of videos: how many frames of a clip the network sees; 0 is 16."""
    fps: float = 0.0
    """Of videos: how many frames a second are kept, twice as many in all as the network sees; 0 chooses so that they
    last as long as most of the videos."""
    truth: str = ""
    """A .csv with the columns path and label: what the unlabeled items really are. Scored, never trained on."""
    test: float = 0.0
    """Share of the items kept for a final score. Data sets by name default to their official test part, or to
    0.2 if they have none."""
    split: str = ""
    """How the parts kept out are chosen: random (item by item), or whole groups, e.g. subject or trial for data sets
    that name them, file for windows of recordings. The default is an official test part, else groups, else random."""
    known: str = ""
    """Benchmark on labeled data: which classes stay labeled (5 = the first five, random:5, or names a,b,"c, d"); the
    others are hidden and become the new ones."""
    impose: str = ""
    """Benchmark: leave out unlabeled items until the hidden classes have these shares, e.g. 1/2,1/4,1/4."""
    split_seed: int = 0
    """Seed of random classes, of the imposed shares and of the parts kept out; apart from --seed."""
    data_root: str = ""
    """Where data sets by name are kept; by default NOVAKIND_DATA or ~/.cache/novakind."""


def placed(source: Source) -> Source:
    """The same source with full paths, so that later commands find it from any folder."""

    def full(path: str) -> str:
        return str(Path(path).resolve()) if path and Path(path).exists() else path

    named = is_named(source.data, data_root(source.data_root))
    return replace(source, data=source.data if named else full(source.data), truth=full(source.truth))


def preset_for(source: Source) -> str:
    """The preset for these data, as far as a look at names can tell."""
    if is_named(source.data, data_root(source.data_root)):
        kinds = {"sensors": source.data in SENSORS, "videos": source.data in ACTIONS}
    else:
        files = list(islice(names_of(Path(source.data)), 200)) if source.data else []
        kinds = {"sensors": are_recordings(files), "videos": are_videos(files)}
    return next((name for name, fits in kinds.items() if fits), "default")


def names_of(data: Path) -> Iterator[Path]:
    """The files in a folder, or those that a manifest lists; what is wrong with either is told when it is read."""
    if data.is_file() and is_manifest(data):
        with suppress(UserError):
            yield from map(Path, read_manifest(data, labels=False)[0])
    else:
        yield from (file for file in data.rglob("*") if file.is_file())


def load_named(name: str, root: Path, reading: Reading, watch: Callable[[int, int], None]) -> Collection:
    """A data set by its name; videos have to be decoded first, which takes a while."""
    if name in ACTIONS:
        return ACTIONS[name](root, reading, watch)
    refuse(reading, ("frames", "fps"), f"is for videos, and {name} holds none")
    if name not in SENSORS:
        options = ("size", "window", "hop", "rate", "gravity")
        refuse(reading, options, f"is for files that are yet to be decoded, and {name} holds pictures of one size")
    return DATASETS[name](root, reading)


def gather(source: Source, store: Path, val: float, watch: Callable[[int, int], None]) -> tuple[Collection, Split]:
    """Load, hide, impose, divide: the same source always gives the same items in the same order."""
    if not source.data:
        raise UserError("no data are given: name a folder, a manifest, an .npz file or a data set after discover")
    if source.size and not 8 <= source.size <= 1024:
        raise UserError(
            f"--size {source.size} is out of range, it must be from 8 to 1024: give --size 64, or leave it out"
        )
    path = Path(source.data)
    reading = Reading(source.size, source.window, source.hop, source.rate, source.gravity, source.frames, source.fps)
    by_name = is_named(source.data, data_root(source.data_root))
    if by_name:
        collection = load_named(source.data, data_root(source.data_root), reading, watch)
    else:
        if not path.exists() and not path.suffix:
            raise UserError(
                f"{path} does not exist: give a folder, a .csv or .parquet manifest, an .npz file, "
                f"or the name of a data set ({', '.join(DATASETS)})"
            )
        collection = load(path, store, reading, watch)
    if source.truth:
        collection = with_truth(collection, Path(source.truth))
    if source.known:
        collection = hide(collection, source.known, source.split_seed)
    if source.impose:
        collection = impose(collection, source.impose, source.split_seed)
    test = source.test or (0.2 if by_name and collection.official_test is None else 0.0)
    split = part(collection, val, test, source.split_seed, source.split)
    return standardise(collection, split), split
