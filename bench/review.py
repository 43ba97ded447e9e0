"""What a review must survive: servers killed under a stream of edits, and two that write at once.

    python bench/review.py --kills 50 --edits 1000      # prints what was acknowledged, and what is there

The tests do the same with fewer kills and edits.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS.parent), str(TESTS), str(TESTS / "results" / "review")]

from reviews import Nursery  # noqa: E402
from runs import write_run  # noqa: E402
from test_review_killed import kill_often, lines_of, write_at_once  # noqa: E402

from novakind.runs.discovery import Discovery  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--edits", type=int, default=1000, help="of each of two clients")
    options = parser.parse_args()
    nursery = Nursery()
    try:
        with tempfile.TemporaryDirectory() as folder:
            run, begun = write_run(Path(folder) / "killed"), time.monotonic()
            told = kill_often(nursery, run, options.kills)
            written = {edit["id"]: edit for edit in lines_of(run)}
            lost = sum(written.get(edit["id"]) != edit for edit in told)
            torn = len(list(run.glob("edits-torn-*.txt")))
            version = Discovery.load(run).snapshot.version
            print(
                f"{options.kills} kills: {len(told)} edits acknowledged, {lost} of them lost, {version} on disk, "
                f"{torn} torn lines set aside, {time.monotonic() - begun:.0f} s"
            )
            run, begun = write_run(Path(folder) / "both"), time.monotonic()
            both, states = write_at_once(nursery, run, options.edits)
            written = {edit["id"]: edit for edit in lines_of(run)}
            lost = sum(written.get(edit["id"]) != edit for told in both for edit in told)
            print(
                f"two servers, {json.dumps([len(told) for told in both])} edits acknowledged: {lost} lost, "
                f"{len(written)} on disk, states equal: {states[0] == states[1]}, {time.monotonic() - begun:.0f} s"
            )
    finally:
        nursery.close()


if __name__ == "__main__":
    main()
