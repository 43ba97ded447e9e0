"""Signals in the report: outlines instead of pictures, small, true to peaks and gaps, drawn by a browser."""

import base64
import re
import sys
from collections import Counter

import numpy as np
import pytest
from runs import CHROMIUM, HOSTILE, PLAY, browse, data_of, waves, write_run

from novakind.modality.display import Signals
from novakind.results.report import write_report
from novakind.results.report.signals import colours, gather_signals, outline, pack, panels


def unpack(low, high, code, channels):
    levels = np.frombuffer(base64.b64decode(code), np.uint8).reshape(channels, -1).astype(float)
    low, high = (np.array(ends, dtype=float)[:, None] for ends in (low, high))
    return np.where(levels == 255, np.nan, low + levels / 254 * (high - low))


def test_signals_are_read_once_and_take_the_place_of_pictures(tmp_path):
    signals, asked = waves(write_run(tmp_path)), Counter()

    def row(item):
        asked[item] += 1
        return signals.row(item)

    page = write_report(tmp_path, Signals(signals.channels, signals.rate, signals.unit, row))
    data = data_of(page.read_text(encoding="utf-8"))
    found = data["signals"]
    assert asked == Counter(range(60))
    assert data["pictures"] == {}
    assert (found["channels"], found["rate"], found["unit"]) == (["x", "y", "z"], 50, "m/s²")
    assert {int(item) for item in found["items"]} == set(range(60))
    assert set(found["categories"]) == {"0", "1", "2"}
    assert sum(one["total"] for one in found["categories"].values()) == 60
    for one in found["categories"].values():
        mean, low, high = (unpack(*one[key], 3) for key in ("mean", "low", "high"))
        assert mean.shape == (3, 60)
        assert (low <= mean + 0.05).all()
        assert (mean <= high + 0.05).all()


@pytest.mark.parametrize("time", [1, 59, 60, 61, 128, 5000])
@pytest.mark.parametrize("level", [0.0, 101325.0])
def test_an_outline_keeps_peaks_and_gaps(time, level):
    row = level + 0.01 * np.random.default_rng(time).normal(size=(3, time))
    row[1, time // 2] += 9
    row[2] = np.nan
    lines = outline(row)
    found = unpack(*pack(lines), 3)
    assert lines.shape == (3, min(time, 60))
    assert lines[:2].max(1) == pytest.approx(row[:2].max(1))
    assert lines[:2].min(1) == pytest.approx(row[:2].min(1))
    assert np.isnan(found[2]).all()
    for channel in (0, 1):
        assert found[channel] == pytest.approx(lines[channel], abs=0.01 * max(np.ptp(lines[channel]), 1e-9))


def test_channels_share_a_panel_where_none_looks_flat():
    low, high = np.full(9, -1.0), np.full(9, 1.0)
    sensors = [f"{sensor}_{axis}" for sensor in ("acc", "gyro", "mag") for axis in "xyz"]
    assert panels(sensors, low, high) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert colours(sensors) == [0, 1, 2] * 3
    assert panels([f"lead {k}" for k in range(9)], low, high) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert panels(["x", "y", "z"], low[:3], np.array([1, 1, 30.0])) == [[0, 1], [2]]
    assert panels(["left", "right"], low[:2], high[:2]) == [[0, 1]]
    assert colours(["left", "right", "heat"]) == [0, 1, 2]
    assert panels(["a", "b"], np.array([np.nan, 5.0]), np.array([np.nan, 5.0])) == [[0, 1]]


def test_signals_have_one_scale_unless_they_would_look_flat():
    swing = np.sin(np.linspace(0, 20, 100))[None]
    sizes = (1, 0.5, 0.01)
    signals = Signals(("x",), 0, "", lambda item: 1e9 * swing if item == 299 else sizes[item // 100] * swing)
    found = gather_signals(signals, np.repeat([0, 1, 2], 100), [])
    (common,) = found["common"]
    assert common == pytest.approx([-1.1, 1.1], abs=0.01)
    assert [found["categories"][k]["scales"][0][2] for k in range(3)] == [1, 1, 100]
    assert found["categories"][1]["scales"][0][:2] == common


ODD = {
    "missing": lambda item: np.where(np.arange(300).reshape(3, 100) % (item + 2), np.nan, np.inf if item % 2 else 3.0),
    "nothing": lambda item: np.full((3, 50), np.nan),
    "constant": lambda item: np.full((3, 50), 7.0),
    "short": lambda item: np.ones((3, 1)) * item,
    "empty": lambda item: np.zeros((3, 0)),
    "uneven": lambda item: np.random.default_rng(item).normal(size=(3, 1 + item * 9)),
    "huge": lambda item: np.random.default_rng(item).normal(size=(3, 90)) * 10.0 ** (8 * item - 200),
    "many": lambda item: np.random.default_rng(item).normal(size=(12, 90)) * np.arange(12)[:, None] ** 6,
    "whole": lambda item: np.arange(180).reshape(3, 60),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_signals_are_no_trouble(tmp_path, kind):
    signals = Signals(tuple("abcdefghijkl" if kind == "many" else "xyz"), 0.0, "", ODD[kind])
    for items in (1, 40):
        run = write_run(tmp_path / str(items), items=items)
        data = data_of(write_report(run, signals).read_text(encoding="utf-8"))["signals"]
        assert len(data["items"]) == (0 if kind == "empty" else items)
        assert len(data["channels"]) == (9 if kind == "many" else 3)
        assert all(low < high for low, high in data["common"])
        assert [one for panel in data["panels"] for one in panel] == list(range(len(data["channels"])))


def test_a_page_of_many_signals_stays_small(tmp_path, monkeypatch):
    module = sys.modules["novakind.results.report.layout"]
    monkeypatch.setattr(module, "project", lambda rows: (np.zeros((len(rows), 2)), "none"))
    for channels, megabytes in (("x", "y", "z"), 1.5), (tuple("abcdefghi"), 4):
        run = write_run(tmp_path / str(len(channels)), items=2100)
        page = write_report(run, waves(run, channels, time=300))
        assert page.stat().st_size < megabytes * 1e6


HOVER = """
<script>
const at = toScreen(data.map.points[3]), stage = canvas.getBoundingClientRect();
const where = { clientX: stage.x + at[0], clientY: stage.y + at[1], pointerType: "mouse", bubbles: true };
canvas.dispatchEvent(new PointerEvent("pointermove", where));
document.documentElement.dataset.hover = document.querySelectorAll("#tip .signal .wave").length;
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_signals(tmp_path):
    run = write_run(tmp_path / "run", names=["walk", "rest", "new-1", "new-2", "new-3"])
    text = write_report(run, waves(run, ("x", HOSTILE, "z"))).read_text(encoding="utf-8")
    page = tmp_path / "hover.html"
    page.write_text(text.replace("</body>", f"{HOVER}</body>"), encoding="utf-8")
    dom = browse(page, tmp_path / "browser")
    assert re.search(r'<html[^>]*data-hover="3"', dom)
    assert "data-error" not in dom.split(">")[1]
    assert dom.count('class="typical-signal"') == 4  # the fifth category is empty
    assert dom.count("time in seconds") == 4 + 1  # and once in the script
    assert dom.count('<p class="unit">m/s²</p>') == 4
    assert re.search(r'<div class="values"[^>]*><span style="top: [\d.]+%;">−\d</span>', dom)
    assert re.search(r'<div class="times"[^>]*><span style="left: 0%;">0</span>', dom)
    assert dom.count('class="band"') == 4 * 3
    assert dom.count('class="spark signal"') == dom.count('data-item="') + 1 > 40
    assert "enlarged ×" in dom.split("<script type=")[0]
    assert '<img src="x"' not in dom
    assert "NaN" not in "".join(re.findall(r' d="[^"]*"', dom))


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("kind", ["missing", "many", "uneven", "empty", "huge"])
def test_every_control_works_with_odd_signals(tmp_path, kind):
    run = write_run(tmp_path / "run", items=24)
    signals = Signals(tuple("abcdefghijkl" if kind == "many" else "xyz"), 0.0, "a long unit", ODD[kind])
    text = write_report(run, signals).read_text(encoding="utf-8")
    page = tmp_path / "play.html"
    page.write_text(text.replace("</body>", f"{PLAY}</body>"), encoding="utf-8")
    dom = browse(page, tmp_path / "browser")
    assert re.search(r"<html[^>]*data-played", dom)
    assert "data-error" not in dom.split(">")[1]
    assert ("Not shown: 3 more channels." in dom) == (kind == "many")
    assert ("values in a long unit" in dom) == (kind != "empty")
    assert not re.search(r'(?: d|top|left|[xy][12])="[^"]*(?:NaN|Infinity|undefined)', dom)
