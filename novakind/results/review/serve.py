"""novakind review: the server of one run on this machine, and the one address that opens it."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from novakind.errors import UserError
from novakind.runs.folder import Run

if TYPE_CHECKING:
    import uvicorn

EVERYWHERE = ("0.0.0.0", "::")
ROOM = 65_536  # bytes of a request, beside the numbers of items
PER_ITEM = 12


def serve(run: Path, host: str = "127.0.0.1", port: int = 0, is_opened: bool = True) -> None:
    """Serve the review of a finished run until Ctrl-C."""
    check_ready(run)
    try:
        import uvicorn
    except ImportError:
        raise UserError("the review needs a server that is not installed: pip install 'novakind[review]'") from None
    from novakind.results.review.desk import Desk
    from novakind.results.review.security import Guard
    from novakind.results.review.server import application

    desk = Desk(run)
    desk.state()  # what takes a second of a hundred thousand items is done before the page is opened
    for remark in filter(None, (desk.review.log.remark() if desk.review.log else "",)):
        print(f"novakind: {remark}", file=sys.stderr)
    door = bound(host, port)
    token, number = secrets.token_urlsafe(24), door.getsockname()[1]
    guard = Guard(
        application(desk, lambda: server.should_exit), token, hosts(host, number), ROOM + PER_ITEM * desk.count
    )
    config = uvicorn.Config(
        guard, log_level="critical", access_log=False, timeout_graceful_shutdown=2, server_header=False
    )
    server: uvicorn.Server = uvicorn.Server(config)
    shown = "127.0.0.1" if host in EVERYWHERE else host
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}/?token={token}"
    usual = signal.signal(signal.SIGINT, lambda *_: setattr(server, "should_exit", True))
    try:  # from the first printed line on: whoever reads the address may press Ctrl-C
        print(f"review of {run}: {address}", flush=True)
        print("Everything you decide is saved at once in edits.jsonl. Ctrl-C ends the server.", flush=True)
        if is_opened and has_screen():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        server.run(sockets=[door])
    finally:
        signal.signal(signal.SIGINT, usual)
    print(f"\nstopped; all decisions are in {run / 'edits.jsonl'}", flush=True)


def check_ready(run: Path) -> None:
    """Refuse what is no finished run, and one that is being trained."""
    if not run.is_dir():
        raise UserError(f"{run} does not exist: give the folder of a run, such as runs/photos")
    folder = Run(run)
    if folder.began() and os.access(run, os.W_OK):
        with folder.alone():
            pass


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; any free port for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once only if this is said
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
        door.listen(128)
    except (OSError, OverflowError, ValueError, TypeError) as error:  # odd names are refused in many ways
        door.close()
        reason = getattr(error, "strerror", "") or str(error)
        raise UserError(
            f"{host}:{port} cannot be listened to ({reason}): give another --port, or another --host"
        ) from None
    if door.getsockname()[0] in EVERYWHERE and host not in EVERYWHERE:
        door.close()
        raise UserError(f'--host "{host}" means every address of this machine: give --host 0.0.0.0 if that is meant')
    return door


def hosts(host: str, port: int) -> list[str]:
    """The names by which a browser may call this server; with "*" any number of a machine is one."""
    names = ["127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host, socket.gethostname()]
    return [*(f"{name}:{port}" for name in names), *(["*"] if host in EVERYWHERE else [])]


def has_screen() -> bool:
    """Whether a browser could be seen: on Linux a text browser would take the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
