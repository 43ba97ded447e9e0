"""The picture of a comparison: one row per method, one dot per seed. Plain SVG, for light and for dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, TOP, ROW, BOTTOM = 880, 132, 60, 50
LEFT, RIGHT = 150, 720
"""Where 0 % and 100 % stand."""
LANE = 11
"""How far the two lanes of a row lie from its middle."""
STYLE = """
svg { --ground: #ffffff; --ink: #17191e; --muted: #5b6270; --line: #e6e6e2; --edge: #dcdcd7;
  --known: #667085; --novel: #3155c6; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #171a20; --ink: #eceef2; --muted: #9fa8b7; --line: #282d36; --edge: #323843;
    --known: #8b95a6; --novel: #93abff; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; fill: var(--muted); }
.title { font-size: 19px; font-weight: 680; letter-spacing: -.01em; fill: var(--ink); }
.name { font-size: 15px; font-weight: 620; text-anchor: end; fill: var(--ink); }
.note { font-size: 11.5px; text-anchor: end; }
.tick { text-anchor: middle; }
.right { text-anchor: end; }
.known { fill: var(--known); }
.novel { fill: var(--novel); }
.ground { fill: var(--ground); stroke: var(--edge); }
.grid { stroke: var(--line); }
.apart { stroke: var(--muted); stroke-dasharray: 2 5; }
.reach { opacity: .2; }
.dot { fill-opacity: .6; stroke: var(--ground); stroke-width: 1; }
"""


@dataclass(frozen=True)
class Row:
    """What one method reached, from 0 to 1, by seed."""

    name: str
    known: dict[int, float]
    novel: dict[int, float]
    known_text: str
    novel_text: str
    note: str = ""
    """A word under the name; a row that has one is separated from those above it."""


def draw(title: str, subtitle: str, rows: Sequence[Row]) -> str:
    """The whole file; the rows stay in their order."""
    height = TOP + ROW * len(rows) + BOTTOM
    label = "; ".join(f"{row.name}: known {row.known_text}, novel {row.novel_text}" for row in rows)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" role="img" aria-label="{shown(f"{title}. {label}", 10_000)}">',
            f"<style>{STYLE}</style>",
            f'<rect class="ground" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="14"/>',
            f'<text class="title" x="28" y="40">{shown(title, 80)}</text>',
            f'<text x="28" y="62">{shown(subtitle, 120)}</text>',
            *legend(),
            *axis(height),
            *(line for number, row in enumerate(rows) for line in draw_row(row, TOP + ROW * number)),
            "</svg>\n",
        ]
    )


def legend() -> Iterator[str]:
    kinds = (28, "known", "known classes, accuracy"), (236, "novel", "novel classes, ACC (task-agnostic)")
    for x, kind, text in kinds:
        yield f'<rect class="{kind}" x="{x}" y="82" width="16" height="10" rx="3"/>'
        yield f'<text x="{x + 24}" y="92">{text}</text>'
    yield f'<text class="right" x="{WIDTH - 28}" y="92">one dot per seed, a bar at their mean</text>'


def axis(height: int) -> Iterator[str]:
    bottom = height - BOTTOM
    yield f'<text class="note" x="{WIDTH - 28}" y="{TOP - 6}">mean ± std</text>'
    for percent in range(0, 101, 20):
        x = place(percent / 100)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP - 12}" y2="{bottom + 4}"/>'
        yield f'<text class="tick" x="{x}" y="{bottom + 24}">{percent}{" %" if percent == 100 else ""}</text>'


def draw_row(row: Row, top: int) -> Iterator[str]:
    middle = top + ROW / 2 - 4
    if row.note:
        yield f'<line class="apart" x1="28" x2="{WIDTH - 28}" y1="{top - 4}" y2="{top - 4}"/>'
        yield f'<text class="note" x="{LEFT - 22}" y="{middle + 18}">{shown(row.note, 20)}</text>'
    yield f'<text class="name" x="{LEFT - 22}" y="{middle + (2 if row.note else 5)}">{shown(row.name, 16)}</text>'
    lanes = (("known", row.known, row.known_text, -LANE), ("novel", row.novel, row.novel_text, LANE))
    for kind, values, text, offset in lanes:
        yield f'<text class="right {kind}" x="{WIDTH - 28}" y="{middle + offset + 5}">{text}</text>'
        yield from draw_lane(f"{row.name}, {kind}", kind, values, middle + offset)


def draw_lane(what: str, kind: str, values: dict[int, float], y: float) -> Iterator[str]:
    """A pale line up to the mean, the dots, and the mean itself on top."""
    if not values:
        return
    mean = place(sum(values.values()) / len(values))
    reach = round(mean - LEFT, 1)
    yield f'<rect class="{kind} reach" x="{LEFT}" y="{y - 2.5}" width="{reach}" height="5" rx="2.5"/>'
    for seed, value in values.items():
        yield (
            f'<circle class="{kind} dot" cx="{place(value)}" cy="{y}" r="5">'
            f"<title>{shown(what, 40)}, seed {seed}: {100 * value:.1f} %</title></circle>"
        )
    yield f'<rect class="{kind}" x="{round(mean - 1.5, 1)}" y="{y - 9}" width="3" height="18" rx="1.5"/>'


def place(value: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * value, 1)


def shown(text: str, longest: int) -> str:
    """Text as an SVG may hold it: one line that fits, without the characters that XML forbids."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return escape(plain if len(plain) <= longest else plain[: longest - 1] + "…")
