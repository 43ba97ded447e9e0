"""The review's page with many items, measured in Chromium: how soon it can be used, what a frame costs, what the server
needs.

    python bench/page.py                               # 100,000 made-up items with pictures
    python bench/page.py --items 20000 --folder DIR    # in a folder of your choice, which stays

usable:  from the request to the cards, in seconds; and the part of it in which the page's own thread worked
frame:   what one frame costs the page's thread, in milliseconds, while scrolling and selecting among all items: the
         median of 30, and the costliest; beside it the wall-clock time of a frame, and that of a page that does nothing
server:  its memory, in megabytes
A thread's own time does not count waiting for a busy machine, on which even an empty page misses frames.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from novakind.config import as_tables, starting
from novakind.data.source import Source
from novakind.datasets.gather import gather, placed
from novakind.modality.image import Image
from novakind.progress import Reporter
from novakind.runs.folder import Run

KNOWN, NOVEL, DIMS, SIDE = 10, 20, 32, 12
FRAMES = 30
ACTIONS = {
    "nothing, on an empty page": "k => {}",
    "scroll by a line": "k => { $('shelf-grid').scrollTop += 60; }",
    "scroll by a screen": "k => { $('shelf-grid').scrollTop += 700; }",
    "scroll by leaps": "k => { $('shelf-grid').scrollTop = (k * 104729) % 900000; }",
    "select one item": "k => select([shelf.shown[k]], 'turn', { total: data.count })",
    "select a growing band": "k => select(shelf.shown.slice(0, 500 * k), 'only', { total: data.count })",
    "select all, or none": "k => select(k % 2 ? shelf.shown : [], 'only', { total: data.count })",
}
FRAME = """async ([act, k]) => {
  const start = performance.now();
  (0, eval)(act)(k);
  await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return performance.now() - start;
}"""


def make_run(folder: Path, items: int) -> Path:
    """A finished run of made-up vectors, which has small pictures to show."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, KNOWN + NOVEL, items)
    centres = rng.normal(size=(KNOWN + NOVEL, DIMS))
    embedding = (centres[truth] + 0.9 * rng.normal(size=(items, DIMS))).astype(np.float32)
    logits = 0.6 * embedding @ centres.T
    logp = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(np.float32)
    looks = rng.integers(0, 256, (KNOWN + NOVEL, SIDE, SIDE))
    pictures = np.clip(looks[truth] + rng.normal(0, 30, (items, SIDE, SIDE)), 0, 255).astype(np.uint8)
    labels = np.where((truth < KNOWN) & (rng.random(items) < 0.5), truth, -1)
    np.savez(folder / "made-up.npz", X=pictures, y=labels)
    source, path = placed(Source(str(folder / "made-up.npz"))), folder / "run"
    config = starting(Image)
    run = Run.claim(path)
    with Reporter(quiet=True) as report:
        collection, _ = gather(source, path / "store", config.val, report.decoding)
    run.settle({"data": asdict(source) | {"digest": collection.digest()}} | as_tables(config))
    names = [*collection.classes, *(f"new-{number + 1}" for number in range(NOVEL))]
    best = logp.argmax(1)
    rows = (
        [path, "train", names[label] if label >= 0 else "", "", chosen, names[chosen], f"{np.exp(row[chosen]):.6f}"]
        for path, label, chosen, row in zip(collection.paths, collection.labels, best, logp, strict=True)
    )
    run.write_csv("predictions.csv", ["path", "split", "label", "truth", "id", "category", "probability"], rows)
    run.write_arrays("embeddings.npz", embedding=embedding, logp=logp)
    facts = {"metrics": {}, "minutes": 0.0, "warnings": [], "data": "made-up", "items": items, "skipped": 0}
    run.write_json("results.json", {**facts, "classes": names, "known": KNOWN, "truth_classes": None, "split": ""})
    return path


@contextmanager
def review(run: Path) -> Iterator[tuple[str, int]]:
    """The address of `novakind review`, and its process."""
    command = [sys.executable, "-m", "novakind", "review", str(run), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            found = re.search(r"http\S+", server.stdout.readline() if server.stdout else "")
            if found is None:
                raise RuntimeError("novakind review has printed no address")
            yield found[0], server.pid
        finally:
            server.terminate()


def memory(process: int) -> tuple[int, int]:
    """What a process holds now, and the most that it held, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return tuple(int(re.findall(rf"{name}:\s+(\d+)", status)[0]) // 1000 for name in ("VmRSS", "VmHWM"))  # type: ignore[return-value]


class Clock:
    """The working time of a page's own thread."""

    def __init__(self, page: Page) -> None:
        self.session = page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read(self) -> float:
        """Seconds so far."""
        found = self.session.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in found if one["name"] == "TaskDuration")


def frames(page: Page, clock: Clock, action: str) -> tuple[np.ndarray, np.ndarray]:
    """For each frame what it cost the thread and how long it took, in milliseconds."""
    cost, wall = [], []
    for number in range(FRAMES):
        before = clock.read()
        wall.append(page.evaluate(FRAME, [action, number]) / 2)
        cost.append(1000 * (clock.read() - before))
    return np.array(cost), np.array(wall)


def measure(address: str, process: int, items: int) -> None:
    """Everything, printed as a table."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page = context.new_page()
        clock, first, started = Clock(page), True, 0.0
        print(f"{items:,} items".ljust(34) + "thread: median  worst    wall-clock: median  worst")
        for title, action in ACTIONS.items():
            cost, wall = frames(page, clock, action)
            print(
                f"{title:34}{np.median(cost):13.1f} {cost.max():7.1f} {np.median(wall):19.1f} {wall.max():7.1f}",
                flush=True,
            )
            if not first:
                continue
            first, before, started = False, clock.read(), time.perf_counter()
            page.goto(address, wait_until="commit")
            page.wait_for_selector("html[data-ready]", timeout=600_000)
            usable, worked = time.perf_counter() - started, clock.read() - before
            page.wait_for_timeout(3_000)
            opened = page.evaluate("""async () => {
              const start = performance.now();
              select(Array.from({ length: data.count }, (_, item) => item), 'only', { total: data.count });
              location.hash = '#/chosen';
              while (!shelf.shown?.length) await new Promise(requestAnimationFrame);
              return performance.now() - start;
            }""")
            page.wait_for_timeout(1_500)
        now, most = memory(process)
        print(f"usable after {usable:.2f} s, of which the page's thread worked {worked:.2f} s")
        print(f"all items in one grid after {opened / 1000:.2f} s")
        print(f"the server holds {now} MB, at most {most} MB")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        run = folder / "run" if (folder / "run" / "results.json").exists() else make_run(folder, options.items)
        started = time.perf_counter()
        with review(run) as (address, process):
            print(f"the server answers after {time.perf_counter() - started:.1f} s")
            measure(address, process, options.items)


if __name__ == "__main__":
    main()
