"""Real processes, real SIGKILL: whenever it comes, the same command goes on and ends with the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small import shapes_folder

DISCOVER = [sys.executable, "-m", "novakind.app.cli", "discover", "shapes", "--novel", "2", "--preset", "glyphs"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def run(folder: Path, out: str, *options: str) -> None:
    command = [*DISCOVER, "--batch", "40", *options, "--out", out]
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, capture_output=True)


def kill(folder: Path, out: str, *options: str, when: Callable[[list[str]], bool], wait: float = 0.0) -> None:
    """Run until `when` holds of the stages of the epochs so far, and `wait` seconds longer; then kill."""
    command = [*DISCOVER, "--batch", "40", *options, "--out", out]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=quiet, stderr=quiet)
    while process.poll() is None and not when(stages(folder / out)):
        time.sleep(0.005)
    time.sleep(wait)
    assert process.poll() is None, "the run ended before it could be killed: it needs more epochs"
    process.send_signal(signal.SIGKILL)
    process.wait()


def stages(out: Path) -> list[str]:
    """Of every epoch that is in the log; the last line may be half written."""
    log = out / "metrics.jsonl"
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return [json.loads(line)["stage"] for line in lines]


def assert_same(folder: Path) -> None:
    for name in ("model.safetensors", "predictions.csv"):
        assert (folder / "killed" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    assert (folder / "killed" / "report.html").exists()


def test_killed_three_times_it_ends_with_the_same_bytes(tmp_path):
    shapes_folder(tmp_path / "shapes")
    started = time.monotonic()
    run(tmp_path, "whole", "--epochs", "60")
    duration = time.monotonic() - started
    moments = random.Random(time.time_ns())
    for _ in range(3):
        begun = len(stages(tmp_path / "killed"))  # at least one epoch more
        wait = moments.uniform(0, 0.05 * duration)
        kill(tmp_path, "killed", "--epochs", "60", when=lambda done, begun=begun: len(done) > begun, wait=wait)
    run(tmp_path, "killed", "--epochs", "60")
    assert_same(tmp_path)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("dtc", ["supervised", "discover"]),
        ("kcl", ["similarity", "discover"]),
        ("autonovel", ["rotations", "supervised", "discover"]),
    ],
)
def test_killed_in_each_stage_it_ends_with_the_same_bytes(tmp_path, method, names):
    shapes_folder(tmp_path / "shapes")
    options = ("--method", method, "--epochs", "40")
    run(tmp_path, "whole", *options)
    assert list(dict.fromkeys(stages(tmp_path / "whole"))) == names
    for name in names:
        kill(tmp_path, "killed", *options, when=lambda done, name=name: name in done)
        assert stages(tmp_path / "killed")[-1] == name
    run(tmp_path, "killed", *options)
    assert_same(tmp_path)
