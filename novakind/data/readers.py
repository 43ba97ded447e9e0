"""Files read by several processes, a piece at a time: the pieces come back in their order, and never far ahead.

Arrays in what comes back are good until the next is asked for: they lie in memory that is used again (slots.py).
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from multiprocessing.connection import wait
from types import ModuleType
from typing import Any, TypeVar

from novakind.data import slots
from novakind.data.slots import Packed, Slots
from novakind.errors import UserError
from novakind.given import MEMORY

ALONE = 2.0  # seconds of reading before other processes are called, and again so many before they are there to help
LONG = 5  # times that: reading of which the first pieces show that it takes longer
AHEAD = 3  # pieces that wait, for each process

Piece = TypeVar("Piece")
Found = TypeVar("Found")


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    work: Callable[[Piece], Found],
    pieces: Iterator[Piece],
    readers: int = 0,
    ready: Callable[[Piece], bool] = lambda piece: False,
    count: int = 1,
) -> Generator[Found]:
    """What the work makes of each piece; by so many processes (0: one for each core) where it takes seconds.

    What they decode side by side shares the one budget of memory. Pieces that are `ready` are not sent to them. Where
    it is known how many pieces there are, the others are called as soon as the first ones show that it takes long.
    """
    readers = readers or cores()
    alone = readers == 1 or multiprocessing.current_process().daemon  # which may not have any
    begun, called = time.monotonic(), False
    try:
        for number, piece in enumerate(pieces):
            spent = time.monotonic() - begun
            if not alone and (spent >= ALONE or (not called and spent * count >= LONG * ALONE * max(1, number))):
                if called:
                    yield from by_processes(work, chain([piece], pieces), readers, ready)
                    return
                call()
                begun, called = time.monotonic(), True
            yield work(piece)
    finally:
        give_back()


def give_back() -> None:
    """Let the C library return what huge files took, which it keeps when it was told to (training/memory.py)."""
    if sys.platform.startswith("linux"):
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def context() -> Any:
    """How other processes are started: by one that has imported once for all of them what they need."""
    found = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    found.set_forkserver_preload(["novakind.modality"])
    return found


def call() -> None:
    """Let that one begin to import, while this process goes on."""
    if context().get_start_method() == "forkserver":
        from multiprocessing import forkserver

        with unseen_program():
            forkserver.ensure_running()


def by_processes(
    work: Callable[[Piece], Found], pieces: Iterator[Piece], readers: int, ready: Callable[[Piece], bool]
) -> Generator[Found]:
    processes = context()
    memory = (processes.Condition(), processes.Array("q", 1, lock=False))
    room = slots.made(AHEAD * readers + 2)  # for what waits, what is looked at and what comes next
    pool = ProcessPoolExecutor(readers, processes, initializer=begin, initargs=(*memory, room))
    waiting: deque[Future[Any] | Piece] = deque()

    def finished() -> Found:
        first = waiting.popleft()
        found: Any = first.result() if isinstance(first, Future) else work(first)
        return found.found(room) if room and isinstance(found, Packed) else found

    try:
        for number, piece in enumerate(pieces):
            with unseen_program():
                waiting.append(piece if ready(piece) else pool.submit(packed, work, piece, number))
            if len(waiting) > AHEAD * readers:
                yield finished()
        while waiting:
            yield finished()
    except BrokenProcessPool:
        raise UserError(
            "a process that reads files was ended by the system, perhaps for want of memory: give the same command "
            "again, with fewer large files side by side"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)
        if room:
            room.close()


@contextmanager
def unseen_program() -> Iterator[None]:
    """A process that is started imports the program that starts it; a script of a few lines would begin again."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


ROOM: list[Slots | None] = [None]  # of a process that reads


def packed(work: Callable[[Piece], Any], piece: Piece, slot: int) -> Any:
    """The work, in a process that reads."""
    room = ROOM[0]
    return Packed(room, slot, work(piece)) if room else work(piece)


def begin(changed: Any, used: Any, room: Slots | None) -> None:
    """In a process that reads: Ctrl-C is for the one that asked, and when that one is gone, so is this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    MEMORY.share(changed, used)
    ROOM[0] = room
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
