"""The terminal: whatever it can show, no name and no full disk behind it ends a command with a traceback."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

from novakind.disk import FIXES
from novakind.errors import UserError

SHOWN = 200  # signs of a path


def prepare() -> None:
    """Signs that a terminal cannot show are written as \\x.., never an error: a class may be called by an emoji, and a
    folder by bytes that are no text. An output that was closed goes nowhere, and not into the next file."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def check_names() -> None:
    """Names that are read as ASCII, as an old locale may ask, would not be those that are written and read back."""
    if sys.getfilesystemencoding() == "ascii":
        raise UserError("names of files are read as ASCII here, but they may be anything: set PYTHONUTF8=1")


def silence() -> None:
    """Nobody reads on: what is still to be written goes nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: OSError | MemoryError) -> str:
    """What the machine refused, for what is not known to be a file of a run."""
    if isinstance(error, MemoryError):
        return "the memory of this machine is not enough: give a smaller --batch or --size, or fewer items"
    place = str(error.filename or "the output")
    place = f"{place[:SHOWN]}..." if len(place) > SHOWN else place
    fix = FIXES.get(error.errno or 0, "make it readable and writable, or give another place")
    return f"{place} cannot be used ({error.strerror or error}): {fix}"
