"""Files that a user gives: nothing in them is trusted.

Every one of them is opened here. Only regular files are: a pipe would wait for ever, and a device has no end. What is
read as a whole may be so large and no larger, and what is decoded side by side shares one budget of memory.
"""

from __future__ import annotations

import io
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from novakind.errors import UnreadableError, UserError

MEGABYTE = 2**20
LARGEST = 1024 * MEGABYTE  # of a file that is read as a whole
OTHERS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def status(path: Path) -> os.stat_result:
    """Of a regular file, which a link may lead to; why there is none is an UnreadableError."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    except ValueError:  # a NUL in a name, from a manifest
        raise UnreadableError("No such file or directory") from None
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_a, name in OTHERS if is_a(found.st_mode)), "something else")
        raise UnreadableError(f"{kind}, not a file")
    return found


def is_regular(path: Path) -> bool:
    """Whether it is a file that can be opened without waiting for somebody."""
    try:
        status(path)
    except UnreadableError:
        return False
    return True


def opened(path: Path) -> io.BufferedReader:
    """The file to read from; why it cannot be opened is an UnreadableError."""
    return os.fdopen(number_of(path)[0], "rb")


def at_once(path: Path) -> io.BytesIO | io.BufferedReader:
    """The same, but a small file is read as a whole: faster, where there are very many."""
    number, size = number_of(path)
    if size > MEGABYTE:
        return os.fdopen(number, "rb")
    try:
        return io.BytesIO(os.read(number, size))
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    finally:
        os.close(number)


def number_of(path: Path) -> tuple[int, int]:
    """The number that the system gives to the opened file, and its size."""
    status(path)
    try:
        # Without waiting: it may have become a pipe since.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode):
        os.close(number)
        raise UnreadableError("not a file any more")
    return number, found.st_size


def read_whole(path: Path, most: int = LARGEST) -> bytes:
    """All of a file that is not larger than `most` bytes."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise UnreadableError(f"has more than {most / MEGABYTE:,.0f} MB")
        try:
            content = file.read(min(max(size, MEGABYTE), most) + 1)  # room is made for all that is asked for
        except OSError as error:
            raise UnreadableError(error.strerror or str(error)) from None
    if len(content) > most:
        raise UnreadableError(f"has more than {most / MEGABYTE:,.0f} MB")
    return content


@contextmanager
def to_read(path: Path, wanted: str) -> Iterator[BinaryIO]:
    """The same for a file without which nothing goes on: why it cannot be opened is the user's to mend."""
    try:
        with opened(path) as file:
            yield file
    except UnreadableError as error:
        raise UserError(f"{path} cannot be opened ({error}): give {wanted}") from None


def memory() -> int:
    """Bytes that this machine has; where it does not say, more than any has."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**60


class Budget:
    """Memory for what is decoded side by side: who finds no room waits, and who needs more than all goes alone."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken: Any = [0]
        self.changed: Any = threading.Condition()
        self.mine = threading.local()

    def share(self, changed: Any, taken: Any) -> None:
        """Have it in common with other processes: a condition and one number that all of them know."""
        self.changed, self.taken = changed, taken

    @property
    def used(self) -> int:
        return self.taken[0]

    def room(self, size: int) -> AbstractContextManager[None]:
        """Who has room already gets more at once, for waiting would be for itself; so does who needs next to none."""
        if size < self.total // 1000 or getattr(self.mine, "has", False):
            return nullcontext()
        return self.waited_for(min(max(size, 0), self.total))

    @contextmanager
    def waited_for(self, size: int) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: self.taken[0] + size <= self.total)
            self.taken[0] += size
        try:
            self.mine.has = True
            yield
        finally:
            self.mine.has = False
            with self.changed:
                self.taken[0] -= size
                self.changed.notify_all()


MEMORY = Budget(256 * MEGABYTE)
