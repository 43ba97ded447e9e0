"""Reviewed: the categories of a run as a person left them, by replaying decisions over the immutable result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int, UInt8

from novakind.runs.carried import Carried
from novakind.runs.edits import Edit

STATUS = ("labeled", "confirmed", "suggested", "ignored")
LABELED, CONFIRMED, SUGGESTED, IGNORED = range(4)

Items = Int[np.ndarray, " some"]
PerItem = Int[np.ndarray, " items"]
PerCategory = Int[np.ndarray, " categories"]
PerOutput = Int[np.ndarray, " outputs"]


@dataclass(frozen=True)
class Change:
    """One thing that an edit sets: `field` of the state at `key` becomes `value`. Of a set: `key` is in it or not."""

    field: str
    key: Any
    value: Any


@dataclass(frozen=True)
class Plan:
    """What an edit will do, found out before anything is written or changed."""

    edit: Edit  # as it is written, with what was computed
    changes: tuple[Change, ...]
    touched: tuple[int, ...]  # categories that gain, lose or change
    text: str  # what was done, for "undo ..."


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What was decided up to one version; `category` is that of every item, of labeled ones too."""

    version: int
    category: PerItem
    status: UInt8[np.ndarray, " items"]
    named: tuple[bool, ...]  # by a person
    alive: tuple[bool, ...]
    into: tuple[int | None, ...]  # the living category that one was merged into
    rejected: frozenset[tuple[int, int]]  # (item, category)
    different: frozenset[tuple[int, int]]  # pairs of living categories


@dataclass
class Reviewed:
    """Where every item is now, what each category is called, and what stands to be undone.

    `raw` is the category that an item was last given, which may have been merged into another since: `category` follows
    `into` to the living one. Ids never change and are never used again: those beyond the K outputs are categories that
    a person made, and one whose making was undone stays as a dead entry.
    """

    raw: PerItem
    status: UInt8[np.ndarray, " items"]
    names: list[str]
    known: int
    outputs: int
    originals: list[str] = field(default_factory=list)
    named: list[bool] = field(default_factory=list)  # by a person
    into: list[int] = field(default_factory=list)  # itself, or the category that it was merged into
    alive: list[bool] = field(default_factory=list)
    speaks: list[int] = field(default_factory=list)  # the output of the model that tells its items, -1 for none
    rejected: set[tuple[int, int]] = field(default_factory=set)  # (item, category): "not this"
    different: set[tuple[int, int]] = field(default_factory=set)  # pairs that are never suggested to be merged
    version: int = 0
    done: list[tuple[int, Plan, tuple[Change, ...]]] = field(default_factory=list)  # with what takes it back
    undone: list[tuple[int, Plan]] = field(default_factory=list)
    clients: list[str] = field(default_factory=lambda: [""])  # who made each edit, by seq
    ids: dict[str, int] = field(default_factory=dict)  # of edits, to their seq
    edits: list[Edit] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.names)
        self.originals, self.named, self.alive = list(self.names), [False] * count, [True] * count
        self.into, self.speaks = list(range(count)), list(range(count))
        self.touched = np.zeros(len(self.raw), dtype=np.int64)  # the seq of the edit that last touched an item
        self.changed = [0] * count  # and a category
        self._roots: PerCategory | None = None

    @staticmethod
    def of(
        category: PerItem,
        labels: tuple[str, ...],
        names: tuple[str, ...],
        known: int,
        outputs: int | None = None,
        carried: Carried | None = None,
    ) -> Reviewed:
        """The state before any edit: labeled items are in the class of their label, and what was decided in earlier
        rounds is so."""
        numbers = {name: number for number, name in enumerate(names if carried else names[:known])}
        raw = np.array(category, dtype=np.int64)
        status = np.full(len(raw), SUGGESTED, dtype=np.uint8)
        for item, label in enumerate(labels):
            if label:
                raw[item], status[item] = numbers.get(label, int(raw[item])), LABELED
        state = Reviewed(raw, status, list(names), known, len(names) if outputs is None else outputs)
        if carried:
            status[list(carried.confirmed)] = CONFIRMED
            state.named = list(carried.named)
            state.alive = [to == number for number, to in enumerate(carried.into)]
            state.into = [number if to < 0 else to for number, to in enumerate(carried.into)]
            state.rejected, state.different = set(carried.rejected), set(carried.different)
        return state

    @property
    def roots(self) -> PerCategory:
        """The living category of each id."""
        if self._roots is None:
            roots = np.arange(len(self.names))
            for number in range(len(roots)):
                while self.into[roots[number]] != roots[number]:
                    roots[number] = self.into[roots[number]]
            self._roots = roots
        return self._roots

    @property
    def category(self) -> PerItem:
        """The living category of each item; of an ignored one, that it was taken from."""
        return self.roots[self.raw]

    def category_of(self, items: Items) -> Items:
        """The living category of some items."""
        return self.roots[self.raw[items]]

    def members(self, category: int) -> Items:
        """The items of a living category, without those that are ignored."""
        return np.flatnonzero((self.category == category) & (self.status != IGNORED))

    def is_settled(self, category: int) -> bool:
        """Whether a category has a name that means something: of a known class, or given by a person."""
        return category < self.known or self.named[category]

    @property
    def voices(self) -> PerCategory:
        """For each category an output of the model that speaks for its items; -1 where a person chose all of them."""
        voices = np.array(self.speaks)
        for number, root in enumerate(self.roots):
            if voices[root] < 0:
                voices[root] = self.speaks[number]
        return voices

    def groups(self) -> PerOutput:
        """The number of the group of each output: outputs that speak for one category have the same one."""
        voices, group = self.voices, np.arange(self.outputs)
        for number, root in enumerate(self.roots):
            one, other = self.speaks[number], voices[root]
            if one >= 0 and group[one] != group[other]:
                group[group == group[one]] = group[other]
        return np.unique(group, return_inverse=True)[1]

    def pairs_apart(self) -> set[tuple[int, int]]:
        """Pairs of living categories that a person called different."""
        roots = self.roots
        both = {tuple(sorted((int(roots[one]), int(roots[other])))) for one, other in self.different}
        return {(one, other) for one, other in both if one != other}

    def snapshot(self) -> Snapshot:
        """The state as it is now."""
        roots = tuple(self.roots.tolist())
        return Snapshot(
            self.version,
            self.category,
            self.status.copy(),
            tuple(self.named),
            tuple(self.alive),
            tuple(None if one == number else one for number, one in enumerate(roots)),
            frozenset(self.rejected),
            frozenset(self.pairs_apart()),
        )

    def commit(self, plan: Plan, client: str = "") -> None:
        """Make it so, as the next version."""
        edit, seq = plan.edit, self.version + 1
        verb = edit["verb"]
        if verb == "undo":
            of, taken, back = self.done.pop()
            self._set(back, seq)
            self.undone.append((of, taken))
        elif verb == "redo":
            of, again = self.undone.pop()
            self.done.append((of, again, self._set(again.changes, seq)))
        else:
            self.done.append((seq, plan, self._set(plan.changes, seq)))
            self.undone.clear()
        self.version = seq
        self.clients.append(client)
        self.edits.append(edit)
        if edit.get("id"):
            self.ids[edit["id"]] = seq

    def _set(self, changes: tuple[Change, ...], seq: int) -> tuple[Change, ...]:
        """Carry changes out; those that take them back, in the order to do so."""
        back = []
        for one in changes:
            target = getattr(self, one.field)
            if isinstance(target, set):
                back.append(Change(one.field, one.key, one.key in target))
                (target.add if one.value else target.discard)(one.key)
            elif isinstance(target, list):
                self._extend(one.key + 1)
                back.append(Change(one.field, one.key, target[one.key]))
                target[one.key] = one.value
                self.changed[one.key] = seq
                self._roots = None
            else:
                back.append(Change(one.field, one.key, target[one.key].copy()))
                target[one.key] = one.value
                self.touched[one.key] = seq
        return tuple(reversed(back))

    def _extend(self, count: int) -> None:
        """Room for categories up to this id, dead until an edit says otherwise."""
        while len(self.names) < count:
            self.into.append(len(self.names))
            self.names.append("")
            self.originals.append("")
            self.named.append(False)
            self.alive.append(False)
            self.speaks.append(-1)
            self.changed.append(0)
