"""Real processes that talk through gloo, for tests: each has other items, and not equally many."""

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent


def in_processes(number: int, work: Callable[..., Any], *arguments: Any, folder: Path) -> list[Any]:
    """What `work(*arguments)` gives in each of so many processes that torchrun might have started."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = folder / "call.pickle"
    call.write_bytes(pickle.dumps((work.__module__, work.__name__, arguments)))
    started = []
    for rank in range(number):
        environment = os.environ | {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(number),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "TORCHELASTIC_RUN_ID": "test",
            "OMP_NUM_THREADS": "1",
            "TORCH_CPP_LOG_LEVEL": "ERROR",
            "PYTHONPATH": os.pathsep.join(
                [str(TESTS), str(TESTS.parent), str(Path(sys.modules[work.__module__].__file__ or "").parent)]
            ),
        }
        command = [sys.executable, __file__, str(call), str(folder / f"found-{rank}.pickle")]
        started.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
    said = [process.communicate(timeout=300)[1] for process in started]
    assert [process.returncode for process in started] == [0] * number, "\n".join(said)
    return [pickle.loads((folder / f"found-{rank}.pickle").read_bytes()) for rank in range(number)]


if __name__ == "__main__":
    import importlib

    from novakind.training.distributed import joined

    module, name, given = pickle.loads(Path(sys.argv[1]).read_bytes())
    with joined():
        found = getattr(importlib.import_module(module), name)(*given)
    Path(sys.argv[2]).write_bytes(pickle.dumps(found))
