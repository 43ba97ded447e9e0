"""What comes next, made by a thread while the network works."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

import torch

from novakind.data.readers import cores

Made = TypeVar("Made")


def ahead(made: Iterator[Made], device: torch.device) -> Iterator[Made]:
    """The same in the same order, each one made while the one before is used by a network on this device.

    Whatever makes them must draw its randomness from a generator of its own: then nothing depends on the moment. Where
    the network itself has a thread on every core, one more would only be in its way.
    """
    return by_thread(made) if device.type != "cpu" or torch.get_num_threads() < cores() else made


def by_thread(made: Iterator[Made]) -> Generator[Made]:
    """What is raised there is raised here."""
    box: queue.Queue[tuple[bool, Any]] = queue.Queue(1)
    over = threading.Event()

    def work() -> None:
        try:
            for each in made:
                box.put((True, each))
                if over.is_set():
                    return
            box.put((False, None))
        except BaseException as error:
            box.put((False, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (found := box.get())[0]:
            yield found[1]
        if found[1] is not None:
            raise found[1]
    finally:
        over.set()
        while thread.is_alive():
            try:
                box.get(timeout=0.01)  # the thread may wait for room
            except queue.Empty:
                continue
