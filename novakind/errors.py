"""The exceptions that novakind raises for what its user can mend, and the same sentences in the words of Python."""

from __future__ import annotations

import re
from functools import partial

OPTION = re.compile(r"(?<![^\s(])--(?P<name>[a-z][a-z0-9_.-]*[a-z0-9])(?:[ =](?P<value>[^\s:;)]*[^\s:;).,]))?")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-?inf|nan|True|False|None")
HELP = ("novakind discover --help-all", "the fields of novakind.config.Config")
OWN = {"novel": "n_novel", "seed": "random_state", "epochs": "epochs", "prior": "prior", "encoder": "encoder"}
OWN |= {"preset": "preset"}
WORDED = ("prior", "encoder", "encoder_weights", "tune", "preset", "device", "method", "pair", "head", "start", "steps")
WORDED += ("optim.name", "mixed")


class UserError(ValueError):
    """One sentence that names the value, the rule and the fix; the command line prints it and exits with 2."""


class LostError(UserError):
    """Another process of the same training has ended: said by every one that is left, as the first may be gone."""


class UnreadableError(Exception):
    """A file that cannot be decoded; the message says why."""


def as_arguments(sentence: str, of_function: bool = False) -> str:
    """The options of the command line in a sentence as the arguments of `Discoverer`, or of the function `discover`.

    --novel 5 becomes n_novel=5, --optim.lr 0.1 settings={"optim.lr": 0.1}, --no-flips settings={"flips": False}. Of the
    function every option is an argument: novel=5, **{"optim.lr": 0.1}, flips=False.
    """
    return OPTION.sub(partial(_as_argument, of_function), sentence.replace(*HELP))


def _as_argument(of_function: bool, found: re.Match[str]) -> str:
    name, value = found["name"].replace("-", "_"), found["value"] or ""
    rest = found[0].removeprefix(f"--{found['name']}")
    if name.startswith("no_"):
        return _spelled(of_function, name.removeprefix("no_"), "False") + rest
    if NUMBER.fullmatch(value) or value[:1] == "'":
        rest = ""
    elif value and (name in WORDED or (name == "novel" and value != "asks")):
        value, rest = f'"{value}"', ""
    else:  # the next word of the sentence
        value = ""
    return _spelled(of_function, name, value) + rest


def _spelled(of_function: bool, name: str, value: str) -> str:
    own = name if of_function and "." not in name else OWN.get(name, "")
    if own:
        return f"{own}={value}" if value else own
    return ('**{"%s": %s}' if of_function else 'settings={"%s": %s}') % (name, value or "...")
