"""The paper's figures, and the supplement's settings and cases, declared: no code per cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from experiments.exhibits import Exhibit, Row
from experiments.rows import (
    AS_IT_IS,
    CIFAR,
    DEEP,
    DRAWN,
    FEW,
    FEW_STEPS,
    LINEAR,
    MANY,
    MANY_SHIFT,
    MANY_STEPS,
    MOBIACT,
    OURS,
    PRIORS,
    PROTOTYPE,
    SERIES,
    SHIFT,
    STEPS,
    STEPS_NOVEL,
)


def setting(number: int, title: str, data: dict[str, str], rows: tuple[Row, ...], **options: Any) -> Exhibit:
    """One of the supplement's eight settings."""
    return Exhibit(f"setting{number}", f"Setting {number}: {title}", data, rows, where=LINEAR, **options)


FIGURES = (
    Exhibit(
        "confusion",
        "Figure: confusion matrix, CIFAR-10",
        {CIFAR: CIFAR},
        (PROTOTYPE,),
        "full",
        DEEP,
        pictures=("confusion",),
    ),
    Exhibit(
        "tsne",
        "Figure: t-SNE of the embedding under both heads, and of time series",
        {CIFAR: CIFAR, **SERIES},
        (
            replace(OURS, name="linear head"),
            replace(PROTOTYPE, name="prototypes on the sphere"),
            Row("prototypes, walking etc. novel", {"data.known": STEPS}, on=(MOBIACT,)),
            Row("prototypes, five drawn", DRAWN, on=(MOBIACT,)),
        ),
        "full",
        DEEP,
        pictures=("map",),
    ),
    Exhibit(
        "kl",
        "Figure: L_kl over training for several assumed U",
        {CIFAR: CIFAR, **SERIES},
        (*FEW, AS_IT_IS, *MANY),
        where=LINEAR,
        pictures=("kl",),
    ),
    Exhibit(
        "case1",
        "Case 1: the prior is wrong",
        {CIFAR: CIFAR, **SERIES},
        (AS_IT_IS, *PRIORS),
        where=LINEAR,
        numbers="table4",
        pictures=("recall",),
        note="The first novel class is the frequent one. On time series, which have four novel classes, the "
        "shares have the same ratios, and the test people's are as uneven as the others'.",
    ),
    Exhibit(
        "case2",
        "Case 2: too few categories",
        {CIFAR: CIFAR, **SERIES},
        (AS_IT_IS, *FEW, STEPS_NOVEL, FEW_STEPS),
        where=LINEAR,
        pictures=("merge", "map"),
        remarks=("mergers",),
    ),
    Exhibit(
        "case3",
        "Case 3: too many categories",
        {CIFAR: CIFAR, **SERIES},
        (AS_IT_IS, *MANY, MANY_SHIFT, STEPS_NOVEL, MANY_STEPS),
        where=LINEAR,
        pictures=("merge", "map"),
        remarks=("mergers",),
    ),
    setting(1, "animals known, machines novel", {CIFAR: CIFAR}, SHIFT[:1], numbers="table4", pictures=("map",)),
    setting(2, "machines known, animals novel", {CIFAR: CIFAR}, SHIFT[1:], numbers="table4", pictures=("map",)),
    setting(3, "too many categories, time series", SERIES, (MANY[0], MANY_STEPS), shown="case3"),
    setting(4, "too many categories, CIFAR-10", {CIFAR: CIFAR}, (*MANY, MANY_SHIFT), shown="case3"),
    setting(5, "too few categories, time series", SERIES, (FEW[0], FEW_STEPS), shown="case2"),
    setting(6, "too few categories, CIFAR-10", {CIFAR: CIFAR}, FEW, shown="case2"),
    setting(7, "wrong prior, CIFAR-10", {CIFAR: CIFAR}, PRIORS, shown="case1"),
    setting(8, "wrong prior, time series", SERIES, PRIORS, shown="case1"),
)
