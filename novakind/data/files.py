"""Items on disk: a folder tree, a manifest or an .npz file becomes a Collection."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image as Pillow

from novakind.data.collection import SHORTEST, Collection, encode_labels, from_arrays
from novakind.data.manifest import MANIFESTS, read_manifest
from novakind.data.store import decode
from novakind.errors import UnreadableError, UserError
from novakind.modality import Modality
from novakind.modality.clips import look
from novakind.modality.image import Image, open_rgb
from novakind.modality.recordings import survey
from novakind.modality.series import Series
from novakind.modality.video import Video

UNLABELED = "unlabeled"
RECORDINGS = {".csv", ".tsv", ".txt", ".dat"}
VIDEOS = {".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".gif"}
FRAMES, MOST_FRAMES = 16, 256  # that an encoder sees; twice as many are kept
Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Reading:
    """How files become items: the options of `Source` that bear on it."""

    size: int = 0
    window: str = ""
    hop: str = ""
    rate: float = 0.0
    gravity: Literal["keep", "remove"] = "keep"
    frames: int = 0
    fps: float = 0.0


AS_THEY_ARE = Reading()


def load(
    path: Path, store: Path, reading: Reading = AS_THEY_ARE, watch: Watch = lambda done, total: None
) -> Collection:
    """A folder tree, a manifest or an .npz as a Collection; files are decoded into the folder `store`."""
    if path.is_dir():
        names, labels, passed_over = _walk(path)
        collection = _from_files(path.resolve().name, path, names, labels, store, reading, watch)
        return replace(collection, skipped=(*collection.skipped, *passed_over))
    if not path.exists():
        raise UserError(f"{path} does not exist: give a folder, a .csv or .parquet manifest, or an .npz file")
    if path.suffix.lower() in MANIFESTS:
        names, labels = read_manifest(path)
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise UserError(f"{path} names {twice[0]} more than once, but an item has one row: remove the others")
        labels = ["" if label == UNLABELED else label for label in labels]
        return _from_files(path.stem, path.parent, names, labels, store, reading, watch)
    if path.suffix.lower() == ".npz":
        if reading != AS_THEY_ARE:
            changed = next(f.name for f in fields(reading) if getattr(reading, f.name) != f.default)
            raise UserError(
                f"--{changed} {getattr(reading, changed)} is for files that are yet to be decoded, and {path} holds "
                "items as they are: leave it out"
            )
        X, y = _read_npz(path)
        return from_arrays(X, y, name=path.stem)
    raise UserError(f"{path} is neither a folder, a .csv or .parquet manifest nor an .npz file: give one of those")


def _walk(root: Path) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Paths below `root`, their labels (the top folder; "" below `unlabeled/`), and what is passed over, and why."""
    names, labels, passed_over = [], [], []
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root)
        if any(part.startswith(".") for part in inside.parts) or file.is_dir():
            continue
        if not file.is_file():
            passed_over.append((inside.as_posix(), "a broken link" if file.is_symlink() else "not a file"))
        elif len(inside.parts) < 2:
            passed_over.append((inside.as_posix(), "not in the folder of a class"))
        else:
            names.append(inside.as_posix())
            labels.append("" if inside.parts[0] == UNLABELED else inside.parts[0])
    if not names:
        raise UserError(
            f"{root} holds no file in a sub-folder: put known items into one folder for each class, "
            f"and the rest into {UNLABELED}/"
        )
    return names, labels, passed_over


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file, without unpickling anything."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(file)
    except OSError as error:
        raise UserError(f"{path} cannot be opened ({error.strerror or error}): give a readable .npz file") from None
    except Exception:  # numpy, zipfile and zlib each have their own ways to say so, none of them for users
        raise UserError(
            f"{path} is no .npz file of plain arrays, or damaged: write it with numpy.savez(path, X=..., y=...)"
        ) from None


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = read_arrays(path)
    for key in ("X", "y"):
        if key not in arrays:
            raise UserError(
                f"{path} has no array {key}: write it with numpy.savez(path, X=..., y=...), y = -1 for unlabeled"
            )
    return arrays["X"], arrays["y"]


def _from_files(
    name: str, root: Path, names: Sequence[str], labels: Sequence[str], store: Path, reading: Reading, watch: Watch
) -> Collection:
    files = [root / item for item in names]
    modality = choose_modality(files, reading)
    stored = decode(files, names, store, modality, watch)
    if not stored.kept:
        what, such = {
            "series": ("a recording", "CSV files with a column for each channel"),
            "video": ("a video", "videos such as MP4 or AVI"),
        }.get(modality.kind, ("an image", "images such as PNG or JPEG"))
        raise UserError(
            f"none of the {len(files)} files in {root} is {what} that can be read "
            f"(the first, {names[0]}: {stored.skipped[0][1]}): give {such}"
        )
    numbers, classes = encode_labels(np.array([labels[number] for number in stored.kept]))
    return Collection(
        name,
        stored.rows,
        numbers,
        classes,
        modality.fitted(stored.rows),
        tuple(names[number] + suffix for number, suffix in zip(stored.kept, stored.suffixes, strict=True)),
        numbers,
        classes,
        tuple((names[number], reason) for number, reason in stored.skipped),
        groups={"file": np.array(stored.kept)} if any(stored.suffixes) else {},
    )


def choose_modality(files: Sequence[Path], reading: Reading) -> Modality:
    """What the files hold, by the ending that most of them have."""
    if are_recordings(files):
        refuse(reading, ("size",), "is for pictures, and most of the files are recordings")
        refuse(reading, ("frames", "fps"), "is for videos, and most of the files are recordings")
        return choose_windows(files, reading)
    first = f"(the first is {files[0].name})"
    refuse(reading, ("window",), f"is for recordings, and most of the files are no CSV files {first}")
    if are_videos(files):
        return choose_clips(files, reading)
    refuse(reading, ("frames", "fps"), f"is for videos, and most of the files are none {first}")
    return Image(reading.size or choose_size(files))


def refuse(reading: Reading, options: Sequence[str], reason: str) -> None:
    """Rather say that an option has no meaning here than ignore it."""
    for name in options:
        if getattr(reading, name) != getattr(AS_THEY_ARE, name):
            raise UserError(f"--{name} {getattr(reading, name)} {reason}: leave it out")


def are_recordings(files: Sequence[Path]) -> bool:
    """Whether most of the files have an ending that recordings have."""
    return most(files, RECORDINGS)


def are_videos(files: Sequence[Path]) -> bool:
    return most(files, VIDEOS)


def most(files: Sequence[Path], endings: set[str]) -> bool:
    """Whether more than half of the files have one of these endings."""
    return 2 * sum(file.suffix.lower() in endings for file in files) > len(files)


def choose_clips(files: Sequence[Path], reading: Reading) -> Video:
    """As asked for, else by the files: a size of at most 64, and a rate at which what is kept is as long as a video."""
    sides, seconds = [], []
    for file in files[:: max(1, len(files) // 50)]:
        with suppress(UnreadableError, OSError):
            found = look(file)
            sides.append(found.side)
            seconds.append(max(found.seconds, 0.1))
    size = int(np.clip(np.median(sides), 8, 64)) if sides else 64
    frames = reading.frames or FRAMES
    fps = float(np.clip(round(2 * frames / np.median(seconds)), 4, 30)) if seconds else 8.0
    return as_video(replace(reading, size=reading.size or size, frames=frames, fps=reading.fps or fps))


def as_video(reading: Reading) -> Video:
    """Twice as many frames are kept as are seen, so that clips can be shifted and played faster."""
    if not 1 <= reading.frames <= MOST_FRAMES:
        raise UserError(f"--frames {reading.frames} is out of range, it must be from 1 to {MOST_FRAMES}: give 16")
    if not 0 < reading.fps <= 1000:
        raise UserError(f"--fps {reading.fps} is out of range, it must be above 0, at most 1000: give --fps 8")
    return Video(reading.size, reading.frames, 2 * reading.frames, reading.fps)


def choose_windows(files: Sequence[Path], reading: Reading) -> Series:
    """Channels, rate and length that most of the recordings have, or that are asked for."""
    found = survey([file for file in files if file.suffix.lower() in RECORDINGS])
    rate = reading.rate or found.rate or 0.0
    if rate < 0:
        raise UserError(f"--rate {reading.rate} must be above 0: give samples per second, e.g. --rate 50")
    if not reading.window:
        if reading.hop:
            raise UserError(f"--hop {reading.hop} is for recordings that are cut into windows: give --window too")
        stretch = rate / found.rate if rate and found.rate else 1.0
        return Series(found.channels, max(round(found.samples * stretch), 1), rate, 0, reading.gravity)
    length = samples("--window", reading.window, rate)
    if length < SHORTEST:
        raise UserError(
            f"--window {reading.window} is {length} samples, but at least {SHORTEST} are needed: give a longer one"
        )
    hop = samples("--hop", reading.hop, rate) if reading.hop else max(length // 2, 1)
    if hop < 1:
        raise UserError(f"--hop {reading.hop} is no step forward: give a time above 0, e.g. half of --window")
    return Series(found.channels, length, rate, hop, reading.gravity)


def samples(option: str, text: str, rate: float) -> int:
    """A length of time in samples: 3s and 500ms need the rate, a bare number is samples."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(s|ms|)\s*", text)
    if not match or (not match[2] and not match[1].isdecimal()):
        raise UserError(f"{option} {text} is no length of time: write 3s, 500ms, or 150 for samples")
    if not match[2]:
        return int(match[1])
    if not rate:
        raise UserError(
            f"{option} {text} needs the samples per second, and the files have no column of times: give --rate 50, "
            f"or {option} in samples"
        )
    return round(float(match[1]) * rate / (1000 if match[2] == "ms" else 1))


def choose_size(files: Sequence[Path]) -> int:
    """The median short side of some of the pictures, between 8 and 64 pixels: more is slow on a CPU."""
    sides = []
    for file in files[:: max(1, len(files) // 50)]:
        try:
            sides.append(min(open_rgb(file).size))
        except (UnreadableError, OSError, Pillow.DecompressionBombError):
            continue
    return int(np.clip(np.median(sides), 8, 64)) if sides else 64
