"""The rows that tables are made of, and what each of them changes; those that several tables have stand here once."""

from __future__ import annotations

from dataclasses import replace

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
STEPS = "standing,jogging,jumping,stepping into a car,stepping out of a car"  # hides walking, stairs, sitting down
DRAWN = {"data.known": "random:5", "data.split_seed": 1}

LINEAR = {"paper": {"head": "linear"}}  # the paper's ablations repeat the linear head's numbers of Tables 2 and 3
DEEP = {"paper": {"encoder": "resnet50-cifar-pool"}}
HALF_AN_HOUR = {"epochs": 0, "minutes": 30.0}
GPU = "an epoch takes a quarter of an hour or more on two cores"
SMALL = ("smoke", "cpu")

# The first hidden class two, three or four times as frequent as each of the others; of four classes, the same ratios.
SHARES = {
    HEADS[0]: ("1/3,1/6,1/6,1/6,1/6", "2/5,1/5,1/5,1/5", "one class twice as frequent"),
    HEADS[1]: ("3/7,1/7,1/7,1/7,1/7", "1/2,1/6,1/6,1/6", "one class three times as frequent"),
    HEADS[2]: ("1/2,1/8,1/8,1/8,1/8", "4/7,1/7,1/7,1/7", "one class four times as frequent"),
}
GIVEN = tuple(
    Row(
        name,
        {"data.impose": five, "prior": five},
        {data: {"data.impose": four, "prior": four} for data in SERIES},
        group="distribution",
    )
    for name, (five, four, _) in SHARES.items()
)
PRIORS = (  # the same in words that hold for any number of classes; and with the prior withheld
    *(
        replace(row, name=f"{what}, given", paper=row.name, group="prior given")
        for row, (*_, what) in zip(GIVEN, SHARES.values(), strict=True)
    ),
    *(
        Row(
            f"{what}, uniform assumed",
            {"data.impose": five},
            {data: {"data.impose": four} for data in SERIES},
            group="prior wrong",
        )
        for five, four, what in SHARES.values()
    ),
)
SHIFT = (
    Row("animal/machine", {"data.known": ANIMALS}, group="known/hidden classes"),
    Row("machine/animal", {"data.known": MACHINES}, group="known/hidden classes"),
)
STRONG, WEAK = Row("strong", group="augmentation"), Row("weak", {"views.strength": "weak"}, group="augmentation")
OURS, PROTOTYPE = Row("Ours", {"head": "linear"}), Row("Prototype", {"head": "prototype"})
UPPER = Row("upper bound: told all classes", {"method": "oracle"}, most=1)


def split(name: str, known: str, *on: str, paper: str = "") -> Row:
    return Row(name, {"data.known": known}, on=on, paper=paper, group="known/hidden")


def method(name: str, of: str, paper: str = "") -> Row:
    return Row(name, {"method": of}, paper=paper)


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


def assuming(number: int, name: str = "", changes: Changes | None = None, *on: str) -> Row:
    """A number of novel classes that need not be the true one."""
    return Row(f"U = {number} assumed{name}", {"novel": number} | (changes or {}), on=on)


AS_IT_IS = Row("all assumed as it is")
STEPS_HIDDEN = Row("all assumed as it is, walking etc. hidden", {"data.known": STEPS}, on=(MOBIACT,))
FEW = (assuming(2), assuming(4, "", None, CIFAR))
FEW_STEPS = assuming(2, ", walking etc. hidden", {"data.known": STEPS}, MOBIACT)
MANY = (assuming(8), assuming(10, "", None, CIFAR))
MANY_STEPS = assuming(8, ", walking etc. hidden", {"data.known": STEPS}, MOBIACT)
MANY_SHIFT = assuming(10, ", machine/animal", {"data.known": MACHINES}, CIFAR)
