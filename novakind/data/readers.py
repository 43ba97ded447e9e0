"""Files read by several processes, a piece at a time: the pieces come back in their order, and never far ahead."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain
from multiprocessing.connection import wait
from types import ModuleType
from typing import Any, TypeVar

from novakind.given import MEMORY

ALONE = 2.0  # seconds of reading before other processes are asked to help: they take that long to start
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
) -> Generator[Found]:
    """What the work makes of each piece; by so many processes (0: one for each core) where it takes seconds.

    What they decode side by side shares the one budget of memory. Pieces that are `ready` are not sent to them.
    """
    readers = readers or cores()
    alone = readers == 1 or multiprocessing.current_process().daemon  # which may not have any
    begun = time.monotonic()
    for piece in pieces:
        if not alone and time.monotonic() - begun >= ALONE:
            yield from by_processes(work, chain([piece], pieces), readers, ready)
            return
        yield work(piece)


def by_processes(
    work: Callable[[Piece], Found], pieces: Iterator[Piece], readers: int, ready: Callable[[Piece], bool]
) -> Generator[Found]:
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    context.set_forkserver_preload(["novakind.modality"])  # imported once for all of them
    memory = (context.Condition(), context.Array("q", 1, lock=False))
    pool = ProcessPoolExecutor(readers, context, initializer=begin, initargs=memory)
    waiting: deque[Future[Found] | Piece] = deque()

    def finished() -> Found:
        first = waiting.popleft()
        return first.result() if isinstance(first, Future) else work(first)

    try:
        for piece in pieces:
            with unseen_program():
                waiting.append(piece if ready(piece) else pool.submit(work, piece))
            if len(waiting) > AHEAD * readers:
                yield finished()
        while waiting:
            yield finished()
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def unseen_program() -> Iterator[None]:
    """A process that is started imports the program that starts it; a script of a few lines would begin again."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def begin(changed: Any, used: Any) -> None:
    """In a process that reads: Ctrl-C is for the one that asked, and when that one is gone, so is this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    MEMORY.share(changed, used)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
