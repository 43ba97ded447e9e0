"""The pictures of the review: one of the page, and a moving one of the way from unnamed categories to the next round.

    python experiments/journey.py               # digits with --novel 7; writes docs/review.png and docs/review.webp
    python experiments/journey.py --run RUN     # of a run of the digits that is there already

It needs Chromium and the extra dev. What is typed and clicked is what a person would: the truth of the digits tells
which names to type.
"""

from __future__ import annotations

import argparse
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from novakind.app.demo import write_digits

DOCS = Path(__file__).parents[1] / "docs"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
WIDE, TALL = 1180, 760
SCALE = 0.82  # of the moving picture
QUALITY = 62

# a pointer and a line of words, which screenshots have not by themselves
STAGE = """() => {
  const line = document.createElement("div"), spot = document.createElement("div");
  line.id = "caption";
  line.style.cssText = "position:fixed;left:24px;bottom:22px;z-index:99;padding:10px 18px;border-radius:12px;" +
    "background:#3155c6;color:#fff;font-weight:600;font-size:17px;box-shadow:0 10px 30px -8px rgb(0 0 0/.5)";
  spot.style.cssText = "position:fixed;z-index:99;width:20px;height:20px;margin:-10px;border-radius:50%;left:-50px;" +
    "background:rgb(49 85 198/.45);border:2px solid #fff;box-shadow:0 1px 5px rgb(0 0 0/.5);pointer-events:none";
  document.body.append(line, spot);
  addEventListener("pointermove", event => {
    spot.style.left = `${event.clientX}px`;
    spot.style.top = `${event.clientY}px`;
  }, { capture: true });
}"""
MAJORITY = """() => living().filter(one => one.new).map(one => {
  const counts = {};
  for (const item of one.typical) counts[data.rows[item].truth] = (counts[data.rows[item].truth] ?? 0) + 1;
  return [one.id, Number(Object.entries(counts).sort((a, b) => b[1] - a[1])[0][0])];
})"""


class Film:
    """Frames of a page, each with how long it stays."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.times: list[int] = []

    def caption(self, words: str) -> None:
        """What the next frames show."""
        self.page.evaluate("words => { document.getElementById('caption').textContent = words; }", words)

    def shoot(self, milliseconds: int) -> None:
        """One frame."""
        with Image.open(io.BytesIO(self.page.screenshot())) as shot:
            frame = shot.convert("RGB")
        self.frames.append(
            frame.resize((round(SCALE * frame.width), round(SCALE * frame.height)), Image.Resampling.LANCZOS)
        )
        self.times.append(milliseconds)

    def rest(self) -> None:
        """Until everything is saved and drawn."""
        for _ in range(2_000):
            self.page.wait_for_timeout(40)
            pictures = "[...document.images].every(one => one.complete || !one.getClientRects().length)"
            if self.page.evaluate(f"post.waiting === 0 && !fresh.running && {pictures}"):
                return
        raise TimeoutError("the page does not come to rest")

    def save(self, file: Path) -> None:
        """The moving picture, without an end."""
        self.frames[0].save(
            file, save_all=True, append_images=self.frames[1:], duration=self.times, loop=0, quality=QUALITY, method=4
        )


@contextmanager
def review(run: Path) -> Iterator[str]:
    """The address of `novakind review`."""
    command = [sys.executable, "-m", "novakind", "review", str(run), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            found = re.search(r"http\S+", server.stdout.readline() if server.stdout else "")
            if found is None:
                raise RuntimeError("novakind review has printed no address")
            yield found[0]
        finally:
            server.terminate()


def name_all(film: Film, picture: Path) -> None:
    """Names by keyboard; a name that is there already offers a merge."""
    page, done = film.page, set()
    film.caption("Type a name, press Enter: the next category follows")
    page.locator("#new-cards input.name").first.focus()
    for category, digit in page.evaluate(MAJORITY):
        word = WORDS[digit]
        page.locator(f"[data-keep='name-{category}']").focus()
        if word in done:
            film.caption("A name that is there already offers a merge")
        for sign in word:
            page.keyboard.type(sign)
            film.shoot(110)
        film.shoot(300)
        page.keyboard.press("Enter")
        if word in done:
            page.wait_for_timeout(200)
            film.shoot(2_000)
            page.keyboard.press("Enter")
        film.rest()
        done.add(word)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    film.rest()
    page.evaluate("document.getElementById('caption').hidden = true")
    page.set_viewport_size({"width": 1360, "height": 1080})
    film.rest()
    with Image.open(io.BytesIO(page.screenshot())) as still:
        still.convert("RGB").save(picture, optimize=True)
    page.set_viewport_size({"width": WIDE, "height": TALL})
    page.evaluate("document.getElementById('caption').hidden = false")
    film.rest()
    film.shoot(1_200)


def correct(film: Film) -> None:
    """All items of a category, the least sure first; the first ones are sent away."""
    page = film.page
    film.caption("All items of a category, the least sure first")
    page.locator("#new-cards .card-actions a").first.click()
    page.wait_for_selector(".cell-item[aria-label]")
    film.rest()
    film.shoot(1_300)
    cells = page.locator(".cell-item:visible")
    first, last = cells.nth(0).bounding_box(), cells.nth(3).bounding_box()
    if first is None or last is None:
        raise RuntimeError("the grid shows no items")
    film.caption("Draw a band around those that do not belong")
    page.mouse.move(first["x"] - 6, first["y"] + 8)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(first["x"] + step / 5 * (last["x"] + 40 - first["x"]), first["y"] + 14 * step)
        film.shoot(90)
    page.mouse.up()
    film.shoot(900)
    film.caption("N: not this category. It is remembered, and undone by Ctrl + Z")
    page.keyboard.press("n")
    film.rest()
    film.shoot(1_400)
    page.keyboard.press("Control+z")
    film.rest()
    film.shoot(1_200)


def decide(film: Film) -> None:
    """The queue."""
    page = film.page
    film.caption("The queue: what helps most, by keys")
    page.evaluate("location.hash = '#/queue'")
    page.wait_for_selector("#queue-picture img")
    film.rest()
    film.shoot(1_200)
    for key in ("y", "y", "1", "y", "n", "y"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        film.rest()
        film.shoot(600)


def look_around(film: Film) -> None:
    """The lasso on the map."""
    page = film.page
    film.caption("The map, with a lasso")
    page.evaluate("location.hash = ''")
    page.locator("#map h2").evaluate("heading => heading.scrollIntoView()")
    film.rest()
    page.locator("#lasso").click()
    film.shoot(900)
    box = page.locator("#canvas").bounding_box()
    if box is None:
        raise RuntimeError("the map is not shown")
    spots = page.evaluate("data.map.points.map(toScreen)")
    x, y = spots[0]
    page.mouse.move(box["x"] + max(20, x - 90), box["y"] + max(20, y - 70))
    page.mouse.down()
    for dx, dy in ((0, -85), (90, -70), (110, 0), (90, 70), (0, 85), (-90, 70), (-110, 0)):
        page.mouse.move(box["x"] + x + dx, box["y"] + min(max(y + dy, 4), box["height"] - 4), steps=3)
        film.shoot(90)
    page.mouse.up()
    film.shoot(1_800)
    page.keyboard.press("Escape")


def go_on(film: Film) -> None:
    """The next round."""
    page = film.page
    film.caption("Then learn again from what you decided")
    page.evaluate("scrollTo(0, 0)")
    page.locator("#round-open").click()
    page.wait_for_timeout(200)
    film.shoot(2_600)


def play(address: str, picture: Path, moving: Path) -> None:
    """The whole way."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDE, "height": TALL})
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        page.evaluate(STAGE)
        film = Film(page)
        film.rest()
        film.caption("Categories that nobody has named")
        film.shoot(1_600)
        steps: tuple[Callable[[Film], None], ...] = (
            lambda film: name_all(film, picture),
            correct,
            decide,
            look_around,
            go_on,
        )
        for step in steps:
            step(film)
        film.save(moving)
        print(
            f"{picture}: {picture.stat().st_size // 1000} kB; {moving}: {moving.stat().st_size // 1000} kB, "
            f"{len(film.frames)} frames, {sum(film.times) / 1000:.0f} s"
        )
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "digits-run"
        if options.run:
            shutil.copytree(options.run, copy, ignore=shutil.ignore_patterns("edits*"))
        else:
            root, truth = write_digits(Path(folder))
            words = ["--novel", "7", "--preset", "glyphs", "--truth", str(truth), "--seed", "5", "--out", str(copy)]
            subprocess.run([sys.executable, "-m", "novakind", "discover", str(root), *words], check=True)
        with review(copy) as address:
            play(address, options.out / "review.png", options.out / "review.webp")


if __name__ == "__main__":
    main()
