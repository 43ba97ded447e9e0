"""The data sets of the tables, and how each is run at a scale: source, preset, what is changed of it, and the budgets.

Data sets that are not at hand are replaced by others under their own names. MobiAct stands in for UniMiB SHAR (a phone
in a trouser pocket, nine daily activities), and 16 classes of UCF101 for all 101 and for MPSC-ARL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from novakind.data.source import Source
from novakind.datasets.images import CLASSES
from novakind.datasets.sensors import MOBIACT, USC_HAD

Changes = dict[str, Any]


class Scale(NamedTuple):
    """How much work a reader's machine is up to."""

    about: str
    seeds: int


SCALES = {
    "smoke": Scale(
        "every cell for an epoch or two, in minutes on any machine: shows that all runs, measures nothing", 1
    ),
    "cpu": Scale("hours on two cores: small networks, minutes per run", 3),
    "paper": Scale("the paper's networks and objective, 200 epochs, for a GPU", 3),
}


@dataclass(frozen=True)
class At:
    """A data set at one scale. Settings are changed by their dotted names, those of the source as `data.NAME`."""

    source: Source
    preset: str
    changes: Changes = field(default_factory=dict)
    budgets: dict[str, Changes] = field(default_factory=dict)
    """What a run may spend, by the name that a table calls it by; one that is not here is the preset's own."""
    named: tuple[str, ...] = ()
    """Other data in its place: what the classes are called there, in the same order."""
    title: str = ""
    """Other data in its place: their name."""
    note: str = ""


@dataclass(frozen=True)
class Data:
    """A data set, in its official order of classes."""

    kind: str
    """Which augmentation it has: image, series or video."""
    classes: tuple[str, ...] | int
    """Their names, or how many there must be."""
    at: dict[str, At]
    about: str = ""

    @property
    def count(self) -> int:
        return self.classes if isinstance(self.classes, int) else len(self.classes)


ACTIONS_16 = (
    *("ApplyEyeMakeup", "ApplyLipstick", "Archery", "BabyCrawling", "BalanceBeam", "BandMarching", "BaseballPitch"),
    *("Basketball", "BasketballDunk", "BodyWeightSquats", "BoxingPunchingBag", "JugglingBalls", "JumpingJack"),
    *("Lunges", "Punch", "PushUps"),
)
TINY_CLIPS = {"data.reading.size": 32, "data.reading.frames": 8, "data.reading.fps": 4.0}
SMALL_CLIPS = {"data.reading.size": 48, "data.reading.frames": 8, "data.reading.fps": 4.0}
LARGE_CLIPS = {"data.reading.size": 112, "data.reading.frames": 16}
PAPER_SERIES = {"encoder": "sensorcnn", "optim.name": "adamw", "optim.lr": 1e-3}
ABOUT_CLIPS = "8 frames from 4 seconds, narrow networks"


def activities(name: str, known: str, changes: Changes | None = None, smoke: bool = True) -> dict[str, At]:
    """Sensors: a run takes a minute or two, so every table has the same budget."""
    source, changes = Source(name, known=known, balance=True), changes or {}
    quick = {
        "smoke": At(
            source, "sensors", {"epochs": 2, "data.reading.rate": 10.0, **changes}, note="10 samples per second"
        )
    }
    return {
        **(quick if smoke else {}),
        "cpu": At(source, "sensors", {"epochs": 20, **changes}, note="20 epochs, SeriesNet"),
        "paper": At(source, "paper", {**PAPER_SERIES, **changes}, note="200 epochs, the authors' 53 k network"),
    }


def videos(
    name: str, known: str, batch: int, paper: Changes, smoke: bool = True, postures: bool = False
) -> dict[str, At]:
    """Videos: decoded once, then small clips on CPUs; where `postures` are the classes, frames and not what changes."""
    source = Source(name, known=known)
    tiny, small = ({**clips, "batch": batch} for clips in (TINY_CLIPS, SMALL_CLIPS))
    quick = {"smoke": At(source, "videos", {**tiny, "epochs": 1}, note=f"32 x 32 pixels, {ABOUT_CLIPS}")}
    about = (
        f"48 x 48 pixels, the first 60 % of the epochs on views of 32 x 32; {ABOUT_CLIPS}: 60 epochs in Tables 3 "
        "and 6, 24 in ablations"
    )
    small |= {"views.small": 32, "epochs": 60, "data.reading.motion": not postures}
    return {
        **(quick if smoke else {}),
        "cpu": At(source, "videos", small, {"ablation": {"epochs": 24}}, note=about),
        "paper": At(source, "paper", {**LARGE_CLIPS, "encoder": "r2plus1d-18", **paper}),
    }


DATA = {
    "CIFAR-10": Data(
        "image",
        CLASSES["cifar10"],
        {
            "smoke": At(
                Source("digits", known="5"),
                "glyphs",
                {"epochs": 2},
                named=tuple("0123456789"),
                title="digits",
                note="scikit-learn's digits in the place of CIFAR-10",
            ),
            "cpu": At(
                Source("cifar10", known="5"),
                "fast",
                {"encoder": "fastnet", "epochs": 0},
                {"ablation": {"epochs": 5}, "short": {"minutes": 5.0}, "full": {"minutes": 10.0}},
                note="preset fast with the smaller FastNet: 10 minutes per run in Tables 2 and 6; 5 epochs in "
                "ablations, six minutes on a slow day",
            ),
            "paper": At(Source("cifar10", known="5"), "paper", note="ResNets with the authors' stem"),
        },
    ),
    "UCF101": Data("video", 101, videos("ucf101", "90", 110, {"batch": 128, "proportionate": True}, smoke=False)),
    "16 classes of UCF101": Data(
        "video",
        ACTIONS_16,
        videos("ucf101", "10", 60, {"batch": 128}),
        "16 complete classes, official split by groups; the first 10 of the alphabet known unless said otherwise",
    ),
    "MPSC-ARL": Data("video", 10, videos("mpsc-arl", "5", 60, {"batch": 64}, smoke=False, postures=True)),
    "SHAR": Data("series", 9, activities("shar", "5", smoke=False)),
    "MobiAct": Data(
        "series",
        tuple(MOBIACT.values()),
        activities("mobiact", "5"),
        "nine daily activities, phone in a trouser pocket; tested on people of whom nothing was seen; first five known",
    ),
    "USC-HAD": Data(
        "series",
        USC_HAD,
        activities("usc-had", "7", {"views.rotate": 15.0}),
        "twelve activities, sensor at the hip, where posture is an angle: turns up to 15 degrees; first seven known",
    ),
}
