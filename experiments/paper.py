"""What the paper reports, as data: Hasan et al., arXiv 2307.03856v2, by table, data set and row.

Percentages as printed. The paper prints a deviation in Table 2 and for one row of Table 6 only, and does not say
whether its scores are task-aware or task-agnostic. Its abstract gives other numbers for CIFAR-10, SHAR and UCF101 than
its tables; those of the tables are used.
"""

from __future__ import annotations

from typing import NamedTuple


class Reported(NamedTuple):
    """Accuracy of known classes and ACC of novel ones; None where the paper has no number."""

    known: float | None = None
    novel: float | None = None
    known_std: float | None = None
    novel_std: float | None = None


def of_methods(known: str, novel: str) -> dict[str, Reported]:
    """A pair of rows of Table 3."""
    names = ("Ours", "Prototype", "NEV", "UNO", "SpCn", "Supervised")
    pairs = zip(map(float, known.split()), map(float, novel.split()), strict=True)
    return dict(zip(names, (Reported(*pair) for pair in pairs), strict=True))


def left_out(novel: str) -> dict[str, Reported]:
    """A column of Table 7."""
    names = ("no L_ce", "no L_H", "no L_mse", "no L_var", "no L_kl", "no L_kl, no L_var")
    return dict(zip(names, (Reported(None, float(number)) for number in novel.split()), strict=True))


HEADS = ("[1/3, {1/6}^4]", "[3/7, {1/7}^4]", "[1/2, {1/8}^4]")

TABLES: dict[str, dict[str, dict[str, Reported]]] = {
    "table2": {
        "CIFAR-10": {
            "KCL": Reported(79.4, 60.1, 0.6, 0.6),
            "MCL": Reported(81.4, 64.8, 0.4, 0.4),
            "DTC": Reported(58.7, 78.6, 0.6, 0.2),
            "AutoNovel": Reported(90.6, 88.8, 0.2, 0.2),
            "Ours": Reported(90.2, 85.5, 0.5, 0.6),
            "Ours (prototype)": Reported(90.3, 87.2, 0.5, 0.4),
        }
    },
    "table3": {
        "UCF101": of_methods("92.3 92.4 92.4 92.1 93.2 92.6", "86.5 88.2 82.7 79.8 24.1 16.4"),
        "MPSC-ARL": of_methods("82.3 82.4 82.9 83.4 85.2 84.6", "70.2 74.5 67.3 62.1 25.8 26.3"),
        "SHAR": of_methods("93.2 95.5 92.8 90.5 94.2 92.2", "70.2 75.01 68.5 64.2 35.2 30.1"),
    },
    "table4": {
        "CIFAR-10": {
            "strong": Reported(85.2, 81.82),
            "weak": Reported(84.6, 72.1),
            "6/4": Reported(85.1, 84.4),
            "4/6": Reported(86.5, 76.2),
            "animal/machine": Reported(86.2, 62.5),
            "machine/animal": Reported(85.7, 60.3),
            HEADS[0]: Reported(85.5, 81.4),
            HEADS[1]: Reported(85.4, 80.7),
            HEADS[2]: Reported(85.7, 75.1),
        }
    },
    "table5": {
        "MPSC-ARL": {
            "strong": Reported(82.3, 70.2),
            "weak": Reported(80.9, 60.5),
            "6/4": Reported(82.1, 72.3),
            "4/6": Reported(82.5, 65.2),
            "dynamic/static": Reported(82.1, 65.1),
            "static/dynamic": Reported(83.5, 58.6),
            HEADS[0]: Reported(82.1, 67.6),
            HEADS[1]: Reported(82.4, 65.8),
            HEADS[2]: Reported(82.4, 62.4),
        }
    },
    "table6": {
        "CIFAR-10": {
            "ResNet50": Reported(90.2, 85.5, 0.5, 0.6),
            "ResNet34": Reported(87.51, 81.93),
            "ResNet18": Reported(85.20, 81.82),
            "MobileNetV2": Reported(84.77, 80.14),
        },
        "UCF101": {"SlowFast": Reported(92.8, 88.7), "R(2+1)D": Reported(92.2, 86.5)},
        "MPSC-ARL": {
            "SlowFast": Reported(85.2, 72.3),
            "R(2+1)D": Reported(82.3, 70.2),
            "P3D": Reported(74.2, 61.2),
        },
    },
    "table7": {
        "CIFAR-10": left_out("43.5 25.5 53.9 75.8 66.1 26.7"),
        "MPSC-ARL": left_out("37.8 31.2 48.5 62.7 57.3 29.5"),
        "SHAR": left_out("35.5 34.2 40.6 65.2 59.8 31.8"),
    },
}

CLAIMS = {  # what the text and the pictures of the paper say, in our words
    "table2": "On par with AutoNovel (1.6 points of ACC behind), ahead of KCL, MCL and DTC; prototypes beat the linear "
    "head.",
    "table3": "Prototypes beat the linear head everywhere; NEV and UNO follow, and features learnt from known classes "
    "alone hardly cluster the novel ones.",
    "table4": "Weak augmentation, more novel classes, a shift of meaning and a heavy head class each cost novel ACC; a "
    "mild head costs little.",
    "table5": "As Table 4: novel classes that move cost most, then weak augmentation.",
    "table6": "Deeper networks are better on known and on novel classes, up to a plateau.",
    "table7": "Every term matters: without L_H, or without both L_kl and L_var, training collapses; L_var alone is the "
    "most dispensable.",
    "confusion": "Each novel class gets a neuron of its own; classes do not collapse into one.",
    "tsne": "Known and novel classes form clusters apart from each other, more clearly so on the sphere; one choice of "
    "novel activities fails because their signals are alike.",
    "kl": "L_kl is compared over training for several assumed numbers of novel classes, five being right.",
    "setting1": "The clusters fail to follow the classes (picture only; Table 4 has the number).",
    "setting2": "The clusters fail to follow the classes (picture only; Table 4 has the number).",
    "case1": "A wrong prior makes classes overlap and harms known classes too; uniform is a good guess, and the tail "
    "classes suffer most.",
    "case2": "With too few categories classes of similar meaning merge: dog with horse, walking with jumping or "
    "running.",
    "case3": "With too many categories classes are split along features that do not matter; under a shift of meaning "
    "the model struggles to recover the classes.",
}


def find(table: str, data: str, row: str) -> Reported:
    """The paper's numbers; empty ones where it has none."""
    return TABLES.get(table, {}).get(data, {}).get(row, Reported())
