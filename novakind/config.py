"""Every setting of a run. The field docstrings are the help of the command line; TOML in the run folder."""

from __future__ import annotations

import numbers
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_type_hints

import numpy as np

from novakind.errors import UserError
from novakind.modality.features import FeatureAugment
from novakind.modality.image import ImageAugment
from novakind.modality.series import SeriesAugment
from novakind.modality.video import VideoAugment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Objective:
    """The weight of each term of the loss; 0 leaves a term out. `paper` is the preset with the paper's own choice."""

    ce: float = 1.0
    """Cross-entropy of labeled items (eq. 8)."""
    entropy: float = 0.0
    """Entropy of each prediction (eq. 9)."""
    sharpened: float = 0.0
    """Each prediction towards its own sharpened self (eq. 10)."""
    norm: float = 0.0
    """Two views agree: Frobenius norm over B (eq. 11)."""
    mse: float = 0.0
    """Two views agree: plain mean squared error."""
    swapped: float = 0.0
    """Each view predicts the other (eq. 12)."""
    swapped_sharpened: float = 1.0
    """Each view predicts the other's sharpened, fixed answer (eq. 10 and 12 together)."""
    kl: float = 2.0
    """The mean prediction equals the prior (eq. 14)."""
    kl_one_sided: float = 0.0
    """As kl, but only classes below their share are pulled."""
    var: float = 1.0
    """The covariance of predictions equals the prior's (eq. 17)."""
    var_diagonal: float = 0.0
    """As var, but the diagonal alone."""
    novel_entropy: float = 0.0
    """Entropy among the novel classes alone."""
    novel_mass: float = 0.0
    """Keeps unlabeled items off the known classes, one by one."""
    smoothing: float = 0.0
    """Label smoothing in the cross-entropy."""
    sharpness: float = 0.1
    """s in eq. 10."""
    target_sharpness: float = 0.5
    """s of the targets in swapped_sharpened: 1 leaves them as they are, 0.1 makes them nearly one-hot."""
    soft_start: float = 0.0
    """Share of the training during which that s falls from 1 to its value, so that clusters are not fixed too early."""
    novel_temperature: float = 0.05
    """Temperature of novel_entropy."""
    weighting: Literal["fixed", "ramp", "adaptive"] = "fixed"
    """Weights over time: fixed; ramp: entropy and consistency terms rise from 0; adaptive: dynamic weight averaging,
    where a term on unlabeled items that falls more slowly than the others gains weight."""
    ramp: float = 0.3
    """Share of the training after which a ramp is complete."""


@dataclass(frozen=True)
class Optim:
    """How the weights are moved."""

    name: Literal["sgd", "adamw", "muon"] = "sgd"
    """sgd: with momentum, the paper's; adamw; muon: orthogonalised momentum for matrices, sgd for the rest."""
    lr: float = 0.1
    """Highest learning rate."""
    momentum: float = 0.9
    """Momentum of sgd and muon; first beta of adamw."""
    nesterov: bool = True
    """Nesterov's form of momentum."""
    weight_decay: float = 5e-4
    """Pull of filters and matrices to zero."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    """How the learning rate falls to zero."""
    warmup: float = 0.05
    """Share of the training during which the learning rate rises from zero."""


@dataclass(frozen=True)
class Config:
    """All settings of a run but its data."""

    novel: int = 0
    """How many new categories to look for."""
    prior: str = "uniform"
    """How unlabeled items spread over the new categories: uniform, or shares such as 1/2,1/4,1/4."""
    method: str = "ours"
    """Which method: ours (the paper's), or one to compare it with: uno, uno-direct, iic, autonovel, dtc, kcl, mcl,
    nev, spacing, supcon, supervised, kmeans; oracle is the upper bound that knows all classes."""
    epochs: int = 0
    """Passes over the unlabeled items; 0 chooses by the amount of data."""
    minutes: float = 0.0
    """Train for about so long: the epochs that fit are found by timing some steps; 0 leaves it to --epochs."""
    batch: int = 256
    """Unlabeled items in a step, at least ten times the number of new categories."""
    seed: int = 0
    """Another seed gives another, equally valid run."""
    encoder: str = "auto"
    """The network: auto, convnet, resnet18-cifar, mobilenetv2, mlp, timm:NAME, ..."""
    encoder_weights: str = ""
    """A .safetensors file of published weights, keys as in torchvision, to start from."""
    head: Literal["prototype", "linear"] = "prototype"
    """prototype: fixed random directions on the sphere; linear: a learnt classifier."""
    dim: int = 128
    """Width of the embedding."""
    heads: int = 1
    """So many heads learn side by side in ours, each with an embedding of its own; the one that loses least is kept."""
    tau: float = 0.1
    """Temperature of the prototypes; 1 / tau is the concentration of each class."""
    steps: Literal["joint", "alternating"] = "joint"
    """joint: labeled and unlabeled items in one step; alternating: one step each in turn."""
    proportionate: bool = False
    """Labeled items in a step in proportion to how many there are, instead of as many as unlabeled ones."""
    pair: str = ""
    """What two unlabeled items must have in common for one to serve as the other's second view, where the data name it:
    take, in mpsc-arl, is the moment that three cameras filmed. By default an item's second view is the item itself."""
    val: float = 0.1
    """Share of the items kept out of training to watch it."""
    ema: float = 0.0
    """Decay, by step, of the running average of the weights that is evaluated and kept (it forgets faster in the first
    steps); 0 keeps the last weights."""
    flips: bool = False
    """Predict a picture or clip as the mean over it and its mirror image; takes twice the time, and not for letters."""
    motion: bool = False
    """Show the network what changes from frame to frame of a video, not the frames: for actions, not for scenes."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """auto takes a GPU where there is one."""
    objective: Objective = field(default_factory=Objective)
    optim: Optim = field(default_factory=Optim)
    image: ImageAugment = field(default_factory=ImageAugment)
    features: FeatureAugment = field(default_factory=FeatureAugment)
    series: SeriesAugment = field(default_factory=SeriesAugment)
    video: VideoAugment = field(default_factory=VideoAugment)

    def __post_init__(self) -> None:
        o, s, i = self.objective, self.series, self.image
        rules = (
            ("--novel", self.novel, self.novel >= 0, "at least 1", "give the number of new categories to look for"),
            ("--epochs", self.epochs, self.epochs >= 0, "0 or more", "give --epochs 100, or 0 to let novakind choose"),
            ("--minutes", self.minutes, self.minutes >= 0, "0 or more", "give --minutes 10, or leave it out"),
            ("--batch", self.batch, self.batch >= 2, "at least 2", "give --batch 256"),
            ("--dim", self.dim, self.dim >= 2, "at least 2", "give --dim 128"),
            ("--heads", self.heads, self.heads >= 1, "at least 1", "give --heads 4"),
            ("--ema", self.ema, 0 <= self.ema < 1, "from 0 to below 1", "give --ema 0.99"),
            ("--tau", self.tau, self.tau > 0, "above 0", "give --tau 0.1"),
            ("--val", self.val, 0 <= self.val < 1, "from 0 to below 1", "give --val 0.1"),
            ("--seed", self.seed, self.seed >= 0, "0 or more", "give --seed 0"),
            ("--optim.lr", self.optim.lr, self.optim.lr > 0, "above 0", "give --optim.lr 0.1"),
            ("--image.crop", i.crop, 0 < i.crop <= 1, "above 0, at most 1", "give --image.crop 0.5"),
            ("--image.mild-from", i.mild_from, 0 <= i.mild_from <= 1, "from 0 to 1", "give 0.5, or 1 to leave it out"),
            ("--image.mild-crop", i.mild_crop, 0 < i.mild_crop <= 1, "above 0, at most 1", "give 0.8"),
            ("--video.crop", self.video.crop, 0 < self.video.crop <= 1, "above 0, at most 1", "give --video.crop 0.5"),
            ("--video.shift", self.video.shift, 0 <= self.video.shift <= 1, "from 0 to 1", "give --video.shift 1"),
            ("--video.speed", self.video.speed, self.video.speed >= 0, "0 or more", "give --video.speed 0.25"),
            *small_rules("--image", i.small, i.small_until),
            *small_rules("--video", self.video.small, self.video.small_until),
            ("--series.slice", s.slice, 0 < s.slice <= 1, "above 0, at most 1", "give --series.slice 0.8"),
            ("--series.rotate", s.rotate, 0 <= s.rotate <= 180, "from 0 to 180 degrees", "give --series.rotate 30"),
            *(
                (f"--series.{name}", value, 0 <= value < 1, "from 0 to below 1", "give 0 to leave it out")
                for name, value in (
                    ("jitter", s.jitter),
                    ("scale", s.scale),
                    ("time-warp", s.time_warp),
                    ("magnitude-warp", s.magnitude_warp),
                    ("drop", s.drop),
                )
            ),
            ("--series.permute", s.permute, 0 <= s.permute <= 1, "from 0 to 1", "give 0 to leave it out"),
            ("--optim.momentum", self.optim.momentum, 0 <= self.optim.momentum < 1, "from 0 to below 1", "give 0.9"),
            ("--optim.warmup", self.optim.warmup, 0 <= self.optim.warmup <= 1, "from 0 to 1", "give 0.05"),
            ("--objective.smoothing", o.smoothing, 0 <= o.smoothing < 1, "from 0 to below 1", "give 0"),
            ("--objective.sharpness", o.sharpness, o.sharpness > 0, "above 0", "give 0.1"),
            ("--objective.target-sharpness", o.target_sharpness, o.target_sharpness > 0, "above 0", "give 0.5"),
            ("--objective.soft-start", o.soft_start, 0 <= o.soft_start <= 1, "from 0 to 1", "give 0.3"),
            ("--objective.novel-temperature", o.novel_temperature, o.novel_temperature > 0, "above 0", "give 0.05"),
        )
        for option, value, holds, rule, fix in rules:
            if not holds:
                raise UserError(f"{option} {value} is out of range, it must be {rule}: {fix}")


def small_rules(option: str, side: int, until: float) -> tuple[tuple[str, float, bool, str, str], ...]:
    return (
        (f"{option}.small", side, side >= 0, "0 or more pixels", f"give {option}.small 32, or 0"),
        (f"{option}.small-until", until, 0 <= until <= 1, "from 0 to 1", "give 0.6"),
    )


def change(config: Any, name: str, value: Any, within: str = "") -> Any:
    """The settings with one of them, by dotted name, replaced; `within` is what stands before the name in messages."""
    first, _, rest = name.partition(".")
    kinds = {each.name: each.type for each in fields(config)} if hasattr(config, "__dataclass_fields__") else {}
    if first not in kinds:
        raise UserError(f'"{within}{name}" is no setting: see the fields of novakind.config.Config')
    if rest:
        return replace(config, **{first: change(getattr(config, first), rest, value, f"{within}{first}.")})
    if not is_a(value, kinds[first]):
        raise UserError(f"{within}{name} = {value!r} is of the wrong type: see the fields of novakind.config.Config")
    return replace(config, **{first: value})


def is_a(value: Any, kind: Any) -> bool:
    """Whether a value may stand in a field of this type: whole numbers may for fractions, but not truth values."""
    numeric = {"int": numbers.Integral, "float": numbers.Real}
    if kind == "bool" or isinstance(value, (bool, np.bool_)):
        return kind == "bool" and isinstance(value, (bool, np.bool_))
    return isinstance(value, numeric[kind]) if kind in numeric else not isinstance(value, numbers.Number)


def to_toml(tables: dict[str, Any], heading: str = "") -> str:
    """Plain values first, then sub-tables: enough TOML for settings, which hold numbers, strings and lists of them."""
    lines = [f"{key} = {_toml_value(value)}" for key, value in tables.items() if not isinstance(value, dict)]
    text = (f"[{heading}]\n" if heading and lines else "") + "".join(f"{line}\n" for line in lines)
    for key, value in tables.items():
        if isinstance(value, dict):
            text += "\n" + to_toml(value, f"{heading}.{key}" if heading else key)
    return text


def _toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        # A byte of a file name that is not UTF-8 (a lone surrogate) has no escape in TOML: it stays as it is.
        return (
            '"'
            + "".join(c if c.isprintable() or "\ud800" <= c <= "\udfff" else f"\\U{ord(c):08x}" for c in escaped)
            + '"'
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(part) for part in value) + "]"
    return repr(value)


def as_tables(config: Config) -> dict[str, Any]:
    """The settings as nested plain values."""
    return asdict(config)


def from_tables(tables: dict[str, Any], kind: type = Config) -> Any:
    """Settings from nested plain values; a name that this version does not know is refused."""
    hints = get_type_hints(kind)
    unknown = sorted(set(tables) - set(hints))
    if unknown:
        raise UserError(f'"{unknown[0]}" is no setting of {kind.__name__}: remove it, or use the version that wrote it')
    return kind(
        **{key: from_tables(value, hints[key]) if isinstance(value, dict) else value for key, value in tables.items()}
    )


def read_toml(text: str) -> dict[str, Any]:
    """Nested plain values from TOML."""
    return tomllib.loads(text)
