"""What a person sees of long work: a bar with rate and time left on a terminal, one line per epoch elsewhere."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


def notebook_display() -> Any:
    """What shows one line in a cell of a notebook and lets it change; None anywhere else."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if ipython is None or shell is None or not hasattr(shell, "kernel"):
        return None
    return ipython.display.display({"text/plain": ""}, raw=True, display_id=True)


class Reporter:
    """Shows the progress of decoding and training on standard error, or in a notebook as one line that changes."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.cell = None if quiet else notebook_display()
        self.console = Console(stderr=True, highlight=False)
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.working = self.warned = False
        self.begun = time.monotonic()
        self.first = 0

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            self.console.print(text, markup=False, soft_wrap=not self.console.is_terminal)

    def begin(self, what: str, total: int, done: int = 0) -> None:
        """A new piece of work of `total` steps."""
        self.end()
        self.working, self.begun, self.first = True, time.monotonic(), done
        if not self.quiet and self.console.is_terminal:
            details = [TextColumn("{task.fields[note]}")] if self.console.width >= 120 else []
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("left"),
                *details,
                console=self.console,
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task(what, total=total, completed=done, note="")

    def advance(self, done: int, note: str = "") -> None:
        """`done` steps are complete."""
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=done, note=note)

    def end(self) -> None:
        """The piece of work is over."""
        self.working = False
        if self.bar is not None:
            self.bar.stop()
            self.bar = self.task = None

    def decoding(self, done: int, total: int) -> None:
        """Called by the store."""
        self.count("reading files", f"reading {total - done} files", done, total)

    def embedding(self, done: int, total: int) -> None:
        """Called while a frozen encoder looks at the items."""
        self.count("looking at items", f"looking at {total - done} items, which is done once", done, total)

    def count(self, what: str, said: str, done: int, total: int) -> None:
        """Work that tells how much of it is done; where there is no bar, what it is going to do is `said` once."""
        if not self.working and done < total:
            self.begin(what, total, done)
            if self.bar is None:
                self.say(said)
        self.advance(done)
        if done >= total:
            self.end()

    def epoch(self, line: dict, total: int) -> None:
        """Called at the end of each epoch with its line of metrics.jsonl."""
        done = line["epoch"]
        terms = [
            f"{key.removeprefix('loss/')} {value:.3f}"
            for key, value in line.items()
            if key.startswith("loss/") and key != "loss/total"
        ]
        scores = [f"{key} {value:.3f}" for key, value in line.items() if key.endswith("acc/val/agnostic")]
        self.advance(done, "  ".join(terms))
        if "warning" in line and not self.warned and total / 4 <= done < total:  # early on, every run looks collapsed
            self.warned = True
            self.say(f"warning in epoch {done}: {line['warning']}")
        if self.bar is None and not self.quiet:
            spent = time.monotonic() - self.begun
            left = spent / max(1, done - self.first) * (total - done)
            parts = [f"epoch {done}/{total}", *terms, *scores, f"{line['seconds']:.1f} s", f"{left:.0f} s left"]
            self.tell("  ".join(parts))

    def tell(self, text: str) -> None:
        """A line that the next one takes the place of, where that can be."""
        if self.cell is None:
            self.say(text)
        else:
            self.cell.update({"text/plain": text, "text/html": f"<pre>{html.escape(text)}</pre>"}, raw=True)

    def __enter__(self) -> Reporter:
        return self

    def __exit__(self, *details: object) -> None:
        self.end()
        sys.stderr.flush()
