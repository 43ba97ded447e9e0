"""edits.jsonl: what a person decided, one line a decision, appended by any number of processes and never rewritten."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from novakind.disk import UnwritableError, append, cut, locked, sync_folder, write_atomic
from novakind.errors import UnreadableError, UserError
from novakind.given import opened
from novakind.runs.folder import EDITS
from novakind.structure import misfit_table

Edit = dict[str, Any]

WRITTEN, ALSO = {"seq": int, "verb": str}, {"id": str, "time": str}  # of every line, whatever its verb says beside it
LOCK = ".edits.lock"


class EditLog:
    """The lines of one run, read as they come; a line is on disk before anybody is told that it is saved."""

    def __init__(self, run: Path) -> None:
        self.path = run / EDITS
        self.torn: list[Path] = []  # where beginnings of lines were set aside that nobody was told to be saved
        self._read = 0  # bytes
        self._lines = 0
        self._is_alone = False
        self._file = 0  # its number on the disk: another one is another history

    def new(self) -> list[Edit]:
        """The decisions that were written since the last call, by any process."""
        data = self._rest()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data) and self._set_aside():
            return self.new()
        edits = [self._parsed(line, number) for number, line in enumerate(whole.split(b"\n")[:-1], self._lines + 1)]
        self._lines += len(edits)
        self._read += len(whole)
        return edits

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from writing, between looking at what there is and writing what follows from it."""
        if self._is_alone:  # the lock of a second file would wait for the first
            yield
            return
        with locked(self.path.parent, wait=True, name=LOCK):
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def append(self, edit: Edit) -> None:
        """Write one decision; it is safe when this returns. Only within `alone`, with all earlier ones read."""
        line = f"{json.dumps(edit, separators=(',', ':'), allow_nan=False)}\n".encode()
        append(self.path, line)
        if not self._file:
            sync_folder(self.path.parent)
            self._file = os.stat(self.path).st_ino
        self._read += len(line)
        self._lines += 1

    def _rest(self) -> bytes:
        """What there is beyond what was read."""
        try:
            with opened(self.path) as file:
                facts = os.fstat(file.fileno())
                if self._file not in (0, facts.st_ino) or facts.st_size < self._read:
                    raise UserError(self._replaced())
                self._file = facts.st_ino
                file.seek(self._read)
                return file.read()
        except UnreadableError as error:
            if os.path.lexists(self.path):  # a pipe, or what is not for this user
                raise UserError(f"{self.path} cannot be read ({error}): move it away, or make it readable") from None
            if self._read:
                raise UserError(self._replaced()) from None
            return b""

    def _replaced(self) -> str:
        return f"{self.path} is no longer the file that was read, as when a run is begun anew: open the run again"

    def _parsed(self, line: bytes, number: int) -> Edit:
        try:
            edit = json.loads(line)
        except (ValueError, RecursionError):
            raise self.damaged(number, "it is no JSON") from None
        wrong = misfit_table(edit, WRITTEN, ALSO) or (f"its seq is {edit['seq']}" if edit["seq"] != number else "")
        if wrong:
            raise self.damaged(number, wrong)
        return edit

    def damaged(self, number: int, reason: str) -> UserError:
        """That a line cannot be what novakind wrote."""
        return UserError(
            f"line {number} of {self.path} is damaged, {reason}: put a copy of the file back, or mend that line"
        )

    def _set_aside(self) -> bool:
        """Take away the beginning of a line whose writer died, and keep it in a file; whether the log has changed.

        A writer that lives holds the lock, so whoever has it finds whole lines or the remains of a dead one.
        """
        try:
            with self.alone():
                data = self._rest()
                whole = data.rfind(b"\n") + 1
                if whole == len(data):
                    return True
                names = (self.path.with_name(f"edits-torn-{number}.txt") for number in itertools.count(1))
                place = next(name for name in names if not name.exists())
                write_atomic(place, data[whole:])
                cut(self.path, self._read + whole)
                self.torn.append(place)
                return True
        except UnwritableError:  # a folder that one may only read keeps it, and it is not read
            return False

    def remark(self) -> str:
        """A sentence on what was set aside; "" for nothing."""
        if not self.torn:
            return ""
        return (
            f"the last line of {self.path.name} was cut off while it was written, before it was called saved; "
            f"what there is of it is now in {self.torn[-1].name}"
        )
