"""Requests that nobody with good intentions sends, three hundred: none is let in, none changes anything or crashes."""

import contextlib
import http.client
import json
import socket

import pytest
from reviews import Nursery
from runs import HOSTILE, write_run

DEEP = "[" * 50_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    run = write_run(tmp_path_factory.mktemp("hostile") / "run")
    nursery = Nursery()
    yield nursery.start(run), run
    nursery.close()


def strangers(server):
    """Requests that must not be let in at all: (path, body, headers)."""
    here, evil = f"{server.host}:{server.port}", "http://evil.example"
    addresses = ("/", "/api/run", "/api/state", "/api/table", "/api/rows?items=1", "/api/picture/1", "/api/queue")
    tokens = (None, "", "x", server.token[:-1], server.token + "x", server.token.upper(), "é", "' or 1=1 --")
    for path in addresses:
        for token in tokens:
            yield path, None, {"X-Novakind-Token": token and token.encode("utf-8").decode("latin-1")}
    edit = {"verb": "rename", "category": 2, "name": "mine"}
    for token in tokens:
        yield "/api/edits", edit, {"X-Novakind-Token": token and token.encode("utf-8").decode("latin-1")}
    yield f"/api/edits?token={server.token}", edit, {"X-Novakind-Token": None}  # a form of another site could do that
    for origin in (
        evil,
        "null",
        "https://" + here,
        f"http://{here}.evil.example",
        f"http://evil.example/{here}",
        "file://",
    ):
        for path, body in (("/api/edits", edit), ("/api/state", None), ("/api/export", {"to": "csv"})):
            yield path, body, {"Origin": origin}
    for host in (
        "evil.example",
        f"evil.example:{server.port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"{here}.evil.example",
        "x" * 9_000,
    ):
        for path, body in (("/api/state", None), ("/api/edits", edit), ("/", None)):
            yield path, body, {"Host": host}
    for site in ("cross-site", "same-site"):
        yield "/api/state", None, {"Sec-Fetch-Site": site}
        yield "/api/edits", edit, {"Sec-Fetch-Site": site}


def nonsense():
    """Requests of somebody who has the token: (path, raw body)."""
    outside = (
        "../../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/results.json",
        "....//results.json",
        "/etc/passwd",
    )
    for name in (
        *outside,
        "-1",
        "60",
        "1e3",
        "0x1",
        "%D9%A1",
        "1;ls",
        "1%00",
        "",
        "NaN",
        "99999999999999999999",
        "1.png.png",
        "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    ):
        for base in ("/api/picture/", "/api/clip/", "/api/neighbours/", "/static/", "/api/rows?items="):
            yield base + name, None
    for path in ("/api/rows?items=1,", "/api/rows?items=" + ",".join("1" * 501), "/api/rows", "/api/queue?limit=0"):
        yield path, None
    for path in ("/api/queue?limit=-5", "/api/merges?limit=1e9", "/api/neighbours/1?count=999999999", "/api/nothing"):
        yield path, None
    for body in ("", "{", "null", "[]", "1", '"x"', DEEP, '{"a":' * 9_000, "NaN", '{"verb": NaN}', "\x00", "é" * 50):
        for path in ("/api/edits", "/api/split", "/api/export", "/api/round"):
            yield path, body
    edits = [
        {},
        {"verb": 1},
        {"verb": "fly"},
        {"verb": "__class__"},
        {"verb": ["rename"]},
        {"verb": "rename"},
        {"verb": "rename", "category": "2", "name": "x"},
        {"verb": "rename", "category": True, "name": "x"},
        {"verb": "rename", "category": 2.0, "name": "x"},
        {"verb": "rename", "category": -1, "name": "x"},
        {"verb": "rename", "category": 10**30, "name": "x"},
        {"verb": "rename", "category": 2, "name": None},
        {"verb": "rename", "category": 2, "name": "x" * 201},
        {"verb": "rename", "category": 2, "name": "a\u0000b"},
        {"verb": "rename", "category": 2, "name": "\ud800"},
        {"verb": "rename", "category": 2, "name": "cat"},
        {"verb": "rename", "category": 2, "name": "x", "base": 7},
        {"verb": "rename", "category": 2, "name": "x", "base": -1},
        {"verb": "rename", "category": 2, "name": "x", "base": "0"},
        {"verb": "rename", "category": 2, "name": "x", "base": 0.5},
        {"verb": "rename", "category": 2, "name": "x", "base": 10**30},
        {"verb": "rename", "category": 99, "name": "<script>alert(1)</script>"},
        {"verb": "rename", "category": 2, "name": "x", "id": 5},
        {"verb": "rename", "category": 2, "name": "x", "id": "y" * 101},
        {"verb": "rename", "category": 2, "name": "x", "seq": 1},
        {"verb": "rename", "category": 2, "name": "x", "time": "never"},
        {"verb": "rename", "category": 2, "name": "x", "path": "/etc/passwd"},
        {"verb": "merge", "into": 2, "categories": []},
        {"verb": "merge", "into": 2, "categories": [2]},
        {"verb": "merge", "into": 2, "categories": [0]},
        {"verb": "merge", "into": 2, "categories": "0"},
        {"verb": "move", "items": [60], "to": 0},
        {"verb": "move", "items": [-1], "to": 0},
        {"verb": "move", "items": ["1"], "to": 0},
        {"verb": "move", "items": [], "to": 0},
        {"verb": "move", "items": {"0": 1}, "to": 0},
        {"verb": "move", "items": [10**40], "to": 0},
        {"verb": "split", "category": 2, "parts": [[1]]},
        {"verb": "split", "category": 2, "parts": [[0], [0]]},
        {"verb": "split", "category": 2, "parts": 3},
        {"verb": "create", "items": [1], "name": 3},
        {"verb": "create", "items": [1], "ids": [99]},
        {"verb": "confirm"},
        {"verb": "confirm", "items": [1], "category": 2},
        {"verb": "merge", "into": 99, "categories": [2]},
        {"verb": "merge", "into": 2, "categories": [99]},
        {"verb": "move", "items": [1], "to": 99},
        {"verb": "move", "items": [[1]], "to": 0},
        {"verb": "confirm", "category": 99},
        {"verb": "ignore", "items": None},
        {"verb": "different", "categories": [1]},
        {"verb": "different", "categories": [1, 1]},
        {"verb": "reject", "items": [1], "category": 3, "to": [0]},
        {"verb": "undo"},
        {"verb": "undo", "of": 3},
        {"verb": "redo"},
    ]
    for edit in edits:
        yield "/api/edits", json.dumps(edit)
    for given in ({"category": 99, "parts": 2}, {"category": 2, "parts": 99}, {"category": 2, "parts": "2"}, {"x": 1}):
        yield "/api/split", json.dumps(given)
    for given in (
        {"to": "exe"},
        {"to": "csv", "out": "../x"},
        {"to": "csv", "out": "/tmp/x"},
        {"to": ["csv"]},
        {"to": 1},
    ):
        yield "/api/export", json.dumps(given)
    yield "/api/round", '{"out": "/"}'


def misshapen(server):
    """What no browser sends, to the byte, and the code of the answer."""
    here, token = f"Host: {server.host}:{server.port}", f"X-Novakind-Token: {server.token}"
    ask, evil = f"/api/events?token={server.token}", "Origin: http://evil.example"
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ=="
    post = f"POST /api/edits HTTP/1.1\r\n{here}\r\n{token}\r\nContent-Type: application/json"

    def get(line, *headers):
        return "\r\n".join((f"{line} HTTP/1.1", here, *headers, "", ""))

    def sent(body):
        return f"{post}\r\nContent-Length: {len(body)}\r\n\r\n{body}"

    yield get("GET /api/events"), 403
    yield get("GET /api/events?token=x"), 403
    yield get(f"GET {ask}", evil), 403
    yield get(f"GET {ask}", evil, upgrade), 403
    yield get("GET /api/events", upgrade), 403
    yield get("GET /api/state?" + "&".join(f"token={server.token}" for _ in range(100))), 403
    yield get("HEAD /api/state"), 403
    yield get("HEAD /api/edits", token), 405
    yield get("OPTIONS /api/edits", evil, "Access-Control-Request-Method: POST"), 403
    for method in ("OPTIONS *", "CONNECT evil.example:443", "PROPFIND /", "FOO /", "TRACE /"):
        yield get(method, token), 405
    yield get("GET http://evil.example/api/state", token), 404
    yield get("GET /api/state", token, "Host: evil.example"), 400
    yield get("GET /api/state", token, "X-A: " + "a" * 200_000), 400
    yield get("GET /api/state", token, *(f"X-{number}: a" for number in range(20_000))), 400
    yield get("GET /" + "a" * 200_000, token), 400
    yield f"GET / HTTP/1.1\r\n{token}\r\n\r\n", 400
    yield f"GET /api/state HTTP/1.0\r\n{token}\r\n\r\n", 403
    for size in ("zz", "f" * 30, "-1"):
        yield f"{post}\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n{{}}\r\n0\r\n\r\n", 400
    for length in ("-1", "1e3", "2\r\nContent-Length: 3", "2\r\nTransfer-Encoding: chunked"):
        yield f"{post}\r\nContent-Length: {length}\r\n\r\n0\r\n\r\n", 400
    yield sent('{"verb":"undo","verb":"rename","category":2,"name":"x"}'), 400
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000):
        yield sent(f'{{"verb":"move","items":[{number}],"to":1}}'), 400
        yield sent(f'{{"verb":"rename","category":2,"name":"x","base":{number}}}'), 400


def test_strangers_are_not_let_in(place):
    server, run = place
    count = 0
    for path, body, headers in strangers(server):
        code, answer = server.ask(path, body, headers=headers)
        assert 400 <= code < 500, (path, headers, code)
        assert set(answer) == {"error"} if isinstance(answer, dict) else b"cat" not in answer
        count += 1
    assert count > 100
    assert len({repr(one) for one in strangers(server)}) == count
    assert not (run / "edits.jsonl").exists()


def test_nonsense_is_refused_with_a_sentence_and_changes_nothing(place):
    server, run = place
    before, count = server.get("/api/state"), 0
    for path, body in nonsense():
        code, answer = (
            server.ask(path, raw=body) if body is None else server.ask(path, raw=body.encode("utf-8", "replace"))
        )
        assert 400 <= code < 500, (path, body and body[:80], code, answer)
        assert isinstance(answer, dict), (path, answer)
        assert answer["error"]
        assert "root:" not in str(answer)
        count += 1
    assert count > 200
    assert len(set(nonsense())) == count
    assert server.get("/api/state") == before
    assert not (run / "edits.jsonl").exists()
    assert not (run / "exports").exists()


def test_what_is_misshapen_to_the_byte_is_refused_and_changes_nothing(place):
    server, run = place
    before = server.get("/api/state")
    for data, code in misshapen(server):
        with socket.create_connection((server.host, server.port), timeout=30) as line:
            with contextlib.suppress(OSError):  # the server hung up before it had heard everything
                line.sendall(data.encode())
            assert line.recv(12).decode() == f"HTTP/1.1 {code}", data[:300]
    head = f"HEAD /api/events?token={server.token} HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n"
    with socket.create_connection((server.host, server.port), timeout=30) as line:
        line.sendall(f"{head}Connection: close\r\n\r\n".encode())
        with line.makefile("rb") as answer:
            assert answer.read().startswith(b"HTTP/1.1 200")  # to its end
    assert server.get("/api/state") == before
    assert not (run / "edits.jsonl").exists()


def test_a_body_that_is_too_large_is_refused_whatever_its_header_says(place):
    server, _ = place
    assert server.ask("/api/edits", raw=b"[" + b"1," * 200_000 + b"1]")[0] == 413
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert server.ask("/api/edits", {"verb": "undo"}, headers={"Content-Type": kind})[0] == 415
    line = http.client.HTTPConnection(server.host, server.port, timeout=30)
    head = {"X-Novakind-Token": server.token, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    try:
        line.request("POST", "/api/edits", iter([b"[" + b"1," * 50_000] * 20), head, encode_chunked=True)
        assert line.getresponse().status == 413
    except OSError:  # the server hung up before it had heard everything
        pass
    finally:
        line.close()
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert server.ask("/api/edits", method=method)[0] == 405
    assert server.ask("/api/edits", method="GET")[0] == 405
    assert server.ask("/api/state", {}, method="POST")[0] == 405
    with socket.create_connection((server.host, server.port), timeout=30) as raw:
        raw.sendall(b"\x00\xffnonsense\r\n\r\n")
        assert b"400" in raw.recv(100)
    assert server.get("/api/state")["version"] == 0


def test_names_are_escaped_and_the_page_may_run_nothing_but_its_own_code(place):
    server, _ = place
    assert server.edit("rename", category=2, name=HOSTILE)[0] == 200
    page = server.get(f"/?token={server.token}").decode()
    assert HOSTILE not in page
    policy = server.own.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert server.own.headers["x-content-type-options"] == "nosniff"
    assert server.token not in page
    assert server.ask("/api/state")[1]["categories"][2]["name"] == HOSTILE
    assert server.own.headers["content-type"] == "application/json"
    assert server.own.headers["cache-control"] == "no-store"
    assert server.edit("undo")[0] == 200
