"""Data sets of videos of people, completely labeled: `ucf101` in its official layout, and `mpsc-arl`.

They have to be decoded first, once for each choice of --size, --frames and --fps: see `novakind.datasets.stores`. A
clip takes about 0.4 megabytes there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from novakind.data.collection import Collection, Labels
from novakind.data.files import Watch, quiet
from novakind.datasets.stores import decode_below
from novakind.errors import UnreadableError, UserError
from novakind.given import read_whole
from novakind.modality.video import Video, VideoReading

CLIPS = VideoReading(size=64, frames=16, fps=8.0)  # unless the user asks else
MPSC_ARL = {  # the folder of each action
    "sitting": "sitting",
    "standing": "standing",
    "lying-face-up": "lying face up",
    "lying-face-down": "lying face down",
    "walking": "walking",
    "push-up": "push-up",
    "waving-hand": "waving hand",
    "leg-exercise": "leg exercise",
    "object-carrying": "object carrying",
    "pick-drop": "pick/drop",
}


class Shot(NamedTuple):
    """One video file, and what is known of it."""

    path: str
    """Within the folder of all videos."""
    action: int
    marks: tuple[str, ...]
    """Beside the action: who, when, from where."""


def ucf101(part: int, root: Path, reading: VideoReading, watch: Watch = quiet) -> Collection:
    """UCF101: clips from the web, those of its 101 actions that are there; the official test part of list `part`.

    `UCF-101/<Class>/v_<Class>_gNN_cNN.avi` and beside it `ucfTrainTestlist`, in the data root or up to two folders
    below. Clips of one group gNN of a class were cut from one video: a fair part is one of whole groups, as those of
    the official lists are.
    """
    name = "ucf101" if part == 1 else f"ucf101-{part:02}"
    folder, lists = find(name, root, "UCF-101"), find(name, root, "ucfTrainTestlist")
    official = [line.split()[-1] for line in read_lines(lists / "classInd.txt")]
    numbers = {action.lower(): number for number, action in enumerate(official)}
    shots = [
        Shot(f"{file.parent.name}/{file.name}", numbers[file.parent.name.lower()], (match[1],))
        for file in videos_below(folder)
        if file.parent.name.lower() in numbers and (match := re.fullmatch(r"v_.+_g(\d+)_c\d+", file.stem))
    ]
    held = {stem(line) for line in read_lines(lists / f"testlist{part:02}.txt")}
    test = np.array([stem(shot.path) in held for shot in shots], dtype=bool)
    return collect(name, folder, shots, tuple(official), ("group",), reading, watch, test)


def stem(line: str) -> str:
    """What a list calls a video: not all of them write HandstandPushups alike, and copies may have another ending."""
    return line.split()[0].rsplit(".", 1)[0].lower()


def mpsc_arl(root: Path, reading: VideoReading, watch: Watch = quiet) -> Collection:
    """MPSC-ARL: ten actions, each filmed by three cameras at the same time.

    `mpsc-arl/<action>/<subject>_<take>_<view>.mp4` in the data root or up to two folders below; the folders of the
    actions are named sitting, standing, lying-face-up, lying-face-down, walking, push-up, waving-hand, leg-exercise,
    object-carrying and pick-drop. The views of one take show the same moment: parts are divided by subject, or by take
    if asked, and by view only to learn how well one camera teaches another.
    """
    folder = find("mpsc-arl", root, "mpsc-arl")
    folders = list(MPSC_ARL)
    shots = [
        Shot(f"{file.parent.name}/{file.name}", folders.index(file.parent.name), tuple(file.stem.split("_")))
        for file in videos_below(folder)
        if file.parent.name in MPSC_ARL and file.stem.count("_") == 2
    ]
    return collect("mpsc-arl", folder, shots, tuple(MPSC_ARL.values()), ("subject", "take", "view"), reading, watch)


def collect(
    name: str,
    folder: Path,
    shots: Sequence[Shot],
    actions: Sequence[str],
    kinds: Sequence[str],
    reading: VideoReading,
    watch: Watch,
    test: Bool[np.ndarray, " shots"] | None = None,
) -> Collection:
    """The videos that can be read, of the actions that are there, in the official order; `kinds` names the marks."""
    if not shots:
        raise UserError(f"{folder} holds no video of {name}: put its official files there again")
    modality = choose(reading)
    names = [shot.path for shot in shots]
    stored = decode_below(folder, names, modality, watch)
    kept = [shots[number] for number in stored.kept]
    present = sorted({shot.action for shot in kept})
    labels = np.array([present.index(shot.action) for shot in kept])
    classes = tuple(actions[number] for number in present)
    held = None if test is None else test[stored.kept]
    train = np.arange(len(kept)) if held is None or held.all() else np.flatnonzero(~held)
    return Collection(
        name,
        stored.rows,
        labels,
        classes,
        modality.fitted(stored.rows[train[:: max(1, len(train) // 500)]]),
        tuple(shot.path for shot in kept),
        labels,
        classes,
        tuple((names[number], reason) for number, reason in stored.skipped),
        held,
        grouped(kept, kinds),
    )


def grouped(shots: Sequence[Shot], kinds: Sequence[str]) -> dict[str, Labels]:
    """Numbers of what shots have in common. Groups and takes are counted within an action, and a take by person."""
    keys: dict[str, list[tuple[object, ...]]] = {
        "group": [(shot.action, shot.marks[0]) for shot in shots],
        "subject": [shot.marks[:1] for shot in shots],
        "take": [(shot.action, *shot.marks[:2]) for shot in shots],
        "view": [shot.marks[-1:] for shot in shots],
    }
    return {kind: as_numbers(keys[kind]) for kind in kinds}


def as_numbers(keys: Sequence[tuple[object, ...]]) -> Labels:
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([order[key] for key in keys])


def choose(reading: VideoReading) -> Video:
    """As asked for, and else 16 frames of 64 pixels, 8 per second."""
    given = {key: value for key, value in vars(reading).items() if value or isinstance(value, bool)}
    return replace(CLIPS, **given).kept()


def find(name: str, root: Path, folder: str) -> Path:
    """The folder of that name in the data root, or up to two folders below."""
    for pattern in (folder, f"*/{folder}", f"*/*/{folder}"):
        for found in sorted(root.glob(pattern)):
            if found.is_dir():
                return found
    raise UserError(
        f"{name} is not there (looked for a folder {folder} in {root} and two levels below): put its official files "
        "there, or name another folder with --data-root"
    )


def videos_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*/*") if file.suffix.lower() in Video.endings)


def read_lines(file: Path) -> list[str]:
    """The lines of a list that are not empty."""
    try:
        return [line for line in read_whole(file).decode().splitlines() if line.strip()]
    except (UnreadableError, UnicodeDecodeError) as error:
        raise UserError(f"{file} cannot be read ({error}): put the official lists there") from None


VIDEOS: dict[str, Callable[..., Collection]] = {
    "ucf101": partial(ucf101, 1),
    "ucf101-02": partial(ucf101, 2),
    "ucf101-03": partial(ucf101, 3),
    "mpsc-arl": mpsc_arl,
}
