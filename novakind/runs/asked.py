"""What an edit asks for, checked against the state: categories that live, items that exist, names that can be."""

from __future__ import annotations

import itertools
import unicodedata
from typing import Any

import numpy as np

from novakind.errors import UserError
from novakind.runs.edits import Edit
from novakind.runs.reviewed import Change, Items, Reviewed

LONGEST = 200  # signs of a name
RESERVED = ("unlabeled", "-1")  # what a next round takes for no label


class ConflictError(UserError):
    """An edit that could be, but not in the state that the review is in now; `facts` say what stands against it."""

    def __init__(self, sentence: str, **facts: Any) -> None:
        super().__init__(sentence)
        self.facts = facts


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def living(state: Reviewed, number: Any) -> int:
    """The id of a category that is there."""
    if not is_whole(number):
        raise UserError(f"{number!r:.50} is no category: give its number, from 0 to {len(state.names) - 1}")
    if not 0 <= number < len(state.names):
        raise UserError(f"there is no category {number:.30g}: give a number from 0 to {len(state.names) - 1}")
    if state.alive[number]:
        return number
    root = int(state.roots[number])
    if root == number:
        raise ConflictError(f"category {number} was taken back by an undo: choose another")
    raise ConflictError(
        f"{state.names[number]} was merged into {state.names[root]}: give category {root}", merged_into=root
    )


def as_list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise UserError(f"{what} = {value!r:.50} is no list with something in it: give a list")
    return value


def as_items(state: Reviewed, value: Any) -> Items:
    """Numbers of items, each once."""
    if not isinstance(value, list) or not all(map(is_whole, value)):
        raise UserError(f"{value!r:.50} is no list of items: give their numbers")
    wrong = next((item for item in value if not 0 <= item < len(state.raw)), None)
    if wrong is not None:
        raise UserError(f"there is no item {wrong:.30g}: give numbers from 0 to {len(state.raw) - 1}")
    return np.array(list(dict.fromkeys(value)), dtype=np.int64)


def some_items(state: Reviewed, edit: Edit) -> Items:
    return as_items(state, as_list(edit.get("items"), "items"))


def as_name(value: Any) -> str:
    """A name without odd signs and spaces around it; "" takes a name back."""
    if not isinstance(value, str):
        raise UserError(f"{value!r:.50} is no name: give a text")
    name = unicodedata.normalize("NFC", value).strip()
    if len(name) > LONGEST:
        raise UserError(f"the name has {len(name)} signs, but {LONGEST} are the most: give a shorter one")
    odd = next((sign for sign in name if unicodedata.category(sign)[0] == "C" and sign not in "\u200c\u200d"), None)
    if odd is not None:
        raise UserError(f"the name holds the sign U+{ord(odd):04X}, which cannot be seen: leave it out")
    if name.casefold() in RESERVED:
        raise UserError(f"{name} stands for items without a label: give another name")
    return name


def same_name(state: Reviewed, name: str, besides: int = -1) -> int | None:
    """The living category that is called so."""
    places = (number for number, other in enumerate(state.names) if other == name and state.alive[number])
    return next((number for number in places if number != besides), None)


def fresh(state: Reviewed, edit: Edit, count: int) -> tuple[list[int], list[str]]:
    """Ids that were never used, and names "new-N" that nobody has; as written, where the edit comes from the log."""
    first = len(state.names)
    ids = list(range(first, first + count))
    if edit.get("ids", ids) != ids:
        raise UserError(f"ids {edit['ids']!r:.50} are not the next ones: leave them out")
    taken = {*state.names, *state.originals}
    names = list(itertools.islice((n for i in itertools.count(1) if (n := f"new-{i}") not in taken), count))
    given = edit.get("names", names)
    if not isinstance(given, list) or len(given) != count or not all(map(as_name, given)):
        raise UserError(f"names {given!r:.50} are not those of {count} categories: leave them out")
    return ids, given


def begin(number: int, name: str, named: bool, speaks: int) -> list[Change]:
    """A category comes to life."""
    entries = {"names": name, "originals": name, "named": named, "alive": True, "into": number, "speaks": speaks}
    return [Change(field, number, value) for field, value in entries.items()]


def assign(items: Items, to: Any, status: Any) -> list[Change]:
    return [Change("raw", items, to), Change("status", items, status)]


def count(items: Items) -> str:
    return f"{len(items)} item{'' if len(items) == 1 else 's'}"


def check_of(edit: Edit, seq: int, verb: str) -> None:
    """An undo that names another edit than the last one is about something that is no longer so."""
    if edit.get("of", seq) != seq:
        raise ConflictError(f"edit {edit['of']!r:.30} is not the one to {verb}, that is {seq}: look again", of=seq)
