"""The parts of pictures: a frame, a heat map, a map of points, curves. SVG by hand, for light and for dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from novakind.compare.bars import STYLE, shown
from novakind.compare.curves import CURVES, HUES, LINE

MARGIN, HEAD = 28, 92
SQUARE, LETTER, SLANT = 42, 7, 96
"""Of a heat map: the side of a place, the width of a letter in names of rows, and the room for names of columns."""
SIDE = 380
"""Of a map or of curves."""
LETTERS = {"title": 11, "tag": 7}
"""The width of a letter in a picture's title, and in the names on a map."""
EXTRA = """
.end { font-size: 12.5px; font-weight: 620; }
.panel { font-size: 14px; font-weight: 620; fill: var(--ink); }
.share { fill: var(--novel); }
.count { text-anchor: middle; fill: var(--ink); font-size: 12px; }
.old { fill: none; stroke: var(--known); opacity: .55; }
.tag { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round; }
.box { fill: none; stroke: var(--edge); }
"""

Panel = tuple[str, int, int, list[str]]
"""Title, width, height, and what is drawn, from its own corner on."""


def picture(title: str, subtitle: str, panels: Sequence[Panel], columns: int = 2) -> str:
    """The whole file: panels in rows of so many."""
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    wanted = (sum(wide + MARGIN for _, wide, _, _ in row) for row in rows)
    width = max(760, MARGIN + LETTERS["title"] * len(title), *wanted) + MARGIN
    lines, top = [], HEAD
    for row in rows:
        left = MARGIN
        for name, wide, _, drawn in row:
            lines.append(f'<text class="panel" x="{left}" y="{top}">{shown(name, wide // 7)}</text>')
            lines.append(f'<g transform="translate({left} {top + 12})">{"".join(drawn)}</g>')
            left += wide + MARGIN
        top += max(high for _, _, high, _ in row) + 44
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
            f'role="img" aria-label="{shown(title, 1000)}">',
            f"<style>{STYLE}{CURVES}{EXTRA}</style>",
            f'<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{top - 1}" rx="14"/>',
            f'<text class="title" x="{MARGIN}" y="38">{shown(title, 1000)}</text>',
            f'<text x="{MARGIN}" y="60">{shown(subtitle, width // 7)}</text>',
            *lines,
            "</svg>\n",
        ]
    )


def heat(title: str, shares: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> Panel:
    """Shares from 0 to 1, each place as dark as it is large, in percent."""
    lines, left = [], 24 + LETTER * min(60, max(map(len, rows)))
    for number, name in enumerate(columns):
        x = left + SQUARE * number + SQUARE / 2
        turned = f'transform="rotate(-35 {x} {SLANT - 8})"'
        lines.append(f'<text x="{x}" y="{SLANT - 8}" {turned}>{shown(name, 22)}</text>')
    for line, (name, values) in enumerate(zip(rows, shares, strict=True)):
        y = SLANT + SQUARE * line
        lines.append(f'<text class="right" x="{left - 10}" y="{y + SQUARE / 2 + 4}">{shown(name, 60)}</text>')
        for number, value in enumerate(values):
            x = left + SQUARE * number
            place = f'x="{x + 1}" y="{y + 1}" width="{SQUARE - 2}" height="{SQUARE - 2}" rx="3"'
            lines.append(f'<rect class="share" {place} fill-opacity="{0.04 + 0.66 * value:.3f}"/>')
            if value >= 0.005:
                middle = f'x="{x + SQUARE / 2}" y="{y + SQUARE / 2 + 4}"'
                lines.append(f'<text class="count" {middle}>{100 * value:.0f}</text>')
    return title, left + SQUARE * len(columns) + 60, SLANT + SQUARE * len(rows), lines


def points(title: str, places: dict[str, Any], classes: Sequence[str], known: int) -> Panel:
    """Items by their true class: rings for known classes, coloured dots for novel ones, each named at its middle."""
    lines = [f'<rect class="box" width="{SIDE}" height="{SIDE}" rx="8"/>']
    labels = []
    for number, name in enumerate(classes):
        where = [
            (round(10 + (SIDE - 20) * x, 1), round(10 + (SIDE - 20) * y, 1))
            for x, y, truth in zip(places["x"], places["y"], places["truth"], strict=True)
            if truth == number
        ]
        hue = HUES[(number - known) % len(HUES)]
        style = 'class="old" r="2.6"' if number < known else f'fill="{hue}" fill-opacity=".75" r="3"'
        lines += [f'<circle cx="{x}" cy="{y}" {style}/>' for x, y in where]
        if where:
            x, y = median(x for x, _ in where), median(y for _, y in where)
            room = 6 + LETTERS["tag"] * min(len(name), 24) / 2  # so that names stay within the map
            labels.append((y, min(max(x, room), SIDE - room), name, "" if number < known else f' style="fill:{hue}"'))
    below = -math.inf
    for y, x, name, colour in sorted(labels):
        below = max(y, below + LINE * 0.8)
        lines.append(f'<text class="end tick tag" x="{x:.1f}" y="{below:.1f}"{colour}>{shown(name, 24)}</text>')
    return title, SIDE, SIDE, lines


def curves(title: str, courses: dict[str, list[list[float]]], below: str) -> Panel:
    """By epoch, on a logarithmic scale: a thin line per seed, a thick one for their mean, named at its end."""
    values = [max(value, 1e-4) for seeds in courses.values() for seed in seeds for value in seed]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    last = max(max(map(len, seeds)) for seeds in courses.values())

    def place(epoch: int, value: float) -> str:
        height = (math.log10(max(value, 1e-4)) - low) / max(high - low, 1)
        return f"{40 + (SIDE - 40) * epoch / max(last - 1, 1):.1f},{SIDE * (1 - height):.1f}"

    lines, ends = list(scale(low, high, last, place)), []
    for (name, seeds), hue in zip(courses.items(), HUES * len(courses), strict=False):
        together = [sum(each) / len(each) for each in zip(*seeds, strict=False)]
        thin = [("seed", seed) for seed in seeds if len(seeds) > 1]
        for style, course in (*thin, ("curve", together)):
            path = " ".join(place(epoch, value) for epoch, value in enumerate(course))
            lines.append(f'<polyline class="{style}" stroke="{hue}" points="{path}"/>')
        x, y = map(float, place(len(together) - 1, together[-1]).split(","))
        ends.append((y, x, name, hue))
    under = -math.inf
    for y, x, name, hue in sorted(ends):
        under = max(y, under + LINE)
        lines.append(
            f'<text class="end" x="{x + 8:.1f}" y="{under + 4:.1f}" style="fill:{hue}">{shown(name, 24)}</text>'
        )
    lines.append(f'<text class="tick" x="{SIDE / 2 + 20}" y="{SIDE + 38}">{shown(below, 60)}</text>')
    return title, SIDE + 170, SIDE + 44, lines


def scale(low: int, high: int, last: int, place: Any) -> Iterator[str]:
    """Lines at powers of ten, and some epochs."""
    for power in range(low, high + 1):
        y = place(0, 10.0**power).split(",")[1]
        yield f'<line class="grid" x1="40" x2="{SIDE}" y1="{y}" y2="{y}"/>'
        yield f'<text class="right" x="34" y="{float(y) + 4:.1f}">{10.0**power:g}</text>'
    for epoch in sorted({0, (last - 1) // 2, last - 1}):
        x = place(epoch, 10.0**low).split(",")[0]
        yield f'<text class="tick" x="{x}" y="{SIDE + 18}">{epoch + 1}</text>'
