"""Servers of a review as processes of their own, for tests that talk to them over HTTP and kill them."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

# imports everything once, then starts a server for every line that it reads; each is a process that can be killed
NURSERY = """
import os, signal, sys
from pathlib import Path
from novakind.results.review import desk, security, server
from novakind.results.review.serve import serve
import uvicorn, sklearn.cluster
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(f"pid {os.getpid()}", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            serve(Path(line.rstrip("\\n")), is_opened=False)
        except Exception as error:
            print(f"failed {error}", flush=True)
        os._exit(0)
"""


class Nursery:
    """Starts servers quickly; whatever of them still lives ends with it."""

    def __init__(self):
        self.parent = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.servers = []
        assert self.line() == "ready"

    def line(self):
        return self.parent.stdout.readline().strip()

    def start(self, run: Path):
        self.parent.stdin.write(f"{run}\n")
        self.parent.stdin.flush()
        pid = int(self.line().removeprefix("pid "))
        found = re.search(r"http://([\d.]+):(\d+)/\?token=(\S+)", line := self.line())
        assert found, line
        assert "edits.jsonl" in self.line()
        server = Server(pid, found[1], int(found[2]), found[3])
        self.servers.append(server)
        return server

    def close(self):
        for server in self.servers:
            server.kill()
        self.parent.stdin.close()
        self.parent.kill()
        self.parent.wait()
        self.parent.stdout.close()


class Server:
    """A server, as whoever has its address sees it."""

    def __init__(self, pid, host, port, token):
        self.pid, self.host, self.port, self.token = pid, host, port, token
        self.own, self.lines = threading.local(), []

    def kill(self):
        for line in self.lines:
            line.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def ask(self, path, body=None, method=None, headers=None, raw=None):
        """The code and the body of an answer; JSON where it is JSON."""
        line = getattr(self.own, "line", None)
        if line is None:
            line = self.own.line = http.client.HTTPConnection(self.host, self.port, timeout=60)
            self.lines.append(line)
        sent = {"X-Novakind-Token": self.token}
        if body is not None or raw is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        data = raw if raw is not None else (None if body is None else json.dumps(body))
        try:
            line.request(
                method or ("GET" if data is None else "POST"), path, data, {k: v for k, v in sent.items() if v}
            )
            answer = line.getresponse()
            content = answer.read()
        except Exception:
            line.close()
            self.own.line = None
            raise
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        self.own.headers = answer.headers
        return answer.status, json.loads(content) if is_json else content

    def get(self, path):
        code, body = self.ask(path)
        assert code == 200, body
        return body

    def edit(self, verb, **given):
        return self.ask("/api/edits", {"verb": verb, **given})
