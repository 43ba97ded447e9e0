"""Accuracy against the number of items, as plain SVG: two panels, one line for each way to learn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from novakind.compare.bars import STYLE, shown
from novakind.compare.curves import BOTTOM, CURVES, HEIGHT, HUES, LINE, PANELS, TOP

WIDTH = 980
MARGIN = 100  # how far the second panel is moved, so that longer names have room behind the first

Lines = Mapping[str, Mapping[str, Mapping[int, float]]]


def draw(title: str, subtitle: str, lines: Lines) -> str:
    """The whole file; `lines` gives accuracies from 0 to 1 by title, panel ("known", "novel") and number of items."""
    told = "; ".join(
        f"{name}, {panel}: " + ", ".join(f"{count} items {100 * value:.1f} %" for count, value in points.items())
        for name, panels in lines.items()
        for panel, points in panels.items()
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img" aria-label="{shown(f"{title}. {told}", 10_000)}">',
            f"<style>{STYLE}{CURVES}</style>",
            f'<rect class="ground" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="14"/>',
            f'<text class="title" x="28" y="40">{shown(title, 80)}</text>',
            f'<text x="28" y="62">{shown(subtitle, 120)}</text>',
            *(line for panel in PANELS for line in one_panel(panel, lines)),
            "</svg>\n",
        ]
    )


def one_panel(panel: str, lines: Lines) -> Iterator[str]:
    """Numbers of items on a scale on which twice as many are always as far."""
    what, left, right = PANELS[panel]
    left, right = (left, right - MARGIN / 2) if panel == "novel" else (left + MARGIN / 2, right)
    counts = sorted({count for panels in lines.values() for count in panels.get(panel, ())})
    if not counts:
        return
    wide = math.log(counts[-1] / counts[0]) or 1.0

    def place(count: int, value: float) -> tuple[float, float]:
        x = left + (right - left) * math.log(count / counts[0]) / wide
        return round(x, 1), round(BOTTOM - (BOTTOM - TOP) * value, 1)

    yield f'<text class="end" x="{left}" y="{TOP - 16}">{what}</text>'
    for percent in range(0, 101, 20):
        y = place(counts[0], percent / 100)[1]
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text class="right" x="{left - 8}" y="{y + 4}">{percent}</text>'
    for count in counts:
        yield f'<text class="tick" x="{place(count, 0)[0]}" y="{BOTTOM + 20}">{count}</text>'
    yield f'<text class="tick" x="{(left + right) / 2}" y="{BOTTOM + 40}">items per class</text>'
    names: list[tuple[float, float, str, str]] = []
    for number, (title, panels) in enumerate(lines.items()):
        hue, points = HUES[number % len(HUES)], sorted(panels.get(panel, {}).items())
        if not points:
            continue
        places = [place(count, value) for count, value in points]
        yield f'<polyline class="curve" stroke="{hue}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>'
        yield from (f'<circle cx="{x}" cy="{y}" r="3.5" fill="{hue}"/>' for x, y in places)
        names.append((places[-1][1], places[-1][0], title, hue))
    yield from labels(names)


def labels(names: list[tuple[float, float, str, str]]) -> Iterator[str]:
    """The lines' names behind their ends, none upon another."""
    below = -math.inf
    for y, x, title, hue in sorted(names):
        below = max(y, below + LINE)
        yield f'<text class="end" x="{x + 8}" y="{below + 4}" style="fill:{hue}">{shown(title, 34)}</text>'
