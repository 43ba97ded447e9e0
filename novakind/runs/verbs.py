"""The verbs of a review: what each edit needs, when it is refused, and what it changes. Nothing here writes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from novakind.errors import UserError
from novakind.runs.asked import (
    ConflictError,
    as_items,
    as_list,
    as_name,
    assign,
    begin,
    check_of,
    count,
    fresh,
    living,
    same_name,
    some_items,
)
from novakind.runs.edits import Edit
from novakind.runs.reviewed import CONFIRMED, IGNORED, LABELED, SUGGESTED, Change, Items, Plan, Reviewed

NextBest = Callable[[Items, int], list[int]]


def plan(state: Reviewed, edit: Edit, next_best: NextBest | None = None) -> Plan:
    """What the edit does to this state; a `UserError` where it cannot be. `next_best` finds where rejected items go."""
    verb = edit.get("verb")
    if not isinstance(verb, str) or verb not in VERBS:
        raise UserError(f"{verb!r:.50} is no verb: choose from {', '.join(VERBS)}")
    takes = FIELDS[verb]
    unknown = set(edit) - {"seq", "id", "time", "verb"} - set(takes)
    if unknown:
        raise UserError(f"{verb} has no {min(unknown):.50}: it takes {', '.join(takes) or 'nothing more'}")
    if verb == "reject":
        return reject(state, edit, next_best)
    return VERBS[verb](state, edit)


def rename(state: Reviewed, edit: Edit) -> Plan:
    number = living(state, edit.get("category"))
    given = as_name(edit.get("name"))
    name = given or state.originals[number]
    twin = same_name(state, name, number)
    if twin is not None:
        raise ConflictError(
            f"category {twin} is called {name} already: give another name, or merge the two", same_as=twin
        )
    changes = (Change("names", number, name), Change("named", number, bool(given)))
    text = f"name {state.names[number]} “{name}”" if given else f"take the name {state.names[number]} back"
    return Plan(edit | {"name": given}, changes, (number,), text)


def merge(state: Reviewed, edit: Edit) -> Plan:
    into = living(state, edit.get("into"))
    others = [living(state, one) for one in as_list(edit.get("categories"), "categories")]
    others = list(dict.fromkeys(others))
    if into in others:
        raise UserError(f"category {into} cannot be merged into itself: leave it out of categories")
    settled = [one for one in others if state.is_settled(one)]
    if settled and not state.is_settled(into):
        raise ConflictError(
            f"{state.names[settled[0]]} has a name and {state.names[into]} has none, so the name would be lost: "
            f"merge into category {settled[0]}",
            into=settled[0],
        )
    changes = [Change(name, one, value) for one in others for name, value in (("into", into), ("alive", False))]
    names = ", ".join(state.names[one] for one in others)
    return Plan(
        edit | {"categories": others}, tuple(changes), (into, *others), f"merge {names} into {state.names[into]}"
    )


def different(state: Reviewed, edit: Edit) -> Plan:
    pair = [living(state, one) for one in as_list(edit.get("categories"), "categories")]
    if len(pair) != 2 or pair[0] == pair[1]:
        raise UserError(f"{len(pair)} categories are given, but two are different from each other: give two")
    text = f"call {state.names[pair[0]]} and {state.names[pair[1]]} different"
    return Plan(edit, (Change("different", (min(pair), max(pair)), True),), tuple(pair), text)


def split(state: Reviewed, edit: Edit) -> Plan:
    number = living(state, edit.get("category"))
    given = as_list(edit.get("parts"), "parts")
    if len(given) < 2:
        raise UserError(f"{len(given)} part is given, but a split needs two at least: give lists of items")
    parts = [as_items(state, part) for part in given]
    every = np.concatenate(parts)
    if len(np.unique(every)) < len(every):
        raise UserError("an item is in two parts, but each goes to one: give each once")
    elsewhere = every[(state.category_of(every) != number) | (state.status[every] == IGNORED)]
    if len(elsewhere):
        raise ConflictError(
            f"item {elsewhere[0]} is not in {state.names[number]}, so it cannot be split off: look at the parts again"
        )
    new = [made for made in parts[1:] if len(made)]
    ids, names = fresh(state, edit, len(new))
    changes, voice = [], int(state.voices[number])
    for part, one, name in zip(new, ids, names, strict=True):
        changes += begin(one, name, named=False, speaks=voice)
        changes += assign(part, one, np.where(state.status[part] == LABELED, CONFIRMED, state.status[part]))
    full = edit | {"parts": [part.tolist() for part in parts], "ids": ids, "names": names}
    return Plan(full, tuple(changes), (number, *ids), f"split {state.names[number]} into {len(parts)}")


def move(state: Reviewed, edit: Edit) -> Plan:
    to, items = living(state, edit.get("to")), some_items(state, edit)
    touched = {to, *state.category_of(items).tolist()}
    changes = [*assign(items, to, CONFIRMED), *(Change("rejected", (item, to), False) for item in items.tolist())]
    return Plan(
        edit | {"items": items.tolist()}, tuple(changes), tuple(touched), f"move {count(items)} to {state.names[to]}"
    )


def create(state: Reviewed, edit: Edit) -> Plan:
    items, given = some_items(state, edit), as_name(edit.get("name", ""))
    twin = same_name(state, given) if given else None
    if twin is not None:
        raise ConflictError(
            f"category {twin} is called {given} already: give another name, or move the items there", same_as=twin
        )
    ids, names = fresh(state, edit, 1)
    changes = [*begin(ids[0], names[0], bool(given), -1), *assign(items, ids[0], CONFIRMED)]
    if given:
        changes.append(Change("names", ids[0], given))
    touched = (*dict.fromkeys(state.category_of(items).tolist()), ids[0])
    full = edit | {"items": items.tolist(), "name": given, "ids": ids, "names": names}
    return Plan(full, tuple(changes), touched, f"make {given or names[0]} of {count(items)}")


def confirm(state: Reviewed, edit: Edit) -> Plan:
    if ("items" in edit) == ("category" in edit):
        raise UserError("confirm needs either items or a category: give one of the two")
    if "category" in edit:
        number = living(state, edit["category"])
        members = state.members(number)
        items, what = members[state.status[members] == SUGGESTED], f"all of {state.names[number]}"
        touched, full = (number,), edit
    else:
        items = some_items(state, edit)
        ignored = items[state.status[items] == IGNORED]
        if len(ignored):
            raise ConflictError(f"item {ignored[0]} is ignored, so there is nothing to confirm: move it to a category")
        touched, full = tuple(dict.fromkeys(state.category_of(items).tolist())), edit | {"items": items.tolist()}
        what = count(items)  # a label that the model disbelieves, too: it is not asked about again
    return Plan(full, (Change("status", items, CONFIRMED),), touched, f"confirm {what}")


def ignore(state: Reviewed, edit: Edit) -> Plan:
    items = some_items(state, edit)
    touched = tuple(dict.fromkeys(state.category_of(items).tolist()))
    return Plan(
        edit | {"items": items.tolist()}, (Change("status", items, IGNORED),), touched, f"ignore {count(items)}"
    )


def reject(state: Reviewed, edit: Edit, next_best: NextBest | None = None) -> Plan:
    number, items = living(state, edit.get("category")), some_items(state, edit)
    elsewhere = items[(state.category_of(items) != number) | (state.status[items] == IGNORED)]
    if len(elsewhere):
        raise ConflictError(f"item {elsewhere[0]} is not in {state.names[number]}: look where it is now")
    if "to" not in edit and next_best is not None:
        edit = edit | {"to": next_best(items, number)}
    to = [living(state, one) for one in as_list(edit.get("to"), "to")]
    if len(to) != len(items) or number in to:
        raise UserError(f"{len(items)} items are rejected, and each goes to another category: leave `to` out")
    changes = [
        *assign(items, np.array(to), SUGGESTED),
        *(Change("rejected", (item, number), True) for item in items.tolist()),
    ]
    full = edit | {"items": items.tolist(), "to": to}
    return Plan(full, tuple(changes), (number, *dict.fromkeys(to)), f"keep {count(items)} out of {state.names[number]}")


def undo(state: Reviewed, edit: Edit) -> Plan:
    if not state.done:
        raise ConflictError("there is nothing to undo")
    seq, last, _ = state.done[-1]
    check_of(edit, seq, "undo")
    return Plan(edit | {"of": seq}, (), last.touched, f"undo: {last.text}")


def redo(state: Reviewed, edit: Edit) -> Plan:
    if not state.undone:
        raise ConflictError("there is nothing to redo")
    seq, last = state.undone[-1]
    check_of(edit, seq, "redo")
    return Plan(edit | {"of": seq}, (), last.touched, f"redo: {last.text}")


VERBS: dict[str, Callable[[Reviewed, Edit], Plan]] = {
    "rename": rename,
    "merge": merge,
    "split": split,
    "move": move,
    "create": create,
    "confirm": confirm,
    "ignore": ignore,
    "reject": reject,
    "different": different,
    "undo": undo,
    "redo": redo,
}
FIELDS = {
    "rename": ("category", "name"),
    "merge": ("into", "categories"),
    "split": ("category", "parts", "ids", "names"),
    "move": ("items", "to"),
    "create": ("items", "name", "ids", "names"),
    "confirm": ("items", "category"),
    "ignore": ("items",),
    "reject": ("items", "category", "to"),
    "different": ("categories",),
    "undo": ("of",),
    "redo": ("of",),
}
COMPUTED = {"split": ("ids", "names"), "create": ("ids", "names"), "reject": ("to",)}  # what nobody sends
