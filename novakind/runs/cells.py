"""Cells of a table of text: shares in per cent, and names cut to a width."""

from __future__ import annotations

import unicodedata

import numpy as np
from rich.cells import cell_len

LONG = 8  # times as many signs as columns: some take no room


def percent(share: float) -> str:
    """A share as text; only what is whole is called 100%, and only what is nothing 0%."""
    if np.isnan(share):
        return "-"
    rounded = round(100 * share)
    return f"{min(max(rounded, 1), 99) if 0 < share < 1 else rounded}%"


def clip(text: str, width: int, tail: bool = False) -> str:
    """At most `width` columns of printable text; of a long one the beginning, or with `tail` the end, is kept."""
    seen = text[-LONG * width :] if tail else text[: LONG * width]  # a name may have millions of signs
    is_cut, text = len(seen) < len(text), seen
    text = "".join(sign if unicodedata.category(sign)[0] != "C" or sign == "\u200d" else "?" for sign in text)
    if cell_len(text) <= width and not is_cut:
        return text
    while cell_len(text) > width - 1:
        text = text[1:] if tail else text[:-1]
    if tail and "/" in text:
        text = text[text.index("/") :]  # whole names are easier to read than pieces
    return f"…{text}" if tail else f"{text}…"
