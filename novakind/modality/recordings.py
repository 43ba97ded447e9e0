"""Sensor recordings: text files in, regular samples out, without short gaps or gravity, cut into windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32

from novakind.errors import UnreadableError, UserError
from novakind.modality.tables import Table, find_time, in_seconds, is_time, read_table

Values = Float[np.ndarray, "time channels"]
Window = Float[np.ndarray, "length channels"]

GAP = 0.5  # seconds over which a straight line is believed
NOMINAL = 50.0  # samples per second where nobody knows better
CUTOFF = 0.3  # Hz; posture changes more slowly, movement faster
SLOWEST, FASTEST = 0.1, 20_000.0
LARGEST = 50_000_000  # samples times channels on the regular grid: 400 MB

COUNTERS = frozenset({"", "index", "unnamed: 0", "sample", "id", "nr"})


@dataclass(frozen=True)
class Recording:
    """Samples at equal distances."""

    values: Float[np.ndarray, "time channels"]
    """NaN where missing."""
    channels: tuple[str, ...]
    """Names by the header; "1", "2" and so on where there is none."""
    rate: float | None
    """Samples per second by the time column, None where there is no such column."""


@dataclass(frozen=True)
class Survey:
    """What most of the files have."""

    channels: tuple[str, ...]
    rate: float | None
    samples: int


def read_recording(path: Path) -> Recording:
    """The numeric columns of a text file, on a regular grid where a time column says when each row was taken."""
    table = read_table(path)
    filled = np.isfinite(table.values).any(0)
    time = find_time(table)
    kept = [place for place in np.flatnonzero(filled).tolist() if place != time and is_channel(table, place)]
    if not kept:
        raise UnreadableError("holds no numbers" if time is None else "holds no numbers besides its time column")
    values, rate = table.values[:, kept], None
    if time is not None:
        times, values = in_seconds(table, time), values[np.isfinite(table.values[:, time])]
        if len(times) > 1:
            values, rate = regular(times, values)
    return Recording(values, name_channels(table.names, kept), rate)


def is_channel(table: Table, place: int) -> bool:
    """Whether the column is a measurement: neither date-times, nor a second time column, nor the row's number."""
    if table.kinds[place] == "date" or (table.names and is_time(table.names[place])):
        return False
    rows, columns = table.values.shape
    may_count = table.names[place].casefold() in COUNTERS if table.names else place == 0
    return not (may_count and rows > 2 and columns > 1 and bool((np.diff(table.values[:, place]) == 1).all()))


def name_channels(names: tuple[str, ...] | None, kept: list[int]) -> tuple[str, ...]:
    """The header's names, made distinct; nameless columns go by their place."""
    if names is None:
        return tuple(str(number) for number in range(1, len(kept) + 1))
    seen, distinct = Counter[str](), []
    for place in kept:
        name = names[place] or str(place + 1)
        seen[name.casefold()] += 1
        distinct.append(name if seen[name.casefold()] == 1 else f"{name} {seen[name.casefold()]}")
    return tuple(distinct)


def regular(times: Float[np.ndarray, " rows"], values: Float[np.ndarray, "rows channels"]) -> tuple[Values, float]:
    """Samples at the usual rate: as they are where the clock is steady, else on straight lines between them."""
    steps = np.diff(times)
    if (steps < 0).any():
        raise UnreadableError(f"its time runs backwards after {times[int(np.argmax(steps < 0))]:.6g} s")
    usual = float(np.quantile(steps, 0.5, method="higher"))  # the median, but always one of the steps
    if usual == 0:
        raise UnreadableError("its time stands still from most rows to the next")
    rate = 1 / float(steps[np.abs(steps - usual) <= usual / 2].mean())  # finer than a median of rounded times
    if not SLOWEST <= rate <= FASTEST:
        raise UnreadableError(f"its time column means {rate:.3g} samples per second, not {SLOWEST:g} to {FASTEST:g}")
    rounded = float(f"{rate:.6g}")
    if np.abs(times * rate - np.arange(len(times))).max() <= 0.1:
        return values, rounded
    count = int(times[-1] * rounded + 1e-6) + 1
    if count * values.shape[1] > max(LARGEST, 2 * values.size):
        raise UnreadableError(f"its time jumps by {steps.max():.6g} s")
    grid, fresh = np.arange(count) / rounded, np.diff(times, prepend=-1) > 0
    columns = [on_grid(grid, times[fresh], column[fresh], max(GAP, 1.5 / rate)) for column in values.T]
    return np.stack(columns, 1), rounded


def on_grid(
    grid: Float[np.ndarray, " grid"], times: Float[np.ndarray, " rows"], column: Float[np.ndarray, " rows"], gap: float
) -> Float[np.ndarray, " grid"]:
    """Straight lines between the samples that are there, NaN where they are further apart than `gap` seconds."""
    there = np.isfinite(column)
    if not there.any():
        return np.full(len(grid), np.nan)
    times, column = times[there], column[there]
    after = np.searchsorted(times, grid)
    bounds = np.concatenate([[-np.inf], times, [np.inf]])
    apart = (bounds[after + 1] - bounds[after] > gap) & (bounds[after + 1] != grid)
    return np.where(apart, np.nan, np.interp(grid, times, column))


def stretches(chosen: np.ndarray) -> list[tuple[int, int]]:
    """Start and stop of every run of True."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def bridged(values: Values) -> Values:
    """Straight lines over all gaps, the nearest value beyond the ends; a channel without any value is zero."""
    places, whole = np.arange(len(values)), np.zeros(values.shape)
    for channel, there in enumerate(np.isfinite(values).T):
        if there.any():
            whole[:, channel] = np.interp(places, places[there], values[there, channel])
    return whole


def clean(values: Values, rate: float) -> Values:
    """Gaps of up to half a second are filled by straight lines, at the ends by the nearest value; longer ones stay."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    whole, longest = bridged(values), GAP * rate + 1e-9
    for channel in np.flatnonzero(missing.any(0)).tolist():
        for start, stop in stretches(missing[:, channel]):
            if stop - start > longest or stop - start == len(values):
                whole[start:stop, channel] = np.nan
    return whole


def resample(values: Values, old: float, new: float) -> Float[np.ndarray, "resampled channels"]:
    """Band-limited, by a polyphase filter on the distance from the line between both ends: it is zero at the edges,
    where the filter takes it to be zero beyond, and constants stay what they are."""
    ratio = (
        Fraction(new / old).limit_denominator(5000) if new >= old else 1 / Fraction(old / new).limit_denominator(5000)
    )
    if ratio == 1 or len(values) == 0:
        return values
    from scipy.signal import resample_poly  # here, since its import takes a second: other kinds of data go without it

    whole, last = bridged(values), len(values) - 1
    slope = (whole[-1] - whole[0]) / max(last, 1)
    bent = whole - (whole[0] + slope * np.arange(last + 1)[:, None])
    moved = resample_poly(bent, ratio.numerator, ratio.denominator, axis=0)
    place = np.minimum(np.arange(len(moved)) * float(1 / ratio), last)
    moved += whole[0] + slope * place[:, None]
    missing = np.isnan(values)
    moved[missing[np.floor(place).astype(int)] | missing[np.ceil(place).astype(int)]] = np.nan
    return moved


def remove_gravity(values: Values, rate: float) -> Values:
    """What is faster than 0.3 Hz. Ends are mirrored by a period of it: less would take the first sample for gravity."""
    from scipy.signal import butter, sosfiltfilt

    period = round(rate / CUTOFF)
    low_pass = butter(6, CUTOFF, fs=rate, output="sos") if rate > 2 * CUTOFF else None
    moving = values.copy()
    for channel in range(values.shape[1]):
        for start, stop in stretches(np.isfinite(values[:, channel])):
            part = values[start:stop, channel]
            if low_pass is None or len(part) <= period:
                moving[start:stop, channel] -= part.mean()
            else:
                moving[start:stop, channel] -= sosfiltfilt(low_pass, part, padtype="even", padlen=period)
    return moving


def cut(values: Values, length: int, hop: int) -> list[tuple[int, Window]]:
    """The windows of `length` samples at every `hop` samples that hold no gap, with their starts."""
    missing = np.concatenate([[0], np.isnan(values).any(1).cumsum()])
    starts = range(0, len(values) - length + 1, hop)
    return [(start, values[start : start + length]) for start in starts if missing[start] == missing[start + length]]


def read_windows(
    path: Path, channels: tuple[str, ...], rate: float, length: int, hop: int, gravity: Literal["keep", "remove"]
) -> list[tuple[str, Float32[np.ndarray, "channels length"]]]:
    """The items of a file, each with what its name adds to the file's: one for each window, or the file as a whole
    where `hop` is 0. A `rate` of 0 is unknown, and leaves the samples as they are."""
    if gravity == "remove" and rate == 0:
        raise UserError("gravity cannot be removed from recordings of unknown rate: give --rate, in samples per second")
    recording = read_recording(path)
    values = clean(pick(recording, channels), recording.rate or rate or NOMINAL)
    if recording.rate and rate:
        values = resample(bearable(values, recording.rate, rate), recording.rate, rate)
    if gravity == "remove":
        values = remove_gravity(values, rate)
    cuts = cut(demand(values, length, rate), length, hop) if hop else cut(fit(values, length, rate), length, 1)
    if not cuts:
        holes = ", ".join(np.array(channels)[np.isnan(values).any(0)].tolist())
        raise UnreadableError(f"has no {amount(length, rate)} without a long gap in {holes}")
    named = ((f"@{round(start / rate, 3)}s" if rate else f"@{start}") if hop else "" for start, _ in cuts)
    return [(name, window.T.astype(np.float32)) for name, (_, window) in zip(named, cuts, strict=True)]


def pick(recording: Recording, channels: tuple[str, ...]) -> Values:
    """The channels wanted, by name; a file without a header that has as many gives them in its order."""
    places = {name.strip().casefold(): place for place, name in enumerate(recording.channels)}
    wanted = [places.get(name.strip().casefold()) for name in channels]
    found = [place for place in wanted if place is not None]
    if len(found) == len(channels):
        return recording.values[:, found]
    if recording.channels != name_channels(None, list(range(len(places)))):
        lacking = channels[wanted.index(None)]
        raise UnreadableError(f'has no channel "{lacking}" (it has {", ".join(recording.channels)})')
    if len(places) != len(channels):
        raise UnreadableError(f"has {len(places)} channels without names, not {len(channels)}: {', '.join(channels)}")
    return recording.values


def amount(samples: int, rate: float) -> str:
    """How long that is, in the unit that is known."""
    return f"{samples / rate:.1f} s" if rate else f"{samples} samples"


def bearable(values: Values, old: float, new: float) -> Values:
    """The same, if the new rate asks for no more than memory holds."""
    if max(old / new, new / old) > 1000 or values.size * new / old > LARGEST:
        raise UnreadableError(f"has {old:g} samples per second, too far from {new:g}")
    return values


def demand(values: Values, length: int, rate: float) -> Values:
    """The same, if it holds a window."""
    if len(values) < length:
        raise UnreadableError(f"holds {amount(len(values), rate)}, less than a window of {amount(length, rate)}")
    return values


def fit(values: Values, length: int, rate: float) -> Window:
    """The middle `length` samples of what is longer; what is shorter goes on with its edge values on both sides."""
    if 2 * len(values) < length:
        raise UnreadableError(f"holds {amount(len(values), rate)}, less than half of {amount(length, rate)}")
    lack = max(0, length - len(values))
    start = max(0, len(values) - length) // 2
    return np.pad(values, ((lack // 2, lack - lack // 2), (0, 0)), mode="edge")[start : start + length]


def survey(files: Sequence[Path]) -> Survey:
    """What most of up to 50 files, spread evenly over the list, have in common."""
    some = [files[place] for place in np.linspace(0, len(files) - 1, min(50, len(files))).round().astype(int)]
    recordings, reasons = [], []
    for path in some:
        try:
            recordings.append(read_recording(path))
        except UnreadableError as error:
            reasons.append(f": {path} {error}")
    if not recordings:
        first = reasons[0] if reasons else ": there is none"
        raise UserError(f"none of {len(some)} files can be read as a recording{first}; give CSV files of numbers")
    channels = Counter(recording.channels for recording in recordings).most_common(1)[0][0]
    typical = [recording for recording in recordings if recording.channels == channels]
    rates = [recording.rate for recording in typical if recording.rate is not None]
    samples = int(np.median([len(recording.values) for recording in typical]))
    return Survey(channels, rounded_rate(float(np.median(rates))) if rates else None, samples)


def rounded_rate(rate: float) -> float:
    """49.97 measured samples per second are meant to be 50, but 12.5 are 12.5."""
    whole = float(round(rate))
    return whole if abs(rate - whole) <= 0.003 * rate else float(f"{rate:.4g}")
