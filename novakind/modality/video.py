"""Videos: clips of a few frames taken by the clock, and batched augmentation that treats all frames of a clip alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from novakind.errors import UnreadableError, UserError
from novakind.modality.clips import look, read_clip
from novakind.modality.display import Clips
from novakind.modality.frames import (
    THIN,
    Batch,
    Each,
    VideoViews,
    cropped,
    ends,
    frames_at,
    redye,
    resample,
    shifted,
    soften,
)
from novakind.modality.image import MIRRORED, check_side
from novakind.modality.paper import PAPER
from novakind.modality.pixels import ImageViews, alter, pick, recolour, uniform
from novakind.settings import Pixels, Range, check

ROOM = 0.25  # share of the kept frames that is left over at natural speed, to shift and to speed up
LAPSE = 0.25  # seconds within which motion is seen; a slow camera has no two frames that are closer
SAMPLE = 500  # clips are enough to measure means and deviations
FRAMES, MOST_FRAMES = 16, 256  # that an encoder sees
STILL = 0.25 / 255  # mean change between frames below which nothing moves: a quarter of a tone
CAUTIONS = {
    "weights": "published weights have mostly seen frames, but --motion shows what changes: try --no-motion",
    "doubt": "give --no-motion if it is not movement that tells them apart, ",
}


# videos: clips of people and things that move, in the hundreds or thousands, told by their movement.
PRESETS: dict[str, dict[str, Any]] = {
    "videos": {
        "batch": 60,
        "ema": 0.98,
        "heads": 4,
        "objective.ce": 2.5,
        "objective.novel_mass": 0.5,
        "objective.soft_start": 0.3,
        "optim.name": "muon",
        "optim.lr": 0.05,
        "optim.weight_decay": 0.01,
        "views.crop": 0.35,
        "views.jitter": 0.6,
        "views.grey": 0.3,
    },
    "default": {"reading.motion": False},
    "paper": {**PAPER, "reading.motion": False},
}


@dataclass(frozen=True)
class VideoReading:
    """How videos are read and seen."""

    size: Pixels = 0
    """Side of the frames in pixels; 0 chooses by the files, at most 64."""
    frames: Annotated[int, Range(0, MOST_FRAMES)] = 0
    """How many frames of a clip the network sees; 0 is 16. Twice as many are kept."""
    fps: Annotated[float, Range(0, 1000)] = 0.0
    """How many frames per second are kept; 0 chooses so that they last as long as most of the videos."""
    motion: bool = True
    """Show the network what changes from frame to frame, not the frames: for actions, not for scenes."""
    flips: bool = False
    """Predict a clip as the mean over it and its mirror image; takes twice the time."""

    def __post_init__(self) -> None:
        check(self)
        check_side(self.size)

    def kept(self) -> Video:
        """Twice as many frames are kept as are seen, so that clips can be shifted and played faster."""
        return Video(self.size, self.frames, 2 * self.frames, self.fps, motion=self.motion, flips=self.flips)


@dataclass(frozen=True)
class Video:
    """Clips of `stored` square frames of `size` pixels, `fps` per second, of which an encoder sees `frames`.

    More are stored than are seen, so that clips can be shifted and played faster: at natural speed the frames that are
    seen spread over three quarters of those that are stored. `mean` and `std` are the channel statistics that normalise
    a batch.

    With `motion` an encoder sees how each of these frames differs from the one a quarter of a second later, or from the
    next that is stored. What stands still is gone then: a network that sees some hundred clips cannot tell them by
    their scenes ("residual frames" of Tao et al., "Rethinking Motion Representation", 2020).
    """

    size: int
    frames: int = 16
    stored: int = 32
    fps: float = 8.0
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.25, 0.25, 0.25)
    motion: bool = False
    flips: bool = False

    kind = "video"
    noun = "videos"
    example = "videos such as MP4 or AVI"
    arrays = ""
    endings = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".gif"})
    dtype = "uint8"
    Reading = VideoReading
    Views = VideoViews
    presets = PRESETS
    trainable = True
    shown = "clips"

    @classmethod
    def recognises(cls, file: Path) -> bool:
        return True

    @classmethod
    def survey(cls, files: Sequence[Path], reading: VideoReading, origin: Any = None) -> Video:
        """A size of at most 64, and a rate at which what is kept is as long as a video, unless something is asked."""
        sides, seconds = [], []
        for file in files[:: max(1, len(files) // 50)]:
            with suppress(UnreadableError, OSError):
                found = look(file)
                sides.append(found.side)
                seconds.append(max(found.seconds, 0.1))
        size = int(np.clip(np.median(sides), 8, 64)) if sides else 64
        frames = reading.frames or FRAMES
        fps = float(np.clip(round(2 * frames / np.median(seconds)), 4, 30)) if seconds else 8.0
        return replace(reading, size=reading.size or size, frames=frames, fps=reading.fps or fps).kept()

    @classmethod
    def suggested(cls, some: Sequence[Path] | np.ndarray) -> tuple[str, str]:
        return "", ""

    @classmethod
    def from_array(cls, X: np.ndarray, reading: VideoReading) -> None:
        """Clips come from files alone."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a clip as it is kept; encoders must take any number of frames."""
        return (3, self.stored, self.size, self.size)

    @property
    def step(self) -> float:
        """Stored frames from one that is seen to the next, at natural speed."""
        return max(1.0, (1 - ROOM) * self.stored / self.frames)

    def fitted(self, rows: np.ndarray, labels: np.ndarray | None = None) -> Video:
        """The same with the channel means and deviations of (at most 500 of) the rows, counted clip by clip."""
        counts = np.zeros((3, 256))
        for row in rows[:: max(1, -(-len(rows) // SAMPLE))]:
            counts += [np.bincount(channel[::THIN].ravel(), minlength=256) for channel in row]
        shares, tones = counts / np.maximum(counts.sum(1, keepdims=True), 1), np.arange(256) / 255
        mean = shares @ tones
        std = np.sqrt(np.maximum(shares @ tones**2 - mean**2, 0))
        return replace(self, mean=tuple(mean.round(4).tolist()), std=tuple(np.maximum(std, 0.01).round(4).tolist()))

    def read(self, path: Path) -> list[tuple[str, np.ndarray]]:
        """A file is one clip: uint8 (3, stored, size, size), from its middle where it is longer than a clip."""
        return [("", read_clip(path, self.size, self.stored, self.fps))]

    def reading(self) -> VideoReading:
        return VideoReading()

    def for_encoder(self, origin: Any) -> Video:
        return self

    def decoding(self) -> dict[str, Any]:
        """However the network is to see them, the same frames are decoded."""
        return {"kind": self.kind, "size": self.size, "stored": self.stored, "fps": self.fps}

    def check(self, views: VideoViews, rows: Iterable[np.ndarray]) -> None:
        """Mirroring must keep the class where predictions rely on it; and something must move where motion counts."""
        if self.flips and not views.flip:
            raise UserError(MIRRORED)
        if self.motion:
            still = np.mean([self.middle(self.collate(row[None])).abs().mean().item() < STILL for row in rows])
            if still > 0.5:
                raise UserError(
                    f"{still:.0%} of the videos stand still, and --motion shows the network only what changes: "
                    "give --no-motion"
                )

    def from_tensor(self, rows: Tensor) -> Tensor:
        """As `collate`, within a network that is exported."""
        return rows.float() / 255

    def collate(self, rows: np.ndarray) -> Tensor:
        """Tones from 0 to 1, of all frames that are stored."""
        return torch.from_numpy(np.require(rows, requirements="W")).float().div_(255)  # the store's rows are read-only

    def normalise(self, batch: Tensor) -> Tensor:
        """Centred and scaled by channel, channels last; of clips that were not augmented, the middle frames."""
        if batch.shape[2] != self.frames:
            batch = self.middle(batch)
        centre = (0.0, 0.0, 0.0) if self.motion else self.mean
        mean, std = torch.tensor(centre).view(3, 1, 1, 1), torch.tensor(self.std).view(3, 1, 1, 1)
        return torch.addcmul(-mean / std, batch, 1 / std).contiguous(memory_format=torch.channels_last_3d)

    def augment(self, batch: Tensor, policy: VideoViews, generator: torch.Generator) -> Tensor:
        if policy.strength == "none":
            return self.middle(batch)
        strong = policy.strength == "strong"
        count, look = len(batch), ImageViews(flip=policy.flip, crop=policy.crop, jitter=policy.jitter)
        pace = uniform(count, -1, 1, generator).mul(math.log1p(policy.speed if strong else 0)).exp()
        place = uniform(count, 0.5 - policy.shift / 2, 0.5 + policy.shift / 2, generator)
        clips = self.seen(batch, self.moments(batch, pace, place))
        if strong and policy.reverse:
            alter(clips, pick(count, 0.5, generator), self.backwards)
        side = policy.small or self.size
        if not strong:
            return resample(clips, shifted(count, self.size, look, generator), side)
        clips = resample(clips, cropped(count, look, generator), side)
        if policy.jitter > 0 or policy.grey > 0:
            change = redye if self.motion else recolour
            # To the colours a clip is one tall picture: its frames below each other.
            clips = change(clips.flatten(2, 3), replace(look, grey=policy.grey), generator).view_as(clips)
        alter(clips, pick(count, policy.blur, generator), soften)
        return clips

    def middle(self, batch: Batch) -> Float[Tensor, "batch 3 {self.frames} height width"]:
        """What is seen where nothing is left to chance."""
        return self.seen(batch, self.moments(batch, torch.ones(len(batch)), torch.full((len(batch),), 0.5)))

    def seen(self, batch: Batch, moments: Int[Tensor, "batch seen"]) -> Float[Tensor, "batch 3 seen height width"]:
        """The frames of these numbers, or what changes between each of them and a later one."""
        if not self.motion:
            return frames_at(batch, moments)
        later = max(1, round(LAPSE * self.fps))
        after = (moments + later).clamp(max=batch.shape[2] - 1)
        return frames_at(batch, after).sub_(frames_at(batch, (after - later).clamp(min=0)))

    def backwards(self, clips: Batch) -> Batch:
        """Played from the end: what appeared disappears."""
        return -clips.flip(2) if self.motion else clips.flip(2)

    def moments(self, batch: Batch, pace: Each, place: Each) -> Int[Tensor, "batch {self.frames}"]:
        """Which of the kept frames are seen, the nearest to even steps.

        `pace` 2 is twice the natural speed; `place` 0 begins at the first frame, and 1 ends where the clip does.
        """
        last = batch.shape[2] - 1
        span = ((self.frames - 1) * self.step * pace).clamp(max=last)
        start = (ends(batch) - span).clamp(min=0) * place
        steps = torch.linspace(0, 1, self.frames, device=start.device)
        return (start[:, None] + span[:, None] * steps).round().long().clamp(0, last)

    def faces(self, x: Tensor) -> list[Tensor]:
        return [x, x.flip(-1)] if self.flips else [x]

    def display(self, row: Callable[[int], np.ndarray]) -> Clips:
        return Clips(self.fps, row)

    def plain(self, rows: np.ndarray) -> None:
        """Videos are never alike pixel by pixel."""

    def caution(self, about: str) -> str:
        """Where motion is all that is seen, it may be the cause."""
        return CAUTIONS[about] if self.motion else ""

    def looking(self) -> dict[str, Any]:
        return self.settings()

    def settings(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}
