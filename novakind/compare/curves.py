"""How each method of a comparison got there: accuracy on the validation items over minutes. Plain SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from novakind.compare.bars import STYLE, shown
from novakind.errors import UserError
from novakind.runs.record import read_history

WIDTH, HEIGHT, TOP, BOTTOM = 880, 460, 112, 400
PANELS = {"novel": ("novel classes, ACC (task-agnostic)", 64, 360), "known": ("known classes, accuracy", 484, 780)}
"""What each panel shows, and where its first and its last minute stand."""
LINE = 15
"""How far two names at the ends of curves must lie apart."""
HUES = ("#3155c6", "#c2571a", "#1f8a5b", "#8a3fb0", "#a5821b", "#c02b62", "#2b8ea8", "#6b7280")
CURVES = """
.curve { fill: none; stroke-width: 2.4; stroke-linejoin: round; }
.seed { fill: none; stroke-width: 1; opacity: .35; }
.end { font-size: 12.5px; font-weight: 620; }
"""


class Point(NamedTuple):
    """After an epoch: minutes since the start, and accuracies from 0 to 1."""

    minutes: float
    known: float
    novel: float


Curve = list[Point]


def read(run: Path) -> Curve:
    """The accuracy of a run epoch by epoch; empty where the truth is not known, or the history is damaged."""
    minutes, curve = 0.0, []
    try:
        lines = read_history(run / "metrics.jsonl")
    except UserError:
        return []
    for line in lines:
        minutes += line.get("seconds", 0.0) / 60
        known, novel = (number(line.get(f"{kind}_acc/val/agnostic")) for kind in ("known", "novel"))
        if math.isfinite(known) and math.isfinite(novel):
            curve.append(Point(minutes, known, novel))
    return curve


def number(value: Any) -> float:
    """NaN for what is none."""
    return float(value) if isinstance(value, int | float) else math.nan


def mean(curves: Sequence[Curve]) -> Curve:
    """Epoch by epoch, as far as all of them go."""
    return [
        Point(*(sum(values) / len(values) for values in zip(*points, strict=True)))
        for points in zip(*curves, strict=False)
    ]


def reached(curve: Curve, novel: float) -> float:
    """The minutes until this novel ACC is reached for the first time; infinite if never."""
    return next((point.minutes for point in curve if point.novel >= novel), math.inf)


def draw(title: str, subtitle: str, methods: Mapping[str, Sequence[Curve]]) -> str:
    """The whole file: two panels, one thin line per seed, a thick one for their mean."""
    last = max(curve[-1].minutes for curves in methods.values() for curve in curves if curve)
    ends = "; ".join(f"{name}: novel {100 * mean(curves)[-1].novel:.1f} %" for name, curves in methods.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img" aria-label="{shown(f"{title}. {ends}", 10_000)}">',
            f"<style>{STYLE}{CURVES}</style>",
            f'<rect class="ground" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="14"/>',
            f'<text class="title" x="28" y="40">{shown(title, 80)}</text>',
            f'<text x="28" y="62">{shown(subtitle, 120)}</text>',
            *(line for kind in PANELS for line in panel(kind, methods, last)),
            "</svg>\n",
        ]
    )


def panel(kind: str, methods: Mapping[str, Sequence[Curve]], last: float) -> Iterator[str]:
    what, left, right = PANELS[kind]
    lowest = math.floor(10 * min(getattr(p, kind) for curves in methods.values() for c in curves for p in c)) / 10

    def place(point: Point) -> tuple[float, float]:
        height = (getattr(point, kind) - lowest) / max(1 - lowest, 0.1)
        return round(left + (right - left) * point.minutes / last, 1), round(BOTTOM - (BOTTOM - TOP) * height, 1)

    yield f'<text class="end" x="{left}" y="{TOP - 16}">{what}</text>'
    for percent in range(round(100 * lowest), 101, 10 if lowest >= 0.5 else 20):
        y = place(Point(0, percent / 100, percent / 100))[1]
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text class="right" x="{left - 8}" y="{y + 4}">{percent}</text>'
    for minutes in ticks(last):
        x = place(Point(minutes, 0, 0))[0]
        yield f'<text class="tick" x="{x}" y="{BOTTOM + 20}">{minutes:g}</text>'
    yield f'<text class="tick" x="{(left + right) / 2}" y="{BOTTOM + 40}">minutes of training</text>'
    names: list[tuple[float, float, str, str]] = []
    for (name, curves), hue in zip(methods.items(), (HUES * len(methods))[: len(methods)], strict=True):
        for style, each in [*(("seed", curve) for curve in curves if len(curves) > 1), ("curve", mean(curves))]:
            path = " ".join(f"{x},{y}" for x, y in map(place, each))
            yield f'<polyline class="{style}" stroke="{hue}" points="{path}"/>'
        x, y = place(mean(curves)[-1])
        names.append((y, x, name, hue))
    below = -math.inf
    for y, x, name, hue in sorted(names):
        below = max(y, below + LINE)
        yield f'<text class="end" x="{x + 6}" y="{below + 4}" style="fill:{hue}">{shown(name, 12)}</text>'


def ticks(last: float) -> list[float]:
    """Round numbers of minutes, about five of them."""
    rough = last / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [round(number * step, 6) for number in range(int(last / step + 1e-9) + 1)]
