"""From recordings of your own to named activities, with times.

    python examples/sensor_recordings.py --make-up     # writes recordings/, made-up ones to try this with
    python examples/sensor_recordings.py recordings --novel 2
    python examples/sensor_recordings.py recordings --novel 2 --name new-1=rowing --name new-2=cycling

The folder holds CSV files with one column per channel, e.g. time,x,y,z: recordings of activities that you know in
folders named after them (walking/, sitting/), and in unlabeled/ recordings of what has no name yet,
as long as you like.
The first run trains, which takes a minute; the page runs/recordings/report.html shows what each new category looks
like. The second, with names, only prints again.
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path

import numpy as np

from novakind import Discovery, discover

RATE = 50
MADE_UP = {"sitting": (0.0, 0.0), "walking": (2.0, 3.0), "cycling": (1.3, 1.2), "rowing": (0.5, 5.0)}  # Hz, m/s²
EVENING = ["rowing", "cycling", "cycling", "rowing", "cycling", "rowing"] * 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("recordings"))
    parser.add_argument("--novel", type=int, default=2, help="how many new activities to look for")
    parser.add_argument("--window", default="3s")
    parser.add_argument("--epochs", type=int, default=0, help="0 chooses by the amount of data")
    parser.add_argument("--name", action="append", default=[], help="e.g. new-1=rowing; may be given several times")
    parser.add_argument("--make-up", action="store_true", help="write made-up recordings into the folder and stop")
    options = parser.parse_args()
    if options.make_up:
        make_up(options.folder)
        return
    run = Path("runs") / options.folder.name
    chosen = {"novel": options.novel, "window": options.window, "epochs": options.epochs}
    discover(options.folder, run, quiet=False, hop="1s", **chosen)
    names = dict(pair.split("=", 1) for pair in options.name)
    for recording, begin, end, activity in timeline(Discovery.load(run)):
        print(f"{recording:30} {clock(begin)} - {clock(end)}  {names.get(activity, activity)}")


def timeline(discovery: Discovery) -> list[tuple[str, float, float, str]]:
    """Recording, begin, end and activity, for each stretch of windows that agree; unlabeled recordings only."""
    windows = []
    for path, label, activity in zip(discovery.paths, discovery.labels, discovery.final, strict=True):
        recording, _, start = path.rpartition("@")
        if not label:
            windows.append((recording, float(start.removesuffix("s")), activity))
    stretches = []
    for (recording, activity), group in groupby(sorted(windows), key=lambda window: (window[0], window[2])):
        starts = [start for _, start, _ in group]
        stretches.append((recording, starts[0], starts[-1] + 1, activity))
    return stretches


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def make_up(folder: Path) -> None:
    """Two recordings of each known activity, and an evening of two others without labels."""
    rng = np.random.default_rng(0)
    for activity in ("sitting", "walking"):
        for number in range(2):
            write(folder / activity / f"{number}.csv", motion(activity, 120, rng))
    evening = [motion(activity, 30, rng) for activity in EVENING]
    write(folder / "unlabeled" / "evening.csv", np.concatenate(evening))
    print(f"wrote {folder}: sitting and walking are known; the evening holds {len(evening) // 2} minutes of two others")


def motion(activity: str, seconds: int, rng: np.random.Generator) -> np.ndarray:
    """A swing in three axes, at a pace and a height that vary a little, gravity, and noise."""
    pace, height = np.array(MADE_UP[activity]) * rng.normal(1, 0.1, 2)
    times = np.arange(seconds * RATE)[:, None] / RATE
    swing = height * np.sin(2 * np.pi * pace * times * [1, 1, 2] + rng.uniform(0, 6, 3)) * [1, 0.6, 0.4]
    return swing + np.array([0, 9.8, 0]) + rng.normal(0, 0.3, (len(times), 3))


def write(file: Path, values: np.ndarray) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    table = np.column_stack([np.arange(len(values)) / RATE, values])
    np.savetxt(file, table, "%.3f", ",", header="time,x,y,z", comments="")


if __name__ == "__main__":
    main()
