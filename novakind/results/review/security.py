"""Security of the review's server: who may ask, from where, how much, and what a page may do with the answers."""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Iterable
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
OPEN = "/static/"  # the page's own code, which holds nothing of anybody


class Guard:
    """Lets in what has the token and comes from the page itself; all else gets a sentence and changes nothing."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str], limit: int) -> None:
        self.app, self.token, self.hosts, self.limit = app, token.encode(), set(hosts), limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                extra = HEADERS if b"cache-control" in there else HEADERS | {"cache-control": "no-store"}
                message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in extra.items())]
            await send(message)

        refused = self.refusal(scope)
        if refused:
            await answer(guarded, *refused)
            return
        await self.app(scope, self.limited(receive), guarded)

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """A code and a sentence for a request that may not be answered."""
        headers = {}
        for name, value in scope["headers"]:
            if name in headers and name in (b"host", b"origin", b"x-novakind-token", b"content-length"):
                return 400, f"the header {name.decode('latin-1')} is there twice: send it once"
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.is_own(host):
            return 403, f"{host[:80]!r} is not the address of this review: open the one that novakind review printed"
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower() != f"http://{host}".lower():
            return 403, "another site asks, and only the review's own page may: open the address that was printed"
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site"):
            return 403, "another site asks, and only the review's own page may: open the address that was printed"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, f"{scope['method'][:20]} is not what this server does: use GET or POST"
        if scope["path"].startswith(OPEN):
            return None
        if not self.has_token(scope, headers):
            return 403, "the token is missing or wrong: open the whole address that novakind review printed"
        if scope["method"] == "POST":
            return self.unfit_body(headers)
        return None

    def is_own(self, host: str) -> bool:
        if host in self.hosts:
            return True
        name = host.rpartition(":")[0].strip("[]")
        if "*" not in self.hosts:
            return False
        try:  # a page of another site can make its own name mean this machine, but not a number
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def has_token(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        given = headers.get(b"x-novakind-token")
        if given is None and scope["method"] in ("GET", "HEAD"):
            try:
                query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20)
            except ValueError:
                return False
            given = query.get("token", [""])[0].encode("utf-8", "replace")
        return hmac.compare_digest(given or b"", self.token)

    def unfit_body(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            return 415, "the body must be JSON: send it as application/json"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 18 or int(length) > self.limit:
            return 413, f"the body is larger than {self.limit} bytes: decide about fewer items at a time"
        return None

    def limited(self, receive: Receive) -> Receive:
        """The body, until it is too long."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise TooLargeError
            return message

        return counted


class TooLargeError(Exception):
    """A body that grew beyond the limit, whatever its header said."""


async def answer(send: Send, code: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": code, "headers": head})
    await send({"type": "http.response.body", "body": body})
