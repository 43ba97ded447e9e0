"""A review in a real browser, for tests: a run of handwritten digits, its server, Chromium."""

import json
import secrets
import threading
import time
from contextlib import contextmanager

import pytest
from runs import CHROMIUM

from novakind.app.cli import main
from novakind.app.demo import write_digits


@contextmanager
def served(run, shown=None):
    """The address of a review of the run; its items are shown as `shown`, where the run has no data."""
    uvicorn = pytest.importorskip("uvicorn", reason="the review is served by uvicorn, which the extra dev installs")
    from novakind.results.review.desk import Desk
    from novakind.results.review.security import Guard
    from novakind.results.review.serve import bound, hosts
    from novakind.results.review.server import application

    door, token = bound("127.0.0.1", 0), secrets.token_urlsafe(12)
    port = door.getsockname()[1]
    desk = Desk(run)
    if shown is not None:
        desk.showing.shown, desk.showing.display = type(shown).__name__.lower(), shown
    app = application(desk, lambda: server.should_exit)
    config = uvicorn.Config(Guard(app, token, hosts("127.0.0.1", port), 1_000_000), log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/?token={token}"
    finally:
        server.should_exit = True
        thread.join(20)


@contextmanager
def chromium():
    """Debian's Chromium, without a window."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium, which is not installed here")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, which the extra dev installs")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser, address, width=1280, height=900, **more):
    """The page as it first stands, and all that went wrong on it so far and later."""
    page = browser.new_context(viewport={"width": width, "height": height}, **more).new_page()
    page.set_default_timeout(60_000)
    mistakes = []
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    page.on("console", lambda line: mistakes.append(line.text) if line.type == "error" else None)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    return page, mistakes


def until(page, condition, seconds=60):
    """Wait for a condition in the page; playwright's own way needs eval, which the page's policy forbids."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        facts = "[location.hash, document.documentElement.dataset.error, state.version, post.waiting]"
        assert time.monotonic() < end, (condition, page.evaluate(facts))
        page.wait_for_timeout(30)


def settled(page):
    """Until everything is saved and drawn."""
    until(page, "post.waiting === 0 && !fresh.running")


def digits_run(folder, novel, epochs=30):
    """A short run on a third of the digits of the demonstration."""
    root, _ = write_digits(folder)
    for number, file in enumerate(sorted(root.rglob("*.png"))):
        if number % 3:
            file.unlink()
    words = ["discover", str(root), "--novel", str(novel), "--preset", "glyphs", "--batch", "100"]
    assert main([*words, "--epochs", str(epochs), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


def edits(run):
    """What was decided, as it is on disk."""
    file = run / "edits.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def words(page, verb="undo"):
    """What undo or redo would do."""
    settled(page)
    return page.locator(f"#{verb}").get_attribute("aria-label")
