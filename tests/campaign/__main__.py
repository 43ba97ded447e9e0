"""`python -m tests.campaign --minutes 30`: attempts of all families for as long as asked; bad ones are kept.

`--every-write` kills, and fills the disk, at every step of every command instead.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # what the tests share

from .families import FAMILIES, Count, draw
from .writes import COMMANDS, every

MEMORY = 12 * 2**30  # bytes of addresses: an attempt that takes more must not take the machine with it


def commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return done.stdout.strip() or "unknown"


def campaign(minutes: float, seed: int, first: int, keep: Path, only: list[str]) -> int:
    begun, counts = time.monotonic(), {name: Count() for name in only or FAMILIES}
    number = first
    try:
        while time.monotonic() - begun < 60 * minutes:
            draw(number, seed, counts, keep)
            number += 1
            if number % 100 == 0:
                spent = (time.monotonic() - begun) / 60
                print(
                    f"{number - first} tries in {spent:.1f} min, {sum(one.bad for one in counts.values())} bad",
                    flush=True,
                )
    except KeyboardInterrupt:
        pass
    spent = (time.monotonic() - begun) / 60
    print(f"\n{number - first} tries from number {first} on in {spent:.1f} minutes, seed {seed}, commit {commit()}\n")
    print("| family | tries | exit 0 | exit 2 | bad |\n|---|---:|---:|---:|---:|")
    for name, one in counts.items():
        print(f"| {name} | {one.tries} | {one.fine} | {one.refused} | {one.bad} |")
    every = [sum(getattr(one, key) for one in counts.values()) for key in ("tries", "fine", "refused", "bad")]
    print("| all | " + " | ".join(map(str, every)) + " |")
    return 1 if every[-1] else 0


def every_write(only: list[str], stride: int) -> int:
    print("| command | steps | kills | full disks | bad |\n|---|---:|---:|---:|---:|", flush=True)
    code = 0
    for verb in only or COMMANDS:
        with tempfile.TemporaryDirectory(prefix="every-") as folder:
            found = every(verb, Path(folder), stride)
        print(f"| {verb} | {found['steps']} | {found['kills']} | {found['full']} | {len(found['bad'])} |", flush=True)
        for line in found["bad"]:
            print(f"  {verb}: {line}", file=sys.stderr)
        code = code or bool(found["bad"])
    return int(code)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first try, to go on from")
    parser.add_argument("--keep", type=Path, default=Path("campaign-bad"), help="where bad attempts are kept")
    parser.add_argument("--only", nargs="*", default=[], help="families, or commands with --every-write")
    parser.add_argument("--every-write", action="store_true")
    parser.add_argument("--stride", type=int, default=1, help="with --every-write: only every n-th step")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    if asked.every_write:
        return every_write(asked.only, asked.stride)
    shutil.rmtree(asked.keep, ignore_errors=True)
    return campaign(asked.minutes, asked.seed, asked.first, asked.keep.resolve(), asked.only)


if __name__ == "__main__":
    sys.exit(main())
