"""torchrun on pictures: one process is killed, then all of them are, and another number of processes goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from small import shapes_folder

import novakind
from novakind.runs.folder import Run

COMMAND = "discover shapes --preset glyphs --batch 40 --novel 2 --epochs 12 --out run".split()  # noqa: SIM905
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


def start(folder: Path, processes: int) -> subprocess.Popen:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [*torchrun, "-m", "novakind", *COMMAND] if processes > 1 else [sys.executable, "-m", "novakind", *COMMAND]
    with (folder / "said").open("wb") as said:
        return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=said, stderr=said)


def epochs(folder: Path) -> int:
    log = folder / "run" / "metrics.jsonl"
    return log.read_text().count("\n") if log.exists() else 0


def saved(folder: Path) -> int:
    state = Run(folder / "run").restore()
    assert state is not None
    return state["epochs"]


def workers(parent: int) -> list[int]:
    listed = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(number) for number in listed.read_text().split()]


def trained_until(epoch: int, folder: Path, running: subprocess.Popen) -> None:
    while epochs(folder) < epoch:
        assert running.poll() is None, (folder / "said").read_text()
        time.sleep(0.05)


def test_killed_one_by_one_and_all_at_once_another_number_of_processes_goes_on(tmp_path):
    shapes_folder(tmp_path / "shapes")
    running = start(tmp_path, 2)
    trained_until(2, tmp_path, running)
    os.kill(workers(running.pid)[-1], signal.SIGKILL)
    assert running.wait(120) != 0
    said = (tmp_path / "said").read_text()
    assert "because another one has ended" in said
    assert "the same command goes on" in said
    ours = str(Path(novakind.__file__).parent)
    assert ours not in said  # no line of ours in a traceback; torchrun's own are not ours to prevent
    before = saved(tmp_path)
    assert 2 <= before < 12

    running = start(tmp_path, 3)
    trained_until(before + 2, tmp_path, running)
    everyone = [running.pid, *workers(running.pid)]  # torchrun first, or it would begin to tidy up
    for number in everyone:
        os.kill(number, signal.SIGKILL)
    assert running.wait(120) == -signal.SIGKILL
    assert before < saved(tmp_path) < 12

    assert start(tmp_path, 1).wait(120) == 0, (tmp_path / "said").read_text()
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(1, 13))
    assert all(np.isfinite(line["loss/total"]) for line in lines)
    assert (tmp_path / "run" / "report.html").exists()
