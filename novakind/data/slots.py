"""Memory that processes have in common, through which rows go from one to another without a pipe.

Each piece of work has a slot. What does not fit into one, or where a system has no such memory, goes through the pipe.
"""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import reduction
from typing import Any

from novakind.disk import in_memory

SIZE = 2**24 + 2**16  # bytes of a slot: the rows of a piece of files, and a little more; what is not used takes no room


class Slots:
    """So many of them; they go with the last process that has them."""

    def __init__(self, count: int, size: int, file: int | None = None) -> None:
        self.count, self.size = count, size
        self.file = in_memory(count * size) if file is None else file
        try:
            self.memory = memoryview(mmap.mmap(self.file, count * size))
        except OSError:
            os.close(self.file)
            raise

    def __reduce__(self) -> tuple[Callable[..., Slots], tuple[int, int, Any]]:
        return there, (self.count, self.size, reduction.DupFd(self.file))

    def place(self, slot: int) -> memoryview:
        start = slot % self.count * self.size
        return self.memory[start : start + self.size]

    def close(self) -> None:
        """Arrays that still lie in it keep it."""
        os.close(self.file)


def there(count: int, size: int, file: Any) -> Slots:
    """The same slots in another process."""
    return Slots(count, size, file.detach())


def made(count: int) -> Slots | None:
    """None where a system has no such memory, or its limits leave no room for it."""
    with suppress(OSError):
        return Slots(count, SIZE) if hasattr(os, "memfd_create") else None
    return None


class Packed:
    """A result whose arrays are in a slot, end to end."""

    def __init__(self, slots: Slots, slot: int, found: Any) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.slot, self.sizes = slot, list[int]()
        self.content = pickle.dumps(found, 5, buffer_callback=buffers.append)
        raw = [buffer.raw() for buffer in buffers]
        if sum(map(len, raw)) > slots.size:
            self.content = pickle.dumps(found, 5)
            return
        place, start = slots.place(slot), 0
        for content in raw:
            place[start : start + len(content)] = content
            start += len(content)
            self.sizes.append(len(content))

    def found(self, slots: Slots) -> Any:
        """The result; its arrays are good until the slot is used again."""
        place, start, buffers = slots.place(self.slot), 0, list[memoryview]()
        for size in self.sizes:
            buffers.append(place[start : start + size])
            start += size
        return pickle.loads(self.content, buffers=buffers)
