"""Data sets of body-worn sensors, completely labeled: recordings of activities, cut into windows.

`mobiact` and `usc-had` lie under the data root as trial files (all trials end to end in one .npz) or as published;
`shar` and its ready-made windows `shar-adl`, `shar-fall` and `shar-acc` in the official .mat files of UniMiB SHAR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from novakind.data.arrays import read_arrays
from novakind.data.collection import Collection
from novakind.data.files import Watch, quiet
from novakind.errors import UnreadableError, UserError
from novakind.modality.recordings import clean, cut, read_recording, remove_gravity, resample
from novakind.modality.series import Series, SeriesReading

AXES = ("x", "y", "z")
MOBIACT = {
    "STD": "standing",
    "WAL": "walking",
    "JOG": "jogging",
    "JUM": "jumping",
    "STU": "stairs up",
    "STN": "stairs down",
    "SCH": "sitting down",
    "CSI": "stepping into a car",
    "CSO": "stepping out of a car",
}
USC_HAD = (
    *("walk forward", "walk left", "walk right", "walk upstairs", "walk downstairs", "run forward"),
    *("jump up", "sit", "stand", "sleep", "elevator up", "elevator down"),
)
DAILY = (  # as the official files of SHAR name them
    *("StandingUpFS", "StandingUpFL", "Walking", "Running", "GoingUpS", "Jumping", "GoingDownS", "LyingDownFS"),
    "SittingDown",
)
FALLS = (
    *("FallingForw", "FallingRight", "FallingBack", "HittingObstacle", "FallingWithPS", "FallingBackSC"),
    *("Syncope", "FallingLeft"),
)
CUTTING = SeriesReading(window="5s", hop="1s", rate=25.0)


class Trial(NamedTuple):
    """One recording of one person doing one thing."""

    values: Float[np.ndarray, "time channels"]
    rate: float
    activity: int
    subject: int
    trial: int


@dataclass(frozen=True)
class Published:
    """What a data set is, wherever its trials come from, and how its recordings are cut unless the user asks else."""

    name: str
    classes: tuple[str, ...]
    channels: tuple[str, ...]
    unit: str
    cutting: SeriesReading = CUTTING
    each: int = 0
    """At most so many windows of one person's activity, spread evenly over the recordings; 0: all of them."""


def mobiact(root: Path, reading: SeriesReading, watch: Watch = quiet, balance: bool = False) -> Collection:
    """MobiAct's nine activities of daily living; a phone in a trouser pocket, 50 people, gravity included.

    Sitting down and stepping into a car are over within six seconds, and people stand and walk for a minute: those are
    ten times as frequent. `balance` limits them to 24 windows of a person's activity, 0.2 s apart: a protocol for
    benchmarks, as only who knows the activities can do so.
    """
    cutting, each = (replace(CUTTING, hop="0.2s"), 24) if balance else (CUTTING, 0)
    published = Published("mobiact", tuple(MOBIACT.values()), AXES, "m/s²", cutting, each)
    places: list[tuple[Path, Callable[[Path], Iterator[Trial]]]] = [
        (root / "mobiact" / "mobiact_acc_50hz.npz", partial(trial_file, activities=len(MOBIACT))),
        *((root / folder / "Annotated Data", annotated_csv) for folder in ("mobiact", "MobiAct_Dataset_v2.0")),
    ]
    return collect(published, places, reading)


def usc_had(root: Path, reading: SeriesReading, watch: Watch = quiet, balance: bool = False) -> Collection:
    """USC-HAD: twelve activities, 14 people with accelerometer and gyroscope at the hip; `balance` takes at most 60
    windows of a person's activity, 0.5 s apart."""
    channels = tuple(f"{sensor} {axis}" for sensor in ("acceleration", "turn") for axis in AXES)
    places: list[tuple[Path, Callable[[Path], Iterator[Trial]]]] = [
        (root / "usc-had" / "usc_had_acc_gyro_50hz.npz", partial(trial_file, activities=len(USC_HAD))),
        *((root / folder, subject_folders) for folder in ("USC-HAD", "usc-had")),
    ]
    cutting, each = (replace(CUTTING, hop="0.5s"), 60) if balance else (CUTTING, 0)
    published = Published("usc-had", USC_HAD, channels, "g, °/s", cutting, each)
    return collect(published, places, reading)


def shar(root: Path, reading: SeriesReading, watch: Watch = quiet) -> Collection:
    """UniMiB SHAR's nine activities of daily living, from the trials as they were recorded."""
    cutting = SeriesReading(window="3s", hop="1.5s", rate=30.0, gravity="remove")
    published = Published("shar", DAILY, AXES, "m/s²", cutting)
    return collect(published, [(folder / "full_data.mat", full_data) for folder in shar_folders(root)], reading)


def shar_windows(kind: str, root: Path, reading: SeriesReading, watch: Watch = quiet) -> Collection:
    """UniMiB SHAR's own windows of 151 samples around a peak: kind acc (all classes), adl or fall."""
    name = f"shar-{kind}"
    if reading != SeriesReading():
        raise UserError(f"{name} holds windows that are cut already: leave --window, --hop, --rate and --gravity out")
    file = find(name, [folder / f"{kind}_data.mat" for folder in shar_folders(root)])
    rows = np.asarray(variable(file, f"{kind}_data"), dtype=np.float32)
    marks = np.asarray(variable(file.with_name(f"{kind}_labels.mat"), f"{kind}_labels"), dtype=np.int64)
    if rows.ndim != 2 or rows.shape[1] % 3 or marks.shape != (len(rows), 3):
        raise UserError(
            f"{file} holds {rows.shape} values for {marks.shape} labels: put the official files there again"
        )
    classes = {"acc": (*DAILY, *FALLS), "adl": DAILY, "fall": FALLS}[kind]
    items = rows.reshape(len(rows), 3, -1)
    modality = Series(AXES, items.shape[2], 50.0, unit="m/s²")
    paths = tuple(f"window/{number}" for number in range(len(rows)))
    return labeled(name, items, modality, paths, marks - [1, 0, 0], classes)


def shar_folders(root: Path) -> list[Path]:
    return [root / name / inner for name in ("UniMiB-SHAR", "shar") for inner in ("data", ".")]


def collect(
    published: Published, places: list[tuple[Path, Callable[[Path], Iterator[Trial]]]], reading: SeriesReading
) -> Collection:
    """Windows of all trials, from the first place that exists."""
    place = find(published.name, [place for place, _ in places])
    given = {key: value for key, value in vars(reading).items() if value != getattr(SeriesReading(), key)}
    reading = replace(published.cutting, **given)
    if "window" in given and "hop" not in given:
        reading = replace(reading, hop="")
    length, hop = reading.cutting(reading.rate)
    rows, marks, paths = [], [], []
    for trial in dict(places)[place](place):
        for start, window in cut(prepared(trial, reading), length, hop):
            rows.append(window.T.astype(np.float32))
            marks.append((trial.activity, trial.subject, trial.trial))
            activity = published.classes[trial.activity]
            paths.append(f"{activity}/{trial.subject}-{trial.trial}@{start / reading.rate:.1f}s")
    if not rows:
        raise UserError(f"{place} holds no recording of {reading.window}: put the official files there again")
    if published.each:
        chosen = spread(np.array(marks)[:, :2], published.each)
        rows, marks, paths = ([column[number] for number in chosen] for column in (rows, marks, paths))
    series = Series(published.channels, length, reading.rate, hop, reading.gravity, published.unit)
    return labeled(published.name, np.stack(rows), series, tuple(paths), np.array(marks), published.classes)


def spread(marks: Int[np.ndarray, "windows marks"], each: int) -> list[int]:
    """At most `each` windows with the same marks, evenly over all of them: else a minute of standing outweighs all."""
    same = np.unique(marks, axis=0, return_inverse=True)[1].reshape(-1)
    chosen = []
    for number in np.unique(same):
        members = np.flatnonzero(same == number)
        chosen += members[np.linspace(0, len(members) - 1, min(each, len(members))).round().astype(int)].tolist()
    return sorted(chosen)


def prepared(trial: Trial, reading: SeriesReading) -> Float[np.ndarray, "time channels"]:
    values = resample(clean(trial.values, trial.rate), trial.rate, reading.rate)
    return remove_gravity(values, reading.rate) if reading.gravity == "remove" else values


def labeled(
    name: str,
    items: np.ndarray,
    modality: Series,
    paths: tuple[str, ...],
    marks: Int[np.ndarray, "windows 3"],
    classes: tuple[str, ...],
) -> Collection:
    """A Collection that can be divided by person, or by recording: windows overlap within one.

    `marks` are activity, subject and trial of each window.
    """
    activity, subject, _ = marks.T
    if not 0 <= int(activity.min()) <= int(activity.max()) < len(classes):
        raise UserError(
            f"{name} holds an activity beyond its {len(classes)} classes: put the official files there again"
        )
    recordings = np.unique(marks, axis=0, return_inverse=True)[1].reshape(-1)
    groups = {"subject": subject, "trial": recordings}
    return Collection(name, items, activity, classes, modality.fitted(items), paths, activity, classes, groups=groups)


def find(name: str, places: list[Path]) -> Path:
    for place in places:
        if place.exists():
            return place
    raise UserError(
        f"{name} is not there (looked for {', '.join(str(place) for place in places)}): put its official files there, "
        "or name another folder with --data-root"
    )


def trial_file(file: Path, activities: int) -> Iterator[Trial]:
    """Trials end to end: `signal` (T, C), `start`, `activity`, `subject`, `trial`; 50 samples per second."""
    arrays = read_arrays(file)
    missing = sorted({"signal", "start", "activity", "subject", "trial"} - set(arrays))
    if missing:
        raise UserError(f"{file} has no array {missing[0]}: put the trial file there again")
    ends = np.append(arrays["start"], len(arrays["signal"]))
    for number, activity in enumerate(arrays["activity"].tolist()):
        if activity < activities:
            values = arrays["signal"][ends[number] : ends[number + 1]].astype(np.float64)
            yield Trial(values, 50.0, activity, int(arrays["subject"][number]), int(arrays["trial"][number]))


def annotated_csv(folder: Path) -> Iterator[Trial]:
    """MobiAct as published: Annotated Data/WAL/WAL_<subject>_<trial>_annotated.csv, irregular, some 200 per second."""
    for activity, code in enumerate(MOBIACT):
        for file in sorted((folder / code).glob(f"{code}_*_annotated.csv")):
            _, subject, trial, _ = file.stem.split("_")
            try:
                recording = read_recording(file)
            except UnreadableError as error:
                raise UserError(f"{file} cannot be read ({error}): put the official file there again") from None
            columns = [recording.channels.index(f"acc_{axis}") for axis in AXES]
            yield Trial(recording.values[:, columns], recording.rate or 200.0, activity, int(subject), int(trial))


def subject_folders(folder: Path) -> Iterator[Trial]:
    """USC-HAD as published: Subject<s>/a<activity>t<trial>.mat with `sensor_readings` (T, 6), 100 per second."""
    for file in sorted(folder.glob("Subject*/a*t*.mat")):
        activity, trial = file.stem[1:].split("t")
        values = np.asarray(variable(file, "sensor_readings"), dtype=np.float64)
        yield Trial(values, 100.0, int(activity) - 1, int(file.parent.name.removeprefix("Subject")), int(trial))


def full_data(file: Path) -> Iterator[Trial]:
    """UniMiB SHAR as recorded: for each person a struct of activities, each some trials of [x y z | time | magnitude].

    A trial with missing values is left out, as its publishers do.
    """
    for subject, person in enumerate(np.atleast_2d(variable(file, "full_data"))):
        activities = person[0]
        for activity, name in enumerate(DAILY):
            trials = getattr(activities, name, ())
            for trial, rows in enumerate(trials if is_cell(trials) else [trials]):
                table = np.asarray(rows, dtype=np.float64)
                if table.ndim != 2 or min(table.shape) < 3:
                    continue
                values = (table if table.shape[0] > table.shape[1] else table.T)[:, :3]
                if np.isfinite(values).all():
                    yield Trial(values, 50.0, activity, subject + 1, trial + 1)


def is_cell(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object)


def variable(file: Path, name: str) -> Any:
    """One variable of a MATLAB file (version 7 or older)."""
    from scipy.io import loadmat  # here, since its import takes long and few data sets need it

    try:
        return loadmat(file, squeeze_me=True, struct_as_record=False)[name]
    except FileNotFoundError:
        raise UserError(f"{file} does not exist: put the official file there") from None
    except Exception as error:  # what a damaged file raises is up to its bytes
        raise UserError(f"{file} cannot be read ({error}): put the official file there again") from None


BALANCED = {"mobiact": partial(mobiact, balance=True), "usc-had": partial(usc_had, balance=True)}
SENSORS: dict[str, Callable[[Path, SeriesReading, Watch], Collection]] = {
    "mobiact": mobiact,
    "usc-had": usc_had,
    "shar": shar,
    **{f"shar-{kind}": partial(shar_windows, kind) for kind in ("adl", "fall", "acc")},
}
