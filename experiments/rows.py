"""The rows that tables are made of, and what each of them changes; those that several tables have stand here once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from experiments.exhibits import Row
from experiments.paper import HEADS
from experiments.scales import ACTIONS_16, Changes

CIFAR, SHAR, MPSC, UCF = "CIFAR-10", "SHAR", "MPSC-ARL", "UCF101"
MOBIACT, USC, UCF16 = "MobiAct", "USC-HAD", "16 classes of UCF101"
SERIES = {SHAR: SHAR, MOBIACT: SHAR}

ANIMALS, MACHINES = "bird,cat,deer,dog,frog,horse", "airplane,automobile,ship,truck"
STATIC = "sitting,standing,lying face up,lying face down"
DYNAMIC = "walking,push-up,waving hand,leg exercise,object carrying,pick/drop"
BODY = "BabyCrawling,BodyWeightSquats,JumpingJack,Lunges,PushUps"
NOT_BODY = ",".join(name for name in ACTIONS_16 if name not in BODY.split(","))
STEPS = "standing,jogging,jumping,stepping into a car,stepping out of a car"  # novel: walking, stairs, sitting down
DRAWN = {"data.known": "random:5", "data.split_seed": 1}

LINEAR = {"paper": {"head": "linear"}}  # the paper's ablations repeat the linear head's numbers of Tables 2 and 3
DEEP = {"paper": {"encoder": "resnet50-cifar-pool"}}
GPU = "an epoch takes a quarter of an hour or more on two cores"
SMALL = ("smoke", "cpu")
LARGER_BATCH = {"batch": 110}  # ten times the new categories at least

NOVEL = {CIFAR: 5, UCF16: 6, MPSC: 5, **dict.fromkeys(SERIES, 4)}
TIMES = {  # how much more frequent the first novel class is than each of the others
    HEADS[0]: (2, "one class twice as frequent"),
    HEADS[1]: (3, "one class three times as frequent"),
    HEADS[2]: (4, "one class four times as frequent"),
}


def shares(times: int, count: int) -> str:
    """Of `count` classes, the first of which is so many times as frequent as each of the others."""
    total = times + count - 1
    return ",".join(str(Fraction(each, total)) for each in (times, *[1] * (count - 1)))


def uneven(name: str, times: int, *options: str, **more: str) -> Row:
    """Items as uneven as that, on every data set by its number of novel classes; `options` are given the shares."""
    where = {data: dict.fromkeys(("data.impose", *options), shares(times, count)) for data, count in NOVEL.items()}
    return Row(name, where=where, **more)


GIVEN = tuple(uneven(name, times, "prior", group="distribution") for name, (times, _) in TIMES.items())
# An epoch is a pass over the unlabeled clips: with the few that are left, 24 would be 120, 96 or 72 steps, not 192.
AS_MANY_STEPS = {name: {"cpu": {"epochs": epochs}} for name, epochs in zip(HEADS, (38, 48, 64), strict=True)}
PRIORS = (  # the same in words that hold for any number of classes; and with the prior withheld
    *(
        uneven(f"{what}, given", times, "prior", paper=name, group="prior given")
        for name, (times, what) in TIMES.items()
    ),
    *(uneven(f"{what}, uniform assumed", times, group="prior wrong") for times, what in TIMES.values()),
)
SHIFT = (
    Row("animal/machine", {"data.known": ANIMALS}, group="known/novel classes"),
    Row("machine/animal", {"data.known": MACHINES}, group="known/novel classes"),
)
STRONG, WEAK = Row("strong", group="augmentation"), Row("weak", {"views.strength": "weak"}, group="augmentation")
OURS, PROTOTYPE = Row("Ours", {"head": "linear"}), Row("Prototype", {"head": "prototype"})
UPPER = Row("upper bound: all classes labeled", {"method": "oracle"}, once=("smoke", "cpu", "paper"))


def split(name: str, known: str, *on: str, paper: str = "") -> Row:
    return Row(name, {"data.known": known}, on=on, paper=paper, group="known/novel")


def method(name: str, of: str, paper: str = "") -> Row:
    return Row(name, {"method": of}, paper=paper)


def baseline(name: str, of: str = "") -> Row:
    """A method of others that a table on CPUs has once."""
    return replace(method(name, of or name.lower()), once=("cpu",))


PAPER_TERMS: Changes = {
    "objective.ce": 1.0,
    "objective.entropy": 1.0,
    "objective.norm": 1.0,
    "objective.kl": 1.0,
    "objective.var": 1.0,
    "objective.swapped_sharpened": 0.0,
    "objective.novel_mass": 0.0,
    "heads": 1,
}
LEFT_OUT: dict[str, Changes] = {
    "no L_ce": {"objective.ce": 0.0},
    "no L_H": {"objective.entropy": 0.0},
    "no L_mse": {"objective.norm": 0.0},
    "no L_var": {"objective.var": 0.0},
    "no L_kl": {"objective.kl": 0.0},
    "no L_kl, no L_var": {"objective.kl": 0.0, "objective.var": 0.0},
}
OUR_LEFT_OUT = LEFT_OUT | {  # L_H and L_mse are one term here: its targets unsharpened, or each view its own target
    "no L_H": {"objective.target_sharpness": 1.0},
    "no L_mse": {"objective.swapped_sharpened": 0.0, "objective.sharpened": 1.0},
}
THEIRS_7 = tuple(
    Row(name, PAPER_TERMS | off, group="the paper's terms") for name, off in ({"all terms": {}} | LEFT_OUT).items()
)
OURS_7 = tuple(
    Row(name, off, group="our default terms", scales=SMALL, why="that scale has the paper's terms")
    for name, off in ({"all terms": {}} | OUR_LEFT_OUT).items()
)


LONGER = {"method": "supervised", "epochs": 134}  # an epoch of it costs less than half of one of ours
ACTIONS = tuple(
    Row(name, changes, scales=scales, why="for the networks and epochs of the scale cpu", group=group, once=once)
    for name, changes, group, scales, once in (
        ("ours", {}, "method", SMALL, ()),
        ("UNO", {"method": "uno"}, "method", SMALL, ()),
        ("UNO without its first stage", {"method": "uno-direct"}, "method", SMALL, ()),
        ("supervised + k-means", {"method": "supervised"}, "method", SMALL, ()),
        ("supervised + k-means, 134 epochs", LONGER, "method", ("cpu",), ("cpu",)),
        ("ours, 120 epochs", {"epochs": 120}, "method", ("cpu",), ("cpu",)),
        ("UNO, 120 epochs", {"method": "uno", "epochs": 120}, "method", ("cpu",), ("cpu",)),
        ("ours, frames instead of what changes", {"data.reading.motion": False}, "input", SMALL, ("cpu",)),
        ("ours, P3D instead of R(2+1)D", {"encoder": "p3d-narrow"}, "encoder", SMALL, ("cpu",)),
        ("ours, SlowFast instead of R(2+1)D", {"encoder": "slowfast-narrow"}, "encoder", SMALL, ("cpu",)),
        ("ours, weak views", {"views.strength": "weak"}, "augmentation", SMALL, ("cpu",)),
    )
)
ADDITIONS = tuple(
    Row(name, changes, scales=SMALL, why="additions belong to the preset fast")
    for name, changes in {
        "preset fast": {},
        "one head instead of four": {"heads": 1},
        "targets sharp from the start": {"objective.soft_start": 0.0},
        "no term on the novel mass": {"objective.novel_mass": 0.0},
        "cross-entropy with weight 1": {"objective.ce": 1.0},
        "weights not averaged": {"ema": 0.0},
        "SGD instead of Muon": {"optim.name": "sgd", "optim.weight_decay": 5e-4},
        "views of full size throughout": {"views.small": 0},
        "views never mild": {"views.mild_from": 1.0},
    }.items()
)


def assuming(number: int, name: str = "", changes: Changes | None = None, *on: str) -> Row:
    """A number of novel classes that need not be the true one."""
    return Row(f"U = {number} assumed{name}", {"novel": number} | (changes or {}), on=on)


AS_IT_IS = Row("all assumed as it is")
STEPS_NOVEL = Row("all assumed as it is, walking etc. novel", {"data.known": STEPS}, on=(MOBIACT,))
FEW = (assuming(2), assuming(4, "", None, CIFAR))
FEW_STEPS = assuming(2, ", walking etc. novel", {"data.known": STEPS}, MOBIACT)
MANY = (assuming(8), assuming(10, "", None, CIFAR))
MANY_STEPS = assuming(8, ", walking etc. novel", {"data.known": STEPS}, MOBIACT)
MANY_SHIFT = assuming(10, ", machine/animal", {"data.known": MACHINES}, CIFAR)
