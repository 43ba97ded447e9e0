"""Files read by several processes, a piece at a time: the pieces come back in their order, and never far ahead."""

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
from contextlib import contextmanager
from itertools import chain
from multiprocessing.connection import wait
from types import ModuleType
from typing import Any, TypeVar

from novakind.given import MEMORY

ALONE = 2.0  # seconds of reading before other processes are called, and again so many before they are there to help
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
    begun, called = time.monotonic(), False
    try:
        for piece in pieces:
            if not alone and time.monotonic() - begun >= ALONE:
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
    pool = ProcessPoolExecutor(readers, processes, initializer=begin, initargs=memory)
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
