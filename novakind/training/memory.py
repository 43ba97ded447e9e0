"""The allocator: how the process holds on to memory between the steps of a training."""

from __future__ import annotations

import ctypes
import sys

from novakind.data.readers import give_back

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's malloc.h
KEPT = [False]  # whether this process was told to


def keep_memory() -> bool:
    """Let the process keep what it frees, for its next large tensor; whether the C library can be told so.

    By default glibc gives every large block back to the system and gets it anew, blank page by blank page: at each step
    again, for each activation, which takes a good part of the time of a convolutional network on CPUs
    (experiments/LOG.md).

    It holds for the whole process until its end, so it is the command line's to call and never a library's.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    KEPT[0] = mallopt is not None and bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, -1))
    return KEPT[0]


def let_go() -> None:
    """Give back what is kept for the next large tensor, where something else comes next: of a million vectors the
    neighbours, the start, the steps and the answers each take gigabytes, in blocks that fit no other of them."""
    if KEPT[0]:
        give_back()
