"""A command in a process of its own, and what it needed: time by the clock and of cores, memory beside the page cache.

What the command starts counts too. Only Linux tells all of this.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PAUSE = 0.2  # seconds between two looks at the memory
SUBREAPER = 36  # of prctl: processes whose parent is gone become ours, and tell us what they needed


class Needed(NamedTuple):
    seconds: float
    cores: float
    """Seconds of work on all cores together."""
    memory: float
    """Gigabytes, at most, that were no part of the page cache."""
    later: float
    """The same in the last half of the time, over the same in the first half: 1 where memory is flat."""


def needed(*words: str, environment: dict[str, str] | None = None) -> Needed:
    """Run it to its end, which must be a good one."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    begun = time.monotonic()
    process = subprocess.Popen(words, env=os.environ | (environment or {}), stdout=subprocess.DEVNULL)
    looks: list[int] = []
    while True:
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
        if done:
            break
        looks.append(sum(map(own_memory, family(process.pid))))
        time.sleep(PAUSE)
    seconds, cores = time.monotonic() - begun, usage.ru_utime + usage.ru_stime
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with {process.returncode}")
    while True:
        try:
            _, _, usage = os.wait3(0)
        except ChildProcessError:
            break
        cores += usage.ru_utime + usage.ru_stime
    half = len(looks) // 2
    later = max(looks[half:]) / max(looks[: half or 1]) if looks else 1.0
    return Needed(seconds, cores, max(looks, default=0) / 2**30, later)


def family(pid: int) -> list[int]:
    """A process and all that came from it."""
    found: list[int] = [pid]
    for parent in found:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:  # it has ended
            continue
    return found


def own_memory(pid: int) -> int:
    """Bytes of memory that no file backs; what several processes share counts in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    sizes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines[1:])}
    return 1024 * (sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0))


def novakind(*words: str) -> Sequence[str]:
    return (sys.executable, "-m", "novakind", *words)
