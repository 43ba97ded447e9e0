"""Review: the log and the state of one run together; what a person decides goes through here, from page or script."""

from __future__ import annotations

import hashlib
import threading
import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from novakind.errors import UnreadableError, UserError
from novakind.given import read_whole
from novakind.runs.asked import ConflictError
from novakind.runs.carried import Carried
from novakind.runs.edits import Edit, EditLog
from novakind.runs.reviewed import IGNORED, SUGGESTED, Items, PerItem, Plan, Reviewed
from novakind.runs.standing import next_best
from novakind.runs.verbs import COMPUTED, plan

IDS = 100  # signs of an edit's id


@dataclass(frozen=True)
class Saved:
    """An edit that is on disk."""

    version: int
    edit: Edit
    touched: tuple[int, ...]


class Review:
    """All edits of a run, those of other processes too; without a run they are kept in memory alone."""

    def __init__(
        self,
        category: PerItem,
        labels: tuple[str, ...],
        names: tuple[str, ...],
        known: int,
        logp: Float[np.ndarray, "items outputs"],
        embedding: Float[np.ndarray, "items dims"],
        run: Path | None = None,
        carried: Carried | None = None,
    ) -> None:
        self.result, self.logp, self.embedding = category, logp, embedding
        self.state = Reviewed.of(category, labels, names, known, carried=carried)
        self.log = EditLog(run) if run else None
        self._stamp = stamp(run) if run else None
        self._turn = threading.RLock()
        self.sync()

    def sync(self) -> list[tuple[Edit, tuple[int, ...]]]:
        """Take in what others have written: the new edits, and the categories that each touched."""
        if self.log is None:
            return []
        with self._turn:
            found = []
            for edit in self.log.new():
                try:
                    step = plan(self.state, {key: value for key, value in edit.items() if key != "base"})
                except UserError as error:
                    raise self.log.damaged(edit["seq"], str(error).split(":")[0]) from None
                self.state.commit(step, client_of(edit))
                found.append((edit, step.touched))
            return found

    def do(self, edit: Edit, base: int | None = None) -> Saved:
        """Check an edit, write it, and take it in; when this returns it is safe. The same id twice is one edit.

        `base` is the version that whoever decided had seen: an edit of something that somebody else changed since is
        refused, as it was decided about something else.
        """
        with self._turn:
            if self.log is None:
                return self._done(edit, base)
            with self.log.alone():
                if self._stamp != stamp(self.log.path.parent):
                    raise ConflictError("the run was trained again since, so nothing was saved: open it anew")
                self.sync()
                return self._done(edit, base)

    def _done(self, edit: Edit, base: int | None) -> Saved:
        state, verb = self.state, edit.get("verb")
        name = edit.get("id") or uuid.uuid4().hex
        if not isinstance(name, str) or len(name) > IDS:
            raise UserError(f"id = {name!r:.50} is no id: give a text of at most {IDS} signs")
        if name in state.ids:
            seq = state.ids[name]
            return Saved(state.version, state.edits[seq - 1], ())
        if base is not None and not 0 <= base <= state.version:
            raise UserError(f"base = {base} is no version of this review: give one from 0 to {state.version}")
        sent = next((key for key in COMPUTED.get(str(verb), ()) if key in edit), None)
        if sent or {"seq", "time"} & set(edit):
            raise UserError(f"{sent or 'seq'} is found out when an edit is written: leave it out")
        step = plan(
            state,
            {key: value for key, value in edit.items() if key != "id"},
            partial(next_best, state, self.logp, self.embedding),
        )
        if base is not None:
            self._check_unchanged(step, base, client_of({"id": name}))
        facts = {"seq": state.version + 1, "id": name, "time": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        written = facts | step.edit
        if self.log is not None:
            self.log.append(written)
        state.commit(Plan(written, step.changes, step.touched, step.text), client_of(written))
        return Saved(state.version, written, step.touched)

    def _check_unchanged(self, step: Plan, base: int, client: str) -> None:
        """Refuse an edit of what another client has changed after `base`."""
        state, edit = self.state, step.edit
        if edit["verb"] in ("undo", "redo"):
            if edit["of"] > base and state.clients[edit["of"]] != client:
                raise ConflictError(
                    f"somebody else has changed something since ({step.text}): look again", conflict=True
                )
            return
        items: Items = np.concatenate([*map(np.asarray, edit.get("parts", [])), edit.get("items", [])]).astype(np.int64)
        categories = [edit[key] for key in ("category", "into") if key in edit] + edit.get("categories", [])
        if edit["verb"] == "confirm" and "category" in edit:
            members = state.members(edit["category"])
            items = members[state.status[members] == SUGGESTED]
        for seq in np.unique(state.touched[items]).tolist():
            if seq > base and state.clients[seq] != client:
                item = int(items[state.touched[items] == seq][0])
                where = "ignored it" if state.status[item] == IGNORED else f"{state.names[state.category[item]]} has it"
                raise ConflictError(
                    f"somebody else has decided about item {item} since ({where}): look again", conflict=True
                )
        for number in categories:
            if state.changed[number] > base and state.clients[state.changed[number]] != client:
                raise ConflictError(
                    f"somebody else has changed category {number} since, now {state.names[number]}: look again",
                    conflict=True,
                )

    def undo_text(self) -> str | None:
        return self.state.done[-1][1].text if self.state.done else None

    def redo_text(self) -> str | None:
        return self.state.undone[-1][1].text if self.state.undone else None

    def left(self) -> int:
        """Items that nobody has decided about."""
        return int((self.state.status == SUGGESTED).sum())


def client_of(edit: dict[str, Any]) -> str:
    """Who made an edit, where its id is "client-number"; any other id is a client of its own."""
    name = str(edit.get("id", ""))
    return name.rpartition("-")[0] or name


def stamp(run: Path) -> bytes | None:
    """Changes when a run is trained anew, and is None while it is not finished."""
    try:
        return hashlib.sha256(read_whole(run / "results.json")).digest()
    except UnreadableError:
        return None
