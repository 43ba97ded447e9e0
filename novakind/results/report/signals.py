"""Time series for the page: each item's signal in a few bytes, each category's typical signal, and common scales."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from novakind.modality.display import Signals

POINTS = 60  # of a line
CHANNELS = 9  # that are shown
TOGETHER = 4  # channels in one panel
MEMBERS = 200  # items that a category's typical signal is made of
SAMPLES = 1_200  # of an item that go into that signal
GAP = 255  # the byte of a value that is missing
ABSURD = 1e150  # values beyond count as missing: their squares would overflow
WEAK = 8  # a category that fills less than this part of the common scale is enlarged
GAINS = (5, 10, 20, 50, 100, 200, 500, 1_000)
ROOM = 6  # times its own range is the most that a channel's panel may span

Lines = Float[np.ndarray, "channels points"]
PerChannel = Float[np.ndarray, " channels"]


@dataclass(frozen=True)
class Course:
    """What a category's items are like over time, and the range of each of their channels."""

    items: int  # that it is made of
    total: int  # that the category has
    length: int  # samples of the longest item
    mean: Lines
    band: tuple[Lines, Lines]  # between which the middle 80 % of the values lie
    reach: tuple[PerChannel, PerChannel]


def gather_signals(signals: Signals, category: Int[np.ndarray, " items"], shown: Iterable[int]) -> dict[str, Any]:
    """What the page needs to draw the items in `shown` and a chart of every category; each item is read once."""
    items, courses, wanted, stride = {}, {}, set(shown), 0
    for number in np.unique(category).tolist():
        members = np.flatnonzero(category == number)
        sampled = set(np.random.default_rng(0).permutation(members)[:MEMBERS].tolist())
        thin, ends, longest = [], [], 0
        for item in sorted(sampled | wanted.intersection(members.tolist())):
            row = read(signals, item)
            if row is None:
                continue
            if item in wanted:
                items[item] = [row.shape[1], *pack(outline(row))]
            if item in sampled:
                stride = stride or math.ceil(row.shape[1] / SAMPLES)
                thin.append(row[:, ::stride])
                ends.append(limits(row))
                longest = max(longest, row.shape[1])
        if thin:
            courses[number] = Course(len(thin), len(members), longest, *course(thin, ends))
    names = [str(name) for name in signals.channels[:CHANNELS]]
    return {
        "channels": names,
        "colours": colours(names),
        "hidden": max(0, len(signals.channels) - CHANNELS),
        "rate": float(signals.rate) if 0 < signals.rate < math.inf else 0,
        "unit": signals.unit,
        "length": max([one.length for one in courses.values()] + [one[0] for one in items.values()], default=1),
        "items": items,
        **scales(names, courses),
    }


def read(signals: Signals, item: int) -> Float[np.ndarray, "channels time"] | None:
    """An item's shown channels, NaN where a value is missing; None for an item that is empty or cannot be read."""
    try:
        row = np.asarray(signals.row(item), dtype=np.float64)[:CHANNELS]
    except (OSError, ValueError):
        return None
    return np.where(np.abs(row) < ABSURD, row, np.nan) if row.size else None


def outline(row: Float[np.ndarray, "channels time"]) -> Lines:
    """At most POINTS values that keep every peak: the least and the greatest of each time interval, in their order."""
    channels, time = row.shape
    if time <= POINTS:
        return row
    edges = np.linspace(0, time, POINTS // 2 + 1).round().astype(int)
    places = edges[:-1, None] + np.arange(np.diff(edges).max())
    parts = np.where(places < edges[1:, None], row[:, np.minimum(places, time - 1)], np.nan)
    least = np.where(np.isnan(parts), np.inf, parts).argmin(2)
    greatest = np.where(np.isnan(parts), -np.inf, parts).argmax(2)
    ends = np.sort(np.stack([least, greatest], 2), axis=2)
    return np.take_along_axis(parts, ends, 2).reshape(channels, POINTS)


def pack(lines: Lines) -> tuple[list[float], list[float], str]:
    """Each channel's least and greatest value, and all values as bytes between the two, in base64."""
    low, high = np.array([short(*pair) for pair in zip(*limits(lines), strict=True)]).T
    reach = np.where(high > low, high - low, 1)
    share = np.clip((lines - low[:, None]) / reach[:, None], 0, 1)
    levels: UInt8[np.ndarray, "channels points"]
    levels = np.where(np.isnan(share), GAP, np.nan_to_num(share) * (GAP - 1)).round().astype(np.uint8)
    return low.tolist(), high.tolist(), base64.b64encode(levels.tobytes()).decode()


def short(low: float, high: float) -> tuple[float, float]:
    """Both rounded to the precision that a drawing between them needs, which makes them short as text."""
    if not high > low:
        return low, high
    places = 3 - math.floor(math.log10(high - low))
    return round(float(low), places), round(float(high), places)


def limits(lines: Lines) -> tuple[PerChannel, PerChannel]:
    """The least and the greatest value of each channel; NaN where all are missing."""
    return np.fmin.reduce(lines, axis=1), np.fmax.reduce(lines, axis=1)


def course(
    rows: list[np.ndarray], ends: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[Lines, tuple[Lines, Lines], tuple[PerChannel, PerChannel]]:
    """Mean, band and reach of some items, whose lengths may differ, and whose least and greatest values are `ends`."""
    time = max(row.shape[1] for row in rows)
    stack = np.full((len(rows), len(rows[0]), time), np.nan)
    for place, row in enumerate(rows):
        stack[place, :, : row.shape[1]] = row
    edges = np.linspace(0, time, min(time, POINTS) + 1).round().astype(int).tolist()
    parts = [stack[:, :, start:stop] for start, stop in pairwise(edges)]
    found = np.array([[spread(part[:, channel]) for part in parts] for channel in range(stack.shape[1])])
    low, mean, high = np.moveaxis(found, 2, 0)
    # where nearly all items stay: a single one with a fault would make all others look flat
    least, greatest = (
        np.array([spread(column, 0.02) for column in np.array(end).T]) for end in zip(*ends, strict=True)
    )
    return mean, (low, high), (np.fmin(least[:, 0], limits(low)[0]), np.fmax(greatest[:, 2], limits(high)[1]))


def spread(values: np.ndarray, tail: float = 0.1) -> tuple[float, float, float]:
    """The value that a share of `tail` lies below, the mean, and the value that as many lie above; NaN for none."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return math.nan, math.nan, math.nan
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(known.mean()), float(high)


def ending(name: str) -> tuple[str, str]:
    """A channel's name and its ending, an axis or a number: "acc_x" is ("acc", "x")."""
    match = re.fullmatch(r"(.*?)[\W_]*([xyz]|\d+)", name.lower().strip(), re.DOTALL)
    return (match[1], match[2]) if match else (name, "")


def colours(names: list[str]) -> list[int]:
    """The number of each channel's colour: the same axis of several sensors has the same one."""
    parts = [ending(name) for name in names]
    if len({stem for stem, _ in parts}) == len(names) or len(set(parts)) < len(names):
        return list(range(len(names)))
    keys = [axis or stem for stem, axis in parts]
    return [list(dict.fromkeys(keys)).index(key) for key in keys]


def panels(names: list[str], low: PerChannel, high: PerChannel) -> list[list[int]]:
    """Which channels share a panel and its scale: neighbours of one sensor, by name, none of which would look flat."""
    stems = [stem for stem, _ in map(ending, names)]
    if len(set(stems)) == len(stems):
        stems = [""] * len(stems)
    groups: list[list[int]] = []
    for channel, stem in enumerate(stems):
        together = [*groups[-1], channel] if groups and stems[groups[-1][0]] == stem else []
        if together and fits(low[together], high[together]):
            groups[-1] = together
        else:
            groups.append([channel])
    even = [np.array_split(group, math.ceil(len(group) / TOGETHER)) for group in groups]
    return [part.tolist() for parts in even for part in parts]


def fits(low: PerChannel, high: PerChannel) -> bool:
    """Whether the range of all is at most ROOM times the range of each; constant channels may be anywhere in it."""
    own = (high - low)[high > low]
    return own.size == 0 or bool(np.nanmax(high) - np.nanmin(low) <= ROOM * own.min())


def scales(names: list[str], courses: dict[int, Course]) -> dict[str, Any]:
    """The panels, the common scale of each, and the categories' charts."""
    none = np.full(len(names), np.nan)
    low = np.fmin.reduce([none, *(one.reach[0] for one in courses.values())])
    high = np.fmax.reduce([none, *(one.reach[1] for one in courses.values())])
    groups = panels(names, low, high)
    common = [span(low[group], high[group]) for group in groups]
    return {
        "panels": groups,
        "common": common,
        "categories": {
            number: {
                "items": one.items,
                "total": one.total,
                "length": one.length,
                "mean": pack(one.mean),
                "low": pack(one.band[0]),
                "high": pack(one.band[1]),
                "scales": [
                    enlarged(one.reach[0][group], one.reach[1][group], whole)
                    for group, whole in zip(groups, common, strict=True)
                ],
            }
            for number, one in courses.items()
        },
    }


def span(low: PerChannel, high: PerChannel) -> list[float]:
    """A scale that holds all the channels and a small margin."""
    if np.isnan(low).all():
        return [-1.0, 1.0]
    least, greatest = float(np.nanmin(low)), float(np.nanmax(high))
    air = max(0.05 * (greatest - least), 1e-4 * max(abs(least), abs(greatest)))
    if greatest == least:
        air = 0.1 * abs(least) or 1.0
    return [least - air, greatest + air]


def enlarged(low: PerChannel, high: PerChannel, common: list[float]) -> list[float]:
    """A category's scale, [least, greatest, times enlarged]: the common one, unless the category looks flat on it."""
    whole, own = common[1] - common[0], span(low, high)
    if np.isnan(low).all() or np.nanmax(high) == np.nanmin(low) or (own[1] - own[0]) * WEAK > whole:
        return [*common, 1]
    gain = max(gain for gain in GAINS if gain == GAINS[0] or gain * (own[1] - own[0]) <= whole)
    middle = (own[0] + own[1]) / 2
    return [middle - whole / gain / 2, middle + whole / gain / 2, gain]
