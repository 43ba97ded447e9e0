"""Cards: a Discovery as a notebook shows it: the cards of the page, in one piece of HTML that needs no script.

Pictures, recordings and texts are those that the run's report holds, so that nothing has to be read again.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from novakind.errors import UnreadableError
from novakind.given import read_whole
from novakind.runs.categories import Category
from novakind.runs.cells import percent

MOST = 24  # cards; the rest is counted
SHOWN = 6  # items on a card
MISSING = 255  # the byte of a value that a recording has not
TONES = ("#1276fc", "#d67f12", "#196767", "#ce1db5", "#99410e", "#42117d", "#410326", "#819985")
STYLE = """
.novakind { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 12px;
  font: 14px/1.45 system-ui, sans-serif; color: CanvasText; }
.novakind > * { padding: 12px 14px; border: 1px solid color-mix(in srgb, currentColor 18%, transparent);
  border-radius: 12px; overflow-wrap: anywhere; }
.novakind b { font-size: 1.1em; } .novakind small { opacity: .75; }
.novakind i { display: block; height: 5px; margin: 6px 0; border-radius: 3px;
  background: linear-gradient(var(--tone) 0 0) 0 / var(--sure) 100% no-repeat, rgb(128 128 128 / .25); }
.novakind div { display: grid; grid-template-columns: repeat(6, 1fr); gap: 4px; }
.novakind img { width: 100%; aspect-ratio: 1; object-fit: cover; border-radius: 5px; }
.novakind svg { grid-column: span 2; width: 100%; }
.novakind p { grid-column: 1 / -1; margin: 0; font-size: .85em; }
"""


def cards(categories: Sequence[Category], paths: Sequence[str], run: Path | None) -> str:
    """The living categories, the new ones first; every name is text, never markup."""
    living = sorted((one for one in categories if one.alive), key=lambda one: not one.is_new)
    shown = report_data(run / "report.html") if run else {}
    pieces = [card(category, paths, shown) for category in living[:MOST]]
    if len(living) > MOST:
        pieces.append(f"<section>and {len(living) - MOST} more</section>")
    return f'<style>{STYLE}</style><div class="novakind" style="display:grid">{"".join(pieces)}</div>'


def card(category: Category, paths: Sequence[str], shown: Mapping[str, Any]) -> str:
    counts = [f"{category.size} items"]
    counts += [f"{category.labeled} labeled"] if category.labeled else []
    counts += [f"{category.confirmed} confirmed"] if category.confirmed else []
    sure = percent(category.confidence)
    tone, width = TONES[category.id % len(TONES)], sure if sure != "-" else "0%"
    items = "".join(example(item, paths[item], shown) for item in category.typical[:SHOWN])
    return (
        f'<section style="--tone:{tone};--sure:{width}"><b>{escaped(category.name)}</b> '
        f"<small>{', '.join(counts)}; confidence {sure}</small><i></i><div>{items}</div></section>"
    )


def example(item: int, path: str, shown: Mapping[str, Any]) -> str:
    """An item as a picture, else as what it says, else by its name."""
    picture = (shown.get("pictures") or {}).get(str(item))
    if isinstance(picture, str) and re.fullmatch(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]+", picture):
        return f'<img src="{picture}" alt="{escaped(path)}" title="{escaped(path)}">'
    drawn = wave(((shown.get("signals") or {}).get("items") or {}).get(str(item)))
    if drawn:
        name = escaped(path)
        return f'<svg viewBox="0 0 100 50" role="img" aria-label="{name}"><title>{name}</title>{drawn}</svg>'
    text = ((shown.get("texts") or {}).get("items") or {}).get(str(item))
    return f"<p>{escaped(text if isinstance(text, str) and text else path)}</p>"


def wave(signal: Any) -> str:
    """A recording as a line for each channel, all on the scale of the item; "" for what is none."""
    try:
        _, low, high, code = signal
        least, most = np.array([low, high], dtype=float)[:, :, None]
        levels = np.frombuffer(base64.b64decode(code), np.uint8).reshape(len(low), -1)
        values = least + levels / (MISSING - 1) * (most - least)
        tall = 46 / ((most.max() - least.min()) or 1)
        across = np.linspace(1, 99, levels.shape[1])
    except (TypeError, ValueError):
        return ""
    lines = []
    for channel, (row, there) in enumerate(zip(48 - tall * (values - least.min()), levels != MISSING, strict=True)):
        points = " ".join(f"{x:.0f},{y:.1f}" for x, y in zip(across[there], row[there], strict=True))
        tone = TONES[channel % len(TONES)]
        lines.append(f'<polyline fill="none" stroke="{tone}" stroke-width="1.5" points="{points}"/>')
    return "".join(lines)


def escaped(text: str) -> str:
    return html.escape(text.encode("utf-8", "replace").decode())


def report_data(report: Path) -> Mapping[str, Any]:
    """What the page of a run shows; nothing where there is no page."""
    try:
        page = read_whole(report).decode(errors="replace")
        block = re.search(r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL)
        found = json.loads(block[1]) if block else {}
    except (UnreadableError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
