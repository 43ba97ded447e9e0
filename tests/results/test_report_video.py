import base64
import io
import re
import sys
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from runs import CHROMIUM, HOSTILE, PLAY, browse, data_of, films, write_run

import novakind.results.report.clips as module
from novakind.modality.display import Clips, Pictures
from novakind.results.report import write_report
from novakind.results.report.clips import ON_CARDS, gather_clips, picked, strips

BROWSER = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def opened(uri):
    kind, code = uri.split(",")
    assert kind == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(code)))


def page_of(run, clips):
    text = write_report(run, clips).read_text(encoding="utf-8")
    return text, data_of(text)


def test_clips_take_the_place_of_pictures(tmp_path):
    asked, clips = Counter(), films(write_run(tmp_path), frames=20, side=48)

    def row(item):
        asked[item] += 1
        return clips.row(item)

    text, data = page_of(tmp_path, Clips(10, row))
    assert data["clips"]["fps"] == 10
    assert {int(item) for item in data["clips"]["items"]} == {int(item) for item in data["pictures"]} == set(range(60))
    assert max(asked.values()) <= 2
    assert sum(asked.values()) <= 60 + 2 * module.TRIED
    assert all(text.count(f'"{item}":"data:') == 1 for item in range(60))
    for item, (frames, total, aspect) in data["clips"]["items"].items():
        assert (frames, total, aspect) == ([0, 3, 5, 8, 11, 14, 16, 19], 20, 1)
        assert opened(data["pictures"][item]).size == (8 * 48, 48)


def test_without_clips_there_are_pictures(tmp_path):
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG")
    page = write_report(write_run(tmp_path), Pictures(lambda item: buffer.getvalue()))
    data = data_of(page.read_text(encoding="utf-8"))
    assert data["clips"] is None
    assert all(uri.startswith("data:image/png") for uri in data["pictures"].values())
    assert len(data["pictures"]) == 60


def test_a_strip_shows_the_frames_in_their_order():
    shades = np.arange(10, 250, 10, dtype=np.uint8)
    row = np.broadcast_to(shades[None, :, None, None], (3, 24, 40, 60)).copy()
    uris, about = gather_clips(Clips(12, lambda item: row), [5], [])
    (frames, total, aspect) = about["items"][5]
    strip = np.asarray(opened(uris[5]).convert("L")).astype(float)
    middles = strip.reshape(40, 8, 60)[20, :, 30]
    assert (total, aspect) == (24, 1.5)
    assert np.abs(middles - shades[frames]).max() < 6


@pytest.mark.parametrize("total", [1, 2, 3, 8, 9, 64, 1000])
@pytest.mark.parametrize("wanted", [1, 4, 8])
def test_frames_are_picked_from_the_first_to_the_last(total, wanted):
    frames = picked(total, wanted)
    assert len(frames) == len(set(frames)) == min(total, wanted)
    assert frames == sorted(frames)
    if wanted > 1:
        assert (frames[0], frames[-1]) == (0, total - 1)
    else:
        assert frames == [total // 2]


SHAPES = [(1, 64), (2, 64), (64, 8), (3, (40, 120)), (9, (160, 60)), (8, (1, 1)), (5, (2, 300)), (4, (300, 2))]


@pytest.mark.parametrize(("frames", "side"), SHAPES)
def test_odd_clips_are_no_trouble(tmp_path, frames, side):
    run = write_run(tmp_path, items=12)
    height, width = (side, side) if isinstance(side, int) else side
    _, data = page_of(run, films(run, frames, side))
    for item, (shown, total, aspect) in data["clips"]["items"].items():
        picture = opened(data["pictures"][item])
        assert (len(shown), total) == (min(8, frames), frames)
        assert picture.width % len(shown) == 0
        assert 32 <= max(picture.width // len(shown), picture.height) <= 160
        assert aspect == pytest.approx(picture.width / len(shown) / picture.height, abs=1e-4)
        if min(width, height) > 2:
            assert aspect == pytest.approx(width / height, rel=0.02)


def test_what_cannot_be_read_is_shown_without_a_picture(tmp_path):
    clips = films(write_run(tmp_path), frames=4, side=16)

    def row(item):
        if item % 5 == 1:
            raise OSError("the file is gone")
        if item % 5 == 2:
            raise ValueError("the file is damaged")
        return np.zeros((3, 0, 16, 16), np.uint8) if item % 5 == 3 else clips.row(item)

    for fps in (0.0, float("nan"), float("inf"), 8.0):
        _, data = page_of(tmp_path, Clips(fps, row))
        assert {int(item) % 5 for item in data["pictures"]} == {0, 4}
        assert data["pictures"].keys() == data["clips"]["items"].keys()
        assert data["clips"]["fps"] == (8 if fps == 8 else 0)
    assert page_of(tmp_path, Clips(8, lambda item: np.zeros((3, 0, 9, 9), np.uint8)))[1]["pictures"] == {}


def test_when_the_bytes_are_spent_there_are_stills_and_then_nothing(tmp_path):
    clips = films(write_run(tmp_path), frames=8, side=64)
    found = strips(clips, list(range(60)), ON_CARDS[-1:], 20_000, 5_000)
    lengths = [len(frames) for _, (frames, _, _) in found.values()]
    assert lengths == sorted(lengths, reverse=True)
    assert set(lengths) == {8, 1}
    assert len(lengths) < 60
    assert sum(len(uri) for uri, _ in found.values()) < 20_000 + 5_000 + 3_000


def test_few_clips_are_drawn_finer_than_many(tmp_path):
    clips = films(write_run(tmp_path), frames=8, side=128, noise=40)
    sizes = [opened(strips(clips, [0, 1, 2], ON_CARDS, budget)[0][0]).height for budget in (10**6, 60_000, 1000)]
    assert sizes[0] == 128 > sizes[1] > sizes[2] == 48


@pytest.mark.parametrize("noise", [6, 60])
def test_a_page_of_many_clips_stays_small(tmp_path, monkeypatch, noise):
    drawn, draw = {}, module.draw

    def once(frames, size):
        key = (frames.tobytes(), size)
        drawn[key] = drawn.get(key) or draw(frames, size)
        return drawn[key]

    monkeypatch.setattr(module, "draw", once)
    monkeypatch.setattr(
        sys.modules["novakind.results.report.layout"], "project", lambda rows: (np.zeros((len(rows), 2)), "none")
    )
    run = write_run(tmp_path, names=[f"action {k}" for k in range(30)], known=15, items=6000)
    clips = films(run, frames=8, side=96, noise=noise)
    rows = [clips.row(item) for item in range(12)]
    text, data = page_of(run, Clips(8, lambda item: rows[item % 12]))
    shown = {item for one in data["categories"] for item in one["typical"] + one["doubtful"]}
    lengths = {int(item): len(frames) for item, (frames, _, _) in data["clips"]["items"].items()}
    assert len(shown) > 600
    assert len(data["map"]["items"]) == 2000
    assert all(lengths[item] == 8 for item in shown)
    assert len(lengths) > 1500
    assert 4e6 < len(text) < 8e6


def browsed(tmp_path, run, clips, script, *flags):
    """The page as a browser has drawn it after the script, and what the script left on its root element."""
    text, _ = page_of(run, clips)
    page = tmp_path / "page.html"
    page.write_text(text.replace("</body>", f"<script>{{{script}}}</script></body>"), encoding="utf-8")
    dom, html = finished(page, tmp_path, *flags)
    assert "data-error" not in html
    return dom, dict(re.findall(r'data-(\w+)="([^"]*)"', html))


def finished(page, folder, *flags):
    """The page and its root element once the script is done: virtual time runs out where a busy machine draws late."""
    for attempt in range(5):
        dom = browse(page, folder / f"browser{attempt}", *flags)
        html = re.search(r"<html[^>]*data-(left|played|error)[^>]*>", dom)
        if html is not None:
            return dom, html[0]
    raise AssertionError("the script did not come to its end")


VISIT = """
const root = document.documentElement.dataset, poster = document.querySelector(".item:has(.clip)");
const box = poster.querySelector(".clip"), middle = { clientX: 300, clientY: 300, pointerType: "mouse", bubbles: true };
const wait = time => new Promise(done => setTimeout(done, time));
const drawn = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
const stand = () => Math.round(new DOMMatrix(getComputedStyle(box.firstChild).transform).e / box.clientWidth * 100);
const tipped = () => `${$("tip").querySelectorAll(".clip").length} ${$("tip").querySelectorAll("[data-timer]").length}`;
const state = () => `${box.dataset.timer ? "plays" : "rests"}, ${$("tip").hidden ? "no tip" : "tip"}`;
const point = (target, kind, more) => target.dispatchEvent(new PointerEvent(kind, { ...middle, ...more }));
const shown = () => document.querySelector(".screen .clip").style.getPropertyValue("--frame");

async function visit() {
  root.width = box.firstChild.naturalWidth;
  const seen = [stand()], large = new Set();
  point(poster, "pointerenter");
  point(poster, "pointermove");
  await wait(200);
  seen.push(stand());
  root.tip = tipped();
  point(poster, "pointerleave");
  root.seen = [...seen, stand()].join(" ");

  const at = toScreen(data.map.points[3]), stage = canvas.getBoundingClientRect();
  point(canvas, "pointermove", { clientX: stage.x + at[0], clientY: stage.y + at[1] });
  root.map = tipped();
  hideTip();

  poster.focus();
  await drawn();
  root.focus = state();
  poster.blur();
  root.blur = state();

  poster.click();
  for (let k = 0; k < 15; k += 1) {
    await wait(60);
    large.add(shown());
  }
  root.large = large.size;
  root.times = [...document.querySelectorAll("#viewer .frame small")].map(one => one.textContent).join(" ");
  document.querySelectorAll("#viewer .frame")[5].click();
  root.chosen = shown();
  await wait(300);
  root.held = `${document.querySelector(".screen").className} ${shown()}`;
  root.left = document.querySelectorAll("[data-timer]").length;
}
addEventListener("load", visit);
"""


@BROWSER
def test_a_browser_plays_clips(tmp_path):
    run = write_run(tmp_path / "run", paths=[f"{HOSTILE}/{i}.avi" for i in range(60)])
    dom, found = browsed(tmp_path, run, films(run, frames=16, side=32), VISIT)
    before, during, after = map(int, found["seen"].split())
    assert before == after == pytest.approx(-416, abs=4)  # the fifth of eight frames, 4 % larger than its window
    assert during != before
    assert found["width"] == str(8 * 32)
    assert found["tip"] == found["map"] == "1 1"
    assert (found["focus"], found["blur"]) == ("plays, tip", "rests, no tip")
    assert int(found["large"]) > 4
    assert found["times"] == "0.00 s 0.25 s 0.50 s 0.75 s 1.13 s 1.38 s 1.63 s 1.88 s"
    assert (found["chosen"], found["held"], found["left"]) == ("5", "screen held 5", "0")
    assert dom.count('class="clip"') == dom.count('data-item="') > 40
    assert "8 of 16 frames, 2.00 s" in dom
    assert "Point at a clip to play it" in dom
    assert '<img src="x"' not in dom


@BROWSER
def test_nothing_moves_for_readers_who_asked_for_less_motion(tmp_path):
    run = write_run(tmp_path / "run")
    dom, found = browsed(tmp_path, run, films(run, side=32, fps=0), VISIT, "--force-prefers-reduced-motion")
    assert len(set(found["seen"].split())) == 1
    assert found["tip"] == found["map"] == "8 0"
    assert (found["focus"], found["blur"]) == ("rests, tip", "rests, no tip")
    assert found["large"] == "1"
    assert found["times"] == "#1 #3 #5 #7 #10 #12 #14 #16"
    assert (found["chosen"], found["left"]) == ("5", "0")
    assert re.search(r'<button[^>]* class="screen held"[^>]* disabled', dom)
    assert "Point at a clip to see its frames" in dom


@BROWSER
def test_every_control_works_with_odd_clips(tmp_path):
    run = write_run(tmp_path / "run", items=40)
    kinds = [films(run, frames, side) for frames, side in SHAPES]

    def row(item):
        if item % 9 == 8:
            raise OSError("the file is gone")
        return kinds[item % 9].row(item)

    dom, found = browsed(tmp_path, run, Clips(8, row), re.sub(r"</?script>", "", PLAY))
    assert "played" in found
    assert dom.count('class="clip"') > 20
    assert dom.count(" bare") > 2
