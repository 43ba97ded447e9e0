"""Real processes, real SIGKILL: whenever it comes, the same command goes on and ends with the same bytes."""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small import photos_folder, shapes_folder

from novakind.app.cli import main
from novakind.training import loop

SHAPES = "shapes --preset glyphs --batch 40"
PHOTOS = "photos --encoder efficientnet-lite0 --size 32 --batch 20"
FORKS = multiprocessing.get_context("forkserver")  # what every run imports takes seconds: it is imported once for all
FORKS.set_forkserver_preload(["novakind.app.cli", "torch._dynamo", "sklearn.cluster", "sklearn.manifold"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("killed")
    shapes_folder(root / "shapes")
    photos_folder(root / "photos")
    return root


def command(folder: Path, out: str, options: str) -> None:
    """What the process does, in which nothing but imports has happened before."""
    torch.set_num_threads(1)
    loop.choose_epochs = lambda steps, clustered: 3  # of the frozen start, which no option shortens
    os.chdir(folder)
    sys.exit(main(["discover", *options.split(), "--novel", "2", "--quiet", "--out", out]))


def run(folder: Path, out: str, options: str) -> None:
    process = FORKS.Process(target=command, args=(folder, out, options))
    process.start()
    process.join()
    assert process.exitcode == 0


def kill(folder: Path, out: str, options: str, when: Callable[[list[str]], bool], wait: float = 0.0) -> None:
    """Run until `when` holds of the stages of the epochs so far, and `wait` seconds longer; then kill."""
    process = FORKS.Process(target=command, args=(folder, out, options))
    process.start()
    while process.is_alive() and not when(stages(folder / out)):
        time.sleep(0.005)
    time.sleep(wait)
    assert process.is_alive(), "the run ended before it could be killed: it needs more epochs"
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def stages(out: Path) -> list[str]:
    """Of every epoch that is in the log; the last line may be half written."""
    log = out / "metrics.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line)["stage"] for line in lines]


def assert_same(whole: Path, killed: Path) -> None:
    for name in ("model.safetensors", "predictions.csv"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert (killed / "report.html").exists()


def test_killed_three_times_it_ends_with_the_same_bytes(folder):
    options = f"{SHAPES} --epochs 60"
    run(folder, "whole", options)
    log = (folder / "whole" / "metrics.jsonl").read_text().splitlines()
    duration = sum(json.loads(line)["seconds"] for line in log)
    moments = random.Random(time.time_ns())
    for _ in range(3):
        begun = len(stages(folder / "killed"))  # at least one epoch more
        wait = moments.uniform(0, 0.1 * duration)
        kill(folder, "killed", options, lambda done, begun=begun: len(done) > begun, wait)
    run(folder, "killed", options)
    assert_same(folder / "whole", folder / "killed")


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("dtc", ["supervised", "discover"]),
        ("kcl", ["similarity", "discover"]),
    ],
)
def test_killed_in_each_stage_it_ends_with_the_same_bytes(folder, method, names):
    options = f"{SHAPES} --method {method} --epochs 40"
    whole, killed = f"{method}-whole", f"{method}-killed"
    run(folder, whole, options)
    assert list(dict.fromkeys(stages(folder / whole))) == names
    for name in names:
        kill(folder, killed, options, lambda done, name=name: name in done)
        assert stages(folder / killed)[-1] == name
    run(folder, killed, options)
    assert_same(folder / whole, folder / killed)


@pytest.mark.parametrize(("tune", "epochs"), [("frozen", 100), ("partly", 6)])
def test_behind_a_published_encoder_it_ends_with_the_same_bytes(folder, tune, epochs):
    options = f"{PHOTOS} --tune {tune} --epochs {epochs}"
    run(folder, f"{tune}-whole", options)
    for more in (1, 2):
        kill(folder, f"{tune}-killed", options, lambda done, more=more: len(done) >= more)
    run(folder, f"{tune}-killed", options)
    assert_same(folder / f"{tune}-whole", folder / f"{tune}-killed")
