"""Rounds: learning again from what was decided, as a command of its own that the page can start and watch."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from novakind.errors import UserError
from novakind.runs.asked import ConflictError
from novakind.runs.folder import Run
from novakind.runs.rounds import decisions_of, next_folder

EPOCH = re.compile(r"epoch (\d+)/(\d+)")


class Rounds:
    """At most one second round of a run at a time."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.process: subprocess.Popen[str] | None = None
        self.state: dict[str, Any] = {"state": "idle", "epoch": 0, "of": 0, "run": None, "error": None}
        self._turn = threading.Lock()

    def start(self) -> dict[str, Any]:
        """Begin the next round in the folder in which the command would write it."""
        with self._turn:
            if self.process is not None and self.process.poll() is None:
                raise ConflictError("a round is on its way already: wait until it has ended")
            data, out = Run(self.run).source().data, next_folder(self.run, decisions_of(self.run))
            command = [sys.executable, "-m", "novakind", "discover", data, "--after", str(self.run), "--out", str(out)]
            try:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
                )
            except OSError as error:
                raise UserError(f"the next round cannot be started ({error.strerror}): start it by hand") from None
            self.state = {"state": "running", "epoch": 0, "of": 0, "run": str(out), "error": None}
            threading.Thread(target=self._follow, args=(self.process,), daemon=True).start()
            return self.state

    def _follow(self, process: subprocess.Popen[str]) -> None:
        said: list[str] = []
        with process:  # which waits for its end, and closes what it says
            for line in process.stdout or ():
                said = [*said[-200:], line.rstrip()]
                found = EPOCH.search(line)
                if found:
                    self.state |= {"epoch": int(found[1]), "of": int(found[2])}
        if process.returncode == 0:
            changed = [line for line in said if line and not EPOCH.search(line)]
            self.state |= {"state": "done", "changed": "\n".join(changed[-60:])}
        else:
            refused = [line for line in said if line.startswith("novakind: ")] or said[-1:]
            self.state |= {"state": "failed", "error": (refused or [""])[-1].removeprefix("novakind: ")}

    def stop(self) -> None:
        """End a round that is on its way; the same command goes on with it."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
