"""The review's server: the page, its data as JSON, edits that are safe on disk before they are acknowledged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from novakind.disk import check_inside
from novakind.errors import UserError
from novakind.results.export import export
from novakind.results.report.page import STATIC, finite, read, review_page
from novakind.results.review import suggest
from novakind.results.review.desk import Desk
from novakind.results.review.security import TooLargeError
from novakind.results.review.splitting import check_split, split_preview
from novakind.runs.asked import ConflictError, is_whole

PACE = 0.3  # seconds between two looks at what other processes wrote
HEARTBEAT = 15  # seconds of silence after which a stream says that it lives
AT_ONCE = 500  # rows in one answer
SIGNATURES = {b"\x89PNG": "image/png", b"RIFF": "image/webp", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FORMS = {"csv": "labels.csv", "npz": "labels.npz", "folders": "", "imagefolder": "", "fiftyone": "", "labelstudio": ""}


def application(desk: Desk, is_closing: Callable[[], bool] = lambda: False) -> Starlette:
    """All addresses of a review; who may ask is decided before, by `Guard`."""

    def told(body: Any, code: int = 200, **headers: str) -> Response:
        text = json.dumps(finite(body), allow_nan=False, separators=(",", ":"))
        return Response(text, code, headers, "application/json")

    async def page(request: Request) -> Response:
        return HTMLResponse(review_page(desk.found_name()))

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            raise HTTPException(404)
        return Response(read(name), media_type=TYPES[Path(name).suffix], headers={"cache-control": "no-cache"})

    async def run(request: Request) -> Response:
        return told(await run_in_threadpool(desk.about))

    async def state(request: Request) -> Response:
        return told(await run_in_threadpool(desk.state))

    async def table(request: Request) -> Response:
        tag = f'"{desk.review.state.version}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"etag": tag})
        version, columns = await run_in_threadpool(desk.table)
        return Response(columns, headers={"etag": f'"{version}"'}, media_type="application/octet-stream")

    async def order(request: Request) -> Response:
        return Response(await run_in_threadpool(desk.order), media_type="application/octet-stream")

    async def rows(request: Request) -> Response:
        given = request.query_params.get("items", "").split(",")
        if len(given) > AT_ONCE:
            raise UserError(f"{len(given)} rows are asked for, but {AT_ONCE} are the most: ask for fewer at a time")
        return told(await run_in_threadpool(desk.rows, [as_item(desk, one) for one in given]))

    async def picture(request: Request) -> Response:
        name = request.path_params["item"]
        item = as_item(desk, name.removesuffix(".webp").removesuffix(".png"))
        found = await run_in_threadpool(desk.showing.picture, item, request.query_params.get("large") == "1")
        kind = next((kind for start, kind in SIGNATURES.items() if found and found.startswith(start)), None)
        if found is None or kind is None:
            return told({"error": f"there is nothing to see of item {item}"}, 404)
        return Response(found, media_type=kind, headers={"cache-control": "private, max-age=86400"})

    async def neighbours(request: Request) -> Response:
        item, count = as_item(desk, request.path_params["item"]), number(request, "count", 50, 1, 10_000)
        return told(await run_in_threadpool(suggest.neighbours, desk.overview, item, count))

    def asking(find: Callable[..., Any], limit: int, most: int) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            wanted = number(request, "limit", limit, 1, most)

            def find_in_turn() -> Any:
                with desk.turn() as overview:
                    return find(overview, wanted)

            return told(await run_in_threadpool(find_in_turn))

        return endpoint

    async def merges(request: Request) -> Response:
        return told(await run_in_threadpool(desk.merges, number(request, "limit", 20, 1, 1_000)))

    async def queue(request: Request) -> Response:
        return told(await run_in_threadpool(desk.queue, number(request, "limit", 50, 1, 1_000)))

    async def split(request: Request) -> Response:
        given = await body_of(request)
        only(given, "category", "parts")

        def preview() -> Any:
            with desk.turn() as overview:
                members = check_split(overview, given.get("category"), given.get("parts", 2))
            return split_preview(desk.review.embedding, members, given.get("parts", 2), desk.showing)

        return told(await run_in_threadpool(preview))

    async def edits(request: Request) -> Response:
        given = await body_of(request)
        base = given.pop("base", None)
        if base is not None and not is_whole(base):
            raise UserError(f"base = {base!r:.50} is no version: give the number that the state had")
        if desk.gone:
            raise ConflictError(desk.gone)
        saved = await run_in_threadpool(desk.do, given, base)
        return told({"version": saved.version, "edit": saved.edit, "touched": list(saved.touched), "conflict": None})

    async def events(request: Request) -> Response:
        if request.method == "HEAD":  # a stream has no end to wait for
            return Response(media_type="text/event-stream")
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdigit() and len(last) < 10 else desk.review.state.version
        return StreamingResponse(
            stream(desk, after, is_closing), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def export_to(request: Request) -> Response:
        given = await body_of(request)
        only(given, "to", "out")
        form, name = given.get("to"), given.get("out", "")
        if not isinstance(form, str) or form not in FORMS:
            raise UserError(f"{form!r:.50} is no form of export: choose from {', '.join(FORMS)}")
        if not isinstance(name, str) or len(name) > 100 or not all(one.isalnum() or one in "-_." for one in name):
            raise UserError(f"{name!r:.50} is no name for an export: give letters, digits, - and _")
        out = desk.run / "exports" / ((name.strip(".") or FORMS[form]) or form)
        check_inside(out.parent)
        said = await run_in_threadpool(export, desk.run, out, form, movable=form in ("csv", "npz"))  # a download
        if form not in ("csv", "npz"):
            return told({"path": str(out), "said": said})
        attached = f'attachment; filename="{FORMS[form]}"'
        kind = "text/csv; charset=utf-8" if form == "csv" else "application/octet-stream"
        return Response(out.read_bytes(), media_type=kind, headers={"content-disposition": attached})

    async def start_round(request: Request) -> Response:
        only(await body_of(request))
        return told(await run_in_threadpool(desk.rounds.start))

    async def see_round(request: Request) -> Response:
        return told(desk.rounds.state)

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(watch(desk))
        try:
            yield
        finally:
            watching.cancel()
            desk.rounds.stop()

    def refused(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            words = {404: "there is nothing at this address", 405: "this address does not do that"}
            return told({"error": words.get(error.status_code, str(error.detail))}, error.status_code)
        if isinstance(error, TooLargeError):
            return told({"error": "the body is too large: decide about fewer items at a time"}, 413)
        facts = error.facts if isinstance(error, ConflictError) else {}
        return told(
            {"error": str(error), "version": desk.review.state.version, **facts},
            409 if isinstance(error, ConflictError) else 400,
        )

    def failed(request: Request, error: Exception) -> Response:
        return told({"error": f"the server met {type(error).__name__}, and nothing was changed: {error}"[:300]}, 500)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/static/{name}", static),
            Route("/api/run", run),
            Route("/api/state", state),
            Route("/api/table", table),
            Route("/api/order", order),
            Route("/api/rows", rows),
            Route("/api/picture/{item}", picture),
            Route("/api/clip/{item}", picture),
            Route("/api/neighbours/{item}", neighbours),
            Route("/api/merges", merges),
            Route("/api/queue", queue),
            Route("/api/disbelieved", asking(suggest.disbelieved, 100, 1_000)),
            Route("/api/split", split, methods=["POST"]),
            Route("/api/edits", edits, methods=["POST"]),
            Route("/api/events", events),
            Route("/api/export", export_to, methods=["POST"]),
            Route("/api/round", start_round, methods=["POST"]),
            Route("/api/round", see_round),
        ],
        lifespan=living,
        exception_handlers={HTTPException: refused, UserError: refused, TooLargeError: refused, Exception: failed},
    )


async def watch(desk: Desk) -> None:
    """See what other processes write."""
    while True:
        await run_in_threadpool(desk.watch)
        await asyncio.sleep(PACE)


async def stream(desk: Desk, after: int, is_closing: Callable[[], bool]) -> AsyncIterator[str]:
    """Every edit beyond a version as it is written, whoever writes it."""
    yield ": hello\n\n"
    quiet = 0.0
    while not is_closing():
        news = desk.events(after)
        for one in news:
            after = one["version"]
            yield f"id: {after}\nevent: edit\ndata: {json.dumps(one, separators=(',', ':'))}\n\n"
        quiet = 0.0 if news else quiet + PACE / 3
        if quiet >= HEARTBEAT:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(PACE / 3)


async def body_of(request: Request) -> dict[str, Any]:
    """The body as a JSON object."""
    try:
        given = json.loads(await request.body(), parse_constant=no_number, object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise UserError("the body is no JSON, or says a name twice: send an object") from None
    if not isinstance(given, dict):
        raise UserError("the body is no JSON object: send one with names and values")
    return given


def no_number(word: str) -> None:
    raise ValueError(word)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different: of two values nobody knows which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def only(given: dict[str, Any], *names: str) -> None:
    odd = next((name for name in given if name not in names), None)
    if odd is not None:
        raise UserError(f"{odd:.50} is not asked for here: leave it out")


def as_item(desk: Desk, text: str) -> int:
    """The number of an item; a path is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 12) or int(text) >= desk.count:
        raise UserError(f"{text!r:.50} is no item: give a number from 0 to {desk.count - 1}")
    return int(text)


def number(request: Request, name: str, default: int, low: int, high: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise UserError(f"{name} = {text!r:.50} is out of range: give a number from {low} to {high}")
    return int(text)
