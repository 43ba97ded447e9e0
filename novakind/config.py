"""Every setting of a run but its data. Field docstrings are the help of the command line; TOML in the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from novakind.errors import UserError
from novakind.modality import Kind
from novakind.settings import BelowOne, Positive, Range, Seed, Share, Weight, change, check


@dataclass(frozen=True)
class Objective:
    """The weight of each term of the loss; 0 leaves a term out. `paper` is the preset with the paper's own choice."""

    ce: Weight = 1.0
    """Cross-entropy of labeled items (eq. 8)."""
    entropy: Weight = 0.0
    """Entropy of each prediction (eq. 9)."""
    sharpened: Weight = 0.0
    """Each prediction towards its own sharpened self (eq. 10)."""
    norm: Weight = 0.0
    """Two views agree: Frobenius norm over B (eq. 11)."""
    mse: Weight = 0.0
    """Two views agree: plain mean squared error."""
    swapped: Weight = 0.0
    """Each view predicts the other (eq. 12)."""
    swapped_sharpened: Weight = 1.0
    """Each view predicts the other's sharpened, fixed answer (eq. 10 and 12 together)."""
    kl: Weight = 2.0
    """The mean prediction equals the prior (eq. 14)."""
    kl_one_sided: Weight = 0.0
    """As kl, but only classes below their share are pulled."""
    var: Weight = 1.0
    """The covariance of predictions equals the prior's (eq. 17)."""
    var_diagonal: Weight = 0.0
    """The authors' form of var: the variance of each novel class alone, squared error."""
    novel_entropy: Weight = 0.0
    """Entropy among the novel classes alone."""
    novel_mass: Weight = 0.0
    """Keeps unlabeled items off the known classes, one by one."""
    smoothing: BelowOne = 0.0
    """Label smoothing in the cross-entropy."""
    sharpness: Positive = 0.1
    """s in eq. 10."""
    target_sharpness: Positive = 0.5
    """s of the targets in swapped_sharpened: 1 leaves them as they are, 0.1 makes them nearly one-hot."""
    soft_start: Share = 0.0
    """Share of the training during which that s falls from 1 to its value, so that clusters are not fixed too early."""
    novel_temperature: Positive = 0.5
    """Temperature of novel_entropy, on top of that of the head: with tau 0.1 it is the authors' 0.05 of the cosine."""
    weighting: Literal["fixed", "ramp", "adaptive"] = "fixed"
    """Weights over time: fixed; ramp: entropy and consistency terms rise from 0; adaptive: dynamic weight averaging,
    where a term on unlabeled items that falls more slowly than the others gains weight."""
    ramp: Share = 0.3
    """Share of the training after which a ramp is complete."""

    def __post_init__(self) -> None:
        check(self, "objective.")


@dataclass(frozen=True)
class Optim:
    """How the weights are moved."""

    name: Literal["sgd", "adamw", "muon"] = "sgd"
    """sgd: with momentum, the paper's; adamw; muon: orthogonalised momentum for matrices, sgd for the rest."""
    lr: Positive = 0.1
    """Highest learning rate."""
    encoder_lr: Positive = 1.0
    """Learning rate of the encoder, as a share of that of the rest: a published one must not forget what it knows."""
    momentum: BelowOne = 0.9
    """Momentum of sgd and muon; first beta of adamw."""
    nesterov: bool = True
    """Nesterov's form of momentum."""
    weight_decay: Weight = 5e-4
    """Pull of filters and matrices to zero."""
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    """How the learning rate falls to zero."""
    warmup: Share = 0.05
    """Share of the training during which the learning rate rises from zero."""

    def __post_init__(self) -> None:
        check(self, "optim.")


@dataclass(frozen=True)
class Config:
    """All settings of a run but its data."""

    novel: Annotated[int, Range(0, 100_000)] = 0
    """How many new categories to look for: a number, limits such as 3-20, or auto, which is the default; it is found by
    counting known classes in the same way. 0: not given."""
    between: str = ""
    """Limits of that number where it is not given, such as 3-20, or auto; what --novel 3-20 and --novel auto set."""
    prior: str = "uniform"
    """How unlabeled items spread over the new categories: uniform, shares such as 1/2,1/4,1/4, in any order, or auto:
    found out, by clusters at the start, or where a network learns from scratch by finer outputs that merge. In uno and
    iic auto learns them too."""
    known_share: BelowOne = 0.0
    """Share of the unlabeled items that are of known classes, if you know it."""
    mixed: Literal["", "auto", "yes", "no"] = ""
    """Whether there are any, if that share is not given: no, as in the paper; yes or auto: how many is estimated. The
    default is auto, but no in benchmarks that hide classes."""
    method: str = "ours"
    """Which method: ours (the paper's), or one to compare it with: uno, uno-direct, iic, simgcd, autonovel, dtc, kcl,
    mcl, nev, spacing, supcon, supervised, kmeans; oracle is the upper bound that knows all classes."""
    epochs: Annotated[int, Range(0, 1_000_000)] = 0
    """Passes over the unlabeled items; 0 chooses by the amount of data."""
    minutes: Annotated[float, Range(0, 100_000)] = 0.0
    """Train for about so long: the epochs that fit are found by timing some steps; 0 leaves it to --epochs."""
    work: Annotated[float, Range(0, 1e12)] = 0.0
    """Train for so much work, in 10^12 operations of forward and backward passes, counted in some steps of each stage,
    but for --epochs at least; 0 leaves it to --epochs and --minutes. What compare gives every method alike."""
    batch: Annotated[int, Range(2, 1_000_000)] = 256
    """Unlabeled items in a step. Where that is below ten times the number of new categories, a step has ten times as
    many, and so many are in memory at once."""
    seed: Seed = 0
    """Another seed gives another, equally valid run."""
    encoder: str = "auto"
    """The network: auto, one that learns from scratch (convnet, resnet18-cifar, mobilenetv2, mlp, ...), or a published
    one that starts from what it knows (efficientnet-lite0, minilm, hf:NAME or hf:FOLDER, timm:NAME, ...)."""
    tune: Literal["auto", "frozen", "partly", "whole"] = "auto"
    """How a published encoder is trained: frozen: not at all, its vectors are computed once and sorted; partly: its
    last layers; whole: all of it. auto: frozen, but partly where there are hundreds of items per class and a GPU."""
    encoder_weights: str = ""
    """A .safetensors file of published weights, keys as in torchvision, to start from."""
    head: Literal["prototype", "linear"] = "prototype"
    """prototype: fixed random directions on the sphere; linear: a learnt classifier."""
    dim: Annotated[int, Range(0, 65_536)] = 128
    """Width of the embedding; 0: that of what the encoder gives, at most 256."""
    start: Literal["random", "clusters", "earlier", "decided"] = "random"
    """Where ours puts the prototypes: random: anywhere; clusters: known classes at their means, new categories where
    k-means finds them, for items that are good vectors from the start; earlier, as --after does: where they were;
    decided, as --after does with vectors: there too, and nothing is learnt but labels and what is typical."""
    heads: Annotated[int, Range(1, 64)] = 1
    """So many heads learn side by side in ours, each with an embedding of its own; the one that loses least is kept."""
    pretraining: Annotated[float, Range(0, 10)] = 1.0
    """Factor on the share of the epochs that a method of several stages spends before it looks for new categories."""
    overclustering: Annotated[int, Range(0, 1000)] = 0
    """How many times finer the categories of the second set of heads are in uno and iic; 0, as published: 10 for up to
    ten new categories (CIFAR-10), else 3. In ours, where a network learns from scratch and shares are not uniform: how
    many outputs for each category merge while it learns; 0: 3; 1: none, and given shares keep their order."""
    tau: Positive = 0.1
    """Temperature of the prototypes; 1 / tau is the concentration of each class."""
    steps: Literal["joint", "alternating"] = "joint"
    """joint: labeled and unlabeled items in one step; alternating: one step each in turn."""
    proportionate: bool = False
    """Labeled items in a step in proportion to how many there are, instead of as many as unlabeled ones."""
    pair: str = ""
    """What two unlabeled items must have in common for one to serve as the other's second view, where the data name it:
    take, in mpsc-arl, is the moment that three cameras filmed. By default an item's second view is the item itself."""
    val: BelowOne = 0.1
    """Share of the items kept out of training to watch it."""
    ema: BelowOne = 0.0
    """Decay, by step, of the running average of the weights that is evaluated and kept (it forgets faster in the first
    steps); 0 keeps the last weights."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """auto takes a GPU (cuda) where there is one; mps is Apple's."""
    precision: Literal["auto", "float32", "bf16"] = "auto"
    """Of the encoder in training: bf16 is half as wide (autocast), with losses and predictions in float32 all the same.
    auto takes it on a GPU that has it."""
    compile: bool = False
    """Let torch compile the encoder for training: a minute at first, and faster steps. CPUs need a C++ compiler."""
    log: Literal["", "tensorboard"] = ""
    """tensorboard: what metrics.jsonl has is also written for TensorBoard, into the run folder."""
    objective: Objective = field(default_factory=Objective)
    optim: Optim = field(default_factory=Optim)
    views: Any = None
    """How items are varied in training: the `Views` of their kind of data; None stands for its own defaults."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def clustered(self) -> bool:
        """Whether ours starts its prototypes where clustering puts them; a learnt classifier has none."""
        return self.method == "ours" and self.start == "clusters" and self.head == "prototype"

    @property
    def prepared(self) -> int:
        """So many steps are enough from a start that is nearly there; 0 where it is not."""
        return {"earlier": 300, "decided": 100}.get(self.start, 300 * self.clustered)


def starting(kind: Kind, preset: str = "auto") -> Config:
    """The settings to start from for a kind of data: its own preset, or another one that it has."""
    config = Config(views=kind.Views())
    for name, value in preset_of(kind, preset).items():
        if not name.startswith("reading."):
            config = change(config, name, value)
    return config


def starting_reading(kind: Kind, preset: str = "auto") -> Any:
    """How items are read, to start from: what the preset says of it."""
    reading = kind.Reading()
    for name, value in preset_of(kind, preset).items():
        if name.startswith("reading."):
            reading = change(reading, name.removeprefix("reading."), value)
    return reading


def preset_for(kind: Kind, preset: str, encoder: str) -> str:
    """The preset that "auto" is where this encoder is asked for: a network that has to find out what matters in vectors
    does not start from their clusters."""
    own = preset_of(kind, "auto").get("encoder", "auto")
    return "learnt" if preset == "auto" and "learnt" in kind.presets and encoder not in ("auto", own) else preset


def preset_of(kind: Kind, preset: str) -> Mapping[str, Any]:
    """The changes that a preset makes, by dotted name."""
    if preset == "auto":
        return next(iter(kind.presets.values()))
    if preset not in kind.presets:
        raise UserError(f"--preset {preset} is not for {kind.noun}: choose from auto, {', '.join(kind.presets)}")
    return kind.presets[preset]


def as_tables(config: Config) -> dict[str, Any]:
    """The settings as nested plain values."""
    return asdict(config)
