"""The paper's tables 1-7, declared: no code per cell; and every exhibit by its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from experiments.cells import Cell
from experiments.exhibits import Exhibit, Row
from experiments.rows import (
    ACTIONS,
    ADDITIONS,
    AS_MANY_STEPS,
    BODY,
    CIFAR,
    DEEP,
    DYNAMIC,
    GIVEN,
    GPU,
    LARGER_BATCH,
    LINEAR,
    MPSC,
    NOT_BODY,
    OURS,
    OURS_7,
    PROTOTYPE,
    SERIES,
    SHAR,
    SHIFT,
    STATIC,
    STRONG,
    THEIRS_7,
    UCF,
    UCF16,
    UPPER,
    USC,
    WEAK,
    baseline,
    method,
    split,
)
from experiments.supplement import FIGURES
from novakind.errors import UserError

TABLES = (
    Exhibit(
        "table1",
        "Table 1: how many classes are known and novel",
        {CIFAR: CIFAR, UCF: UCF, UCF16: UCF, MPSC: MPSC, **SERIES, USC: SHAR},
        (
            split("4/6", "4", CIFAR, MPSC),
            split("5/5", "5", CIFAR, MPSC),
            split("6/4", "6", CIFAR, MPSC),
            split("90/11", "90", UCF),
            split("10/6", "10", UCF16),
            split("5/4", "5", *SERIES),
            split("6/3", "6", *SERIES),
            split("7/5", "7", USC),
        ),
        where=LINEAR,
        note="The paper's Table 1 lists the divisions without numbers; its Tables 2 to 5 have them.",
    ),
    Exhibit(
        "table2",
        "Table 2: methods on CIFAR-10, 5/5",
        {CIFAR: CIFAR},
        (
            *(baseline(name) for name in ("KCL", "MCL", "DTC", "AutoNovel")),
            OURS,
            replace(PROTOTYPE, name="Ours (prototype)"),
            method("UNO", "uno"),
            baseline("UNO without its first stage", "uno-direct"),
            method("IIC", "iic"),
            *(baseline(name) for name in ("NEV", "Spacing", "SupCon", "Supervised")),
            baseline("k-means", "kmeans"),
            UPPER,
        ),
        "full",
        DEEP,
        note="The paper's rows KCL to AutoNovel equal numbers that had been published before, for ResNet-18.",
    ),
    Exhibit(
        "table3",
        "Table 3: methods on videos and time series",
        {UCF: UCF, UCF16: UCF, MPSC: MPSC, **SERIES, USC: SHAR},
        (
            OURS,
            PROTOTYPE,
            method("NEV", "nev"),
            method("UNO", "uno"),
            method("UNO without its first stage", "uno-direct"),
            method("SpCn, as supervised contrast + k-means", "supcon", "SpCn"),
            method("SpCn, as Spacing loss", "spacing", "SpCn"),
            method("Supervised", "supervised"),
            UPPER,
        ),
        "full",
        note='The paper does not explain "SpCn": both readings are run.',
    ),
    Exhibit(
        "table4",
        "Table 4: data ablation on CIFAR-10",
        {CIFAR: CIFAR},
        (STRONG, WEAK, split("6/4", "6"), split("4/6", "4"), *SHIFT, *GIVEN),
        where=LINEAR,
        note="The shares are those of the items to train on; the test part stays balanced. The first share is the "
        "first novel class's (dog).",
    ),
    Exhibit(
        "table5",
        "Table 5: data ablation on videos",
        {MPSC: MPSC, UCF16: MPSC},
        (
            STRONG,
            WEAK,
            split("6/4", "6", MPSC),
            split("4/6", "4", MPSC),
            split("12/4", "12", UCF16, paper="6/4"),
            replace(split("8/8", "8", UCF16, paper="4/6"), where={"smoke": LARGER_BATCH, "cpu": LARGER_BATCH}),
            Row("dynamic/static", {"data.known": DYNAMIC}, on=(MPSC,), group="known/novel classes"),
            Row("static/dynamic", {"data.known": STATIC}, on=(MPSC,), group="known/novel classes"),
            Row("other actions/body motion", {"data.known": NOT_BODY}, on=(UCF16,), group="known/novel classes"),
            Row(
                "body motion/other actions",
                {"data.known": BODY},
                {"smoke": LARGER_BATCH, "cpu": LARGER_BATCH},
                on=(UCF16,),
                group="known/novel classes",
            ),
            *(replace(row, on=(MPSC,)) for row in GIVEN),
            *(replace(row, on=(UCF16,), where=row.where | AS_MANY_STEPS[row.name]) for row in GIVEN),
        ),
        where=LINEAR,
        note="Body motion: baby crawling, squats, jumping jacks, lunges, push-ups. UCF101 has no static actions.",
    ),
    Exhibit(
        "table6",
        "Table 6: encoders",
        {CIFAR: CIFAR, UCF: UCF, UCF16: UCF, MPSC: MPSC, **SERIES},
        (
            Row("ResNet50", {"encoder": "resnet50-cifar-pool"}, on=(CIFAR,), scales=("smoke", "paper"), why=GPU),
            Row("ResNet34", {"encoder": "resnet34-cifar-pool"}, on=(CIFAR,), scales=("smoke", "paper"), why=GPU),
            Row("ResNet18", {"encoder": "resnet18-cifar-pool"}, on=(CIFAR,)),
            Row("MobileNetV2", {"encoder": "mobilenetv2-cifar"}, on=(CIFAR,)),
            Row("FastNet", on=(CIFAR,), scales=("cpu",), why="not of the paper, and too large for digits"),
            Row(
                "SlowFast",
                {"encoder": "slowfast-narrow"},
                {"paper": {"encoder": "slowfast-50"}},
                (UCF, UCF16, MPSC),
            ),
            Row("R(2+1)D", on=(UCF, UCF16, MPSC)),
            Row("P3D", {"encoder": "p3d-narrow"}, {"paper": {"encoder": "p3d-63"}}, (UCF16, MPSC)),
            Row("SeriesNet", where={"paper": {"encoder": "seriesnet"}}, on=tuple(SERIES)),
            Row("the authors' 53 k CNN", {"encoder": "sensorcnn"}, on=tuple(SERIES)),
            Row("ResNet, one-dimensional", {"encoder": "resnet1d"}, on=tuple(SERIES)),
        ),
        "full",
        LINEAR,
        note="At the scale cpu ten minutes on pictures, 60 epochs on videos, 20 on series. Networks for videos are "
        "narrow there. The paper has no such table for series.",
    ),
    Exhibit(
        "table7",
        "Table 7: each term of the loss left out",
        {CIFAR: CIFAR, MPSC: MPSC, UCF16: MPSC, **SERIES},
        (*THEIRS_7, *OURS_7),
        where=LINEAR,
        remarks=("order",),
        note="Our default has one term for L_H and L_mse: each view predicts the other's sharpened answer. Without "
        "L_H its targets are not sharpened; without L_mse each view is its own target.",
    ),
    Exhibit(
        "additions",
        "Beyond the paper: what each addition of the preset fast is worth",
        {CIFAR: CIFAR},
        ADDITIONS,
        "short",
        note="One left out at a time, five minutes each: what saves time buys epochs.",
    ),
    Exhibit("actions", "Beyond the paper: new actions among 16 classes of UCF101", {UCF16: UCF}, ACTIONS, "full"),
)
EXHIBITS = {exhibit.name: exhibit for exhibit in (*TABLES, *FIGURES)}
AS_MANY_AS_ASKED = 99  # seeds
ALIASES = {"prior": "case1", "few": "case2", "many": "case3"}


def tables_of(names: Iterable[str]) -> list[Exhibit]:
    """Exhibits by name, in the order of the paper; `all` is every one, an unknown name is refused."""
    wanted = [ALIASES.get(name, name) for name in names]
    for name in wanted:
        if name not in (*EXHIBITS, "all"):
            raise UserError(f'there is no table "{name}": choose from all, {", ".join((*EXHIBITS, *ALIASES))}')
    return [exhibit for name, exhibit in EXHIBITS.items() if name in wanted or "all" in wanted]


def cells_of(exhibits: Iterable[Exhibit], scale: str) -> dict[Cell, int]:
    """Every cell once, in the order in which it is asked for first, and the most seeds that any row wants of it."""
    found: dict[Cell, int] = {}
    for exhibit in exhibits:
        for _, row, cell in exhibit.places(scale):
            if cell:
                found[cell] = max(found.get(cell, 0), 1 if scale in row.once else AS_MANY_AS_ASKED)
    return found


def drawn(kind: str, scale: str) -> set[Cell]:
    """The cells that a picture of this kind shows."""
    return {
        cell
        for exhibit in EXHIBITS.values()
        if kind in exhibit.pictures
        for _, _, cell in exhibit.places(scale)
        if cell
    }
