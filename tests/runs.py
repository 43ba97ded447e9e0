"""Finished run folders for tests, with whatever a person may have named things."""

import csv
import json
import re
import shutil
import subprocess

import numpy as np

from novakind.modality.display import Clips, Signals
from novakind.runs.discovery import Discovery

HOSTILE = '</script><img src=x onerror="boom()"> & ’quoted’ 🦊'

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


# what a run has counted, as results.json holds it
COUNTED = {
    "low": 2,
    "high": 3,
    "chances": {"2": 0.8, "3": 0.2},
    "probes": [{"hidden": 2, "counted": 2}, {"hidden": 2, "counted": 3}, {"hidden": 3, "counted": 3}],
    "sizes": [5, 20, 15],
    "tree": [[0, 2, 1.5, 20], [3, 1, 40.0, 40]],
    "doubt": "",
}


def write_run(run, paths=None, labels=None, truth=None, names=None, splits=None, known=2, items=60, seed=0, **results):
    """A finished run folder with blobs as embeddings; category K - 1 gets no item when K is more than the blobs."""
    run.mkdir(parents=True, exist_ok=True)
    names = names or ["cat", "dog", "new-1", "new-2"]
    rng = np.random.default_rng(seed)
    blobs = max(1, len(names) - 1)
    truths = rng.integers(0, blobs, items)
    dims = max(blobs, 6)
    centres = 4 * np.eye(max(blobs, 3), dims)
    embedding = (centres[truths] + rng.normal(size=(items, dims))).astype(np.float32)
    logits = np.full((items, len(names)), -9.0)
    logits[:, :blobs] = embedding[:, :blobs] + rng.normal(size=(items, blobs))
    logp = (logits - np.logaddexp.reduce(logits, 1, keepdims=True)).astype(np.float32)
    category = logp.argmax(1)
    paths = paths or [f"unlabeled/{i:03d}.png" for i in range(items)]
    labels = labels or [names[t] if t < known and i % 2 else "" for i, t in enumerate(truths)]
    true_names = ["" if truth is None else truth[t] for t in truths]
    with (run / "predictions.csv").open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "split", "label", "truth", "id", "category", "probability"])
        for i in range(items):
            chosen = int(category[i])
            split = splits[i] if splits else "train"
            probability = float(np.exp(logp[i, chosen]))
            writer.writerow([paths[i], split, labels[i], true_names[i], chosen, names[chosen], probability])
    np.savez(run / "embeddings.npz", embedding=embedding, logp=logp)
    defaults = {"metrics": {}, "minutes": 0.4, "warnings": [], "data": "toys", "items": items, "skipped": 2}
    facts = {"classes": names, "known": known, "truth_classes": truth, "version": "0.1.0"}
    (run / "results.json").write_text(json.dumps({**defaults, **facts, **results}), encoding="utf-8")
    return run


def write_files(root, paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"content of {path}")


def waves(run, channels=("x", "y", "z"), time=128, rate=50.0, unit="m/s²", seed=0):
    """Signals for the items of a run, of another kind in each category: swinging, noisy, a step, weak, a pulse."""
    category = Discovery.load(run).category
    clock = np.linspace(0, 1, time)

    def row(item):
        rng = np.random.default_rng((seed, item))
        phase = np.arange(len(channels))[:, None] * 0.9
        level = np.linspace(-1, 1, len(channels))[:, None]
        kinds = (
            3 * np.sin(2 * np.pi * (4 * clock + rng.uniform(0, 0.15)) + phase),
            1.2 * rng.normal(size=(len(channels), time)),
            level + 2.5 * (clock > 0.5 + 0.08 * rng.normal()) * np.cos(phase),
            0.02 * np.sin(2 * np.pi * 2 * clock + phase) + 0.004 * rng.normal(size=(len(channels), time)),
            4 * np.exp(-(((clock - 0.4) / 0.08) ** 2)) * np.cos(3 * phase) + level,
        )
        kind = int(category[item]) % len(kinds)
        return kinds[kind] + (0 if kind == 3 else 0.15) * rng.normal(size=(len(channels), time))

    return Signals(tuple(channels), rate, unit, row)


def films(run, frames=16, side=64, fps=8.0, noise=6.0, seed=0):
    """Clips for the items of a run, something else moving in each category: across, up and down, round, in, a bar."""
    category = Discovery.load(run).category
    height, width = (side, side) if isinstance(side, int) else side
    y, x = np.mgrid[:height, :width] / max(height, width)
    middle, end = height / max(height, width) / 2, width / max(height, width)

    def row(item):
        rng = np.random.default_rng((seed, item))
        ground, paint = rng.uniform(20, 140, 3), rng.uniform(150, 255, 3)
        phase, slope = rng.uniform(0, 1), rng.uniform(-60, 60, 2)
        shown = np.empty((3, frames, height, width), dtype=np.uint8)
        for place in range(frames):
            turn = (phase + place / max(frames, 8)) % 1
            wave = np.sin(2 * np.pi * turn)
            kinds = (
                np.hypot(x - turn * end, y - middle) < 0.16,
                np.maximum(abs(x - end / 2), abs(y - middle * (1 + 0.7 * wave))) < 0.13,
                np.hypot(x - end / 2 - 0.28 * wave, y - middle - 0.28 * np.cos(2 * np.pi * turn)) < 0.12,
                np.hypot(x - end / 2, y - middle) < 0.1 + 0.3 * turn,
                abs((x - end / 2) * np.cos(np.pi * turn) + (y - middle) * np.sin(np.pi * turn)) < 0.06,
            )
            shade = ground[:, None, None] + slope[0] * x + slope[1] * y
            picture = np.where(kinds[int(category[item]) % len(kinds)], paint[:, None, None], shade)
            shown[:, place] = np.clip(picture + noise * rng.normal(size=picture.shape), 0, 255)
        return shown

    return Clips(fps, row)


def data_of(page):
    """The block of data, found as a browser finds it: it ends at the first closing tag."""
    block = re.search(r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def browse(page, folder, *more):
    """The page as a browser has drawn it."""
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=4000",
        "--window-size=1200,900",
        *more,
    ]
    command = [str(CHROMIUM), *flags, f"--user-data-dir={folder}", "--dump-dom", page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, encoding="utf-8").stdout


PLAY = """
<script>
for (const button of document.querySelectorAll("button")) button.click();
for (const key of ["+", "-", "0", "ArrowLeft"]) canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
for (const target of [canvas, ...document.querySelectorAll(".chart svg, .item, .signal-chart")]) {
  const box = target.getBoundingClientRect(), at = { clientX: box.x + box.width / 3, clientY: box.y + box.height / 2 };
  for (const kind of ["pointermove", "pointerdown", "pointermove", "pointerup", "click", "pointerleave"]) {
    target.dispatchEvent(new PointerEvent(kind, { ...at, pointerType: "mouse", bubbles: true }));
  }
}
document.getElementById("sort").value = "size";
document.getElementById("sort").dispatchEvent(new Event("change"));
novakind.data.categories[2].name = "renamed";
novakind.draw();
document.documentElement.dataset.played = "";
</script>
"""
