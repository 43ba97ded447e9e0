"""The review's page with many items, measured in Chromium: how soon it can be used, what a frame costs, what the server
needs.

    python bench/page.py                               # 100,000 made-up items with pictures
    python bench/page.py --items 20000 --folder DIR    # in a folder of your choice, which stays

usable:  from the request to the cards, in seconds; and the part of it in which the page's own thread worked
frame:   the costliest of the twelve frames after an action among all items, in milliseconds of the page's thread: the
         median of 30 actions, and the costliest of all; beside it the longest frame by the clock
server:  its memory, in megabytes
A thread's own time does not count waiting for a busy machine, on which even an empty page misses frames.
"""

from __future__ import annotations

import argparse
import json
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
from playwright.sync_api import Browser, Page, sync_playwright

from novakind.config import as_tables, starting
from novakind.data.source import Source
from novakind.datasets.gather import gather, placed
from novakind.modality.image import Image
from novakind.progress import Reporter
from novakind.runs.folder import Run

KNOWN, NOVEL, DIMS, SIDE = 10, 20, 32, 12
FRAMES = 30
NOTHING = "nothing, on an empty page"
ACTIONS = {
    NOTHING: "k => {}",
    "scroll by a line": "k => { $('shelf-grid').scrollTop += 60; }",
    "scroll by a screen": "k => { $('shelf-grid').scrollTop += 700; }",
    "scroll by leaps": "k => { $('shelf-grid').scrollTop = (k * 104729) % 900000; }",
    "select one item": "k => select([shelf.shown[k]], 'turn', { total: data.count })",
    "select a growing band": "k => select(shelf.shown.slice(0, 500 * k), 'only', { total: data.count })",
    "select all, or none": "k => select(k % 2 ? shelf.shown : [], 'only', { total: data.count })",
}
FRAME = """async ([act, k]) => {
  const times = [await new Promise(requestAnimationFrame)];
  (0, eval)(act)(k);
  while (times.length <= 12) times.push(await new Promise(requestAnimationFrame));
  return Math.max(...times.slice(1).map((time, place) => time - times[place]));
}"""
OPEN = """async () => {
  const start = performance.now();
  select(Array.from({ length: data.count }, (_, item) => item), 'only', { total: data.count });
  location.hash = '#/chosen';
  while (!shelf.shown?.length) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""
TASK = ("RunTask", "ThreadControllerImpl::RunTask")  # a piece of a thread's work, in older and in newer Chromium
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame", "toplevel"]


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
    np.savez(path / "embeddings.npz", embedding=embedding, logp=logp)
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


def costs(trace: bytes) -> np.ndarray:
    """What each frame cost the page's thread, in milliseconds: all that it did from one frame to the next."""
    events = [one for one in json.loads(trace)["traceEvents"] if one.get("ph") in "XIi"]
    begun = [one for one in events if one["name"] == "BeginMainThreadFrame"]
    thread = (begun[0]["pid"], begun[0]["tid"])
    tasks = [one for one in events if one["name"] in TASK and (one["pid"], one["tid"]) == thread]
    if not tasks:
        raise RuntimeError("this Chromium calls the tasks of a thread by another name: add it to TASK")
    frame = np.searchsorted(sorted(one["ts"] for one in begun), [one["ts"] + one.get("dur", 0) for one in tasks])
    return np.bincount(frame, [one.get("tdur", 0) / 1000 for one in tasks], len(begun) + 1)


def frames(browser: Browser, page: Page, action: str) -> tuple[np.ndarray, np.ndarray]:
    """For each action the costliest frame of those that follow it, and the longest by the clock, in milliseconds."""
    cost, wall = [], []
    for number in range(FRAMES):
        browser.start_tracing(page=page, categories=TRACED)
        wall.append(page.evaluate(FRAME, [action, number]))
        cost.append(costs(browser.stop_tracing()).max())
    return np.array(cost), np.array(wall)


def measure(address: str, process: int, items: int) -> None:
    """Everything, printed as a table."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
        page = context.new_page()
        print(f"{items:,} items".ljust(34) + "thread: median  worst      by the clock: median  worst")

        def line(title: str) -> None:
            cost, wall = frames(browser, page, ACTIONS[title])
            print(
                f"{title:34}{np.median(cost):14.1f} {cost.max():6.1f} {np.median(wall):25.1f} {wall.max():6.1f}",
                flush=True,
            )

        line(NOTHING)
        clock = Clock(page)
        before, started = clock.read(), time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector("html[data-ready]", timeout=600_000)
        usable, worked = time.perf_counter() - started, clock.read() - before
        page.wait_for_timeout(3_000)
        opened = page.evaluate(OPEN)
        page.wait_for_timeout(1_500)
        for title in ACTIONS:
            if title != NOTHING:
                line(title)
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
