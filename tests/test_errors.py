"""Sentences in the words of the command line, and the same in the words of Python."""

import numpy as np
import pytest

from novakind import Discoverer
from novakind.errors import UserError, as_arguments


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ("give --novel 5 or more", "give n_novel=5 or more"),
        ("a smaller --novel", "a smaller n_novel"),
        ("but --novel asks for 2", "but n_novel asks for 2"),
        ("--epochs -1 is out of range", "epochs=-1 is out of range"),
        ("train longer with --epochs, or", "train longer with epochs, or"),
        ("give --seed 0", "give random_state=0"),
        ("--prior 1/2,1/4,1/4: as", 'prior="1/2,1/4,1/4": as'),
        ("or another --preset", "or another preset"),
        ("(--encoder mlp)", '(encoder="mlp")'),
        ("--optim.lr 0.1, or", 'settings={"optim.lr": 0.1}, or'),
        ("give --optim.lr=1e-05.", 'give settings={"optim.lr": 1e-05}.'),
        ("--tau nan is", 'settings={"tau": nan} is'),
        ("raise --objective.novel-mass to 1", 'raise settings={"objective.novel_mass": ...} to 1'),
        ("--views.mild-from 2 is", 'settings={"views.mild_from": 2} is'),
        ("give --no-flips", 'give settings={"flips": False}'),
        ("but --no-views.flip keeps", 'but settings={"views.flip": False} keeps'),
        ("--flips is for pictures", 'settings={"flips": ...} is for pictures'),
        (
            "--flips 1 is no truth value: give --flips False",
            'settings={"flips": 1} is no truth value: give settings={"flips": False}',
        ),
        ("--head 'x' is", "settings={\"head\": 'x'} is"),
        ("see novakind discover --help-all", "see the fields of novakind.config.Config"),
        ("give --device auto", 'give settings={"device": "auto"}'),
        ("--pair take finds no partner", 'settings={"pair": "take"} finds no partner'),
        ("no option -- here, nor a--bc", "no option -- here, nor a--bc"),
    ],
)
def test_options_as_arguments(options, arguments):
    assert as_arguments(options) == arguments
    assert as_arguments(arguments) == arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_novel": 0}, "n_novel=0 asks for no new category, but at least 1 is needed: give n_novel=1 or more"),
        ({"epochs": -1}, "epochs=-1 is out of range, it must be from 0 to 1,000,000: give a whole number"),
        (
            {"random_state": -3},
            "random_state=-3 is out of range, it must be from 0 to 4,294,967,295: give a whole number",
        ),
        ({"preset": "sensors"}, 'preset="sensors" is not for vectors: choose from auto, default, learnt, paper'),
        (
            {"settings": {"flips": True}},
            'settings={"flips": ...} is no setting: see the fields of novakind.config.Config',
        ),
        (
            {"settings": {"optim.lr": "high"}},
            'settings={"optim.lr": \'high\'} is no number: give settings={"optim.lr": 0.1}',
        ),
    ],
)
def test_discoverer_speaks_of_arguments(arguments, message):
    X, y = np.random.default_rng(0).normal(size=(90, 4)), np.arange(90) % 3 - 1
    with pytest.raises(UserError) as error:
        Discoverer(**arguments).fit(X, y)
    assert str(error.value) == message


def test_warnings_speak_of_arguments():
    X, y = np.random.default_rng(0).normal(size=(90, 4)), np.arange(90) % 3 - 1
    settings = {"batch": 20, "optim.lr": 1e-6, "start": "random"}
    found = Discoverer(2, epochs=1, random_state=0, settings=settings).fit(X, y)
    said = found.warnings_ + [line["warning"] for line in found.history_ if "warning" in line]
    assert any("epochs" in text for text in said)
    assert not any("--" in text for text in said)
