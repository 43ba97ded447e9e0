"""Hostile manifests and arrays."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import feather, ipc, parquet

from . import goods
from .attempt import Attempt
from .goods import QUICK, mutated, put

CELLS = [
    "",
    "\0",
    '"',
    "'",
    "a\rb",
    "a\nb",
    "../precious",
    "/dev/zero",
    "/dev/tty",
    "pipe",
    "x" * 300,
    "x" * 5000,
    "ü",
    "-1",
]
ODD_CELLS = [None, True, 0, -1, 1.5, float("nan"), 2**62, "", "a", "Unlabeled", b"\xff", [], [1], [[1.0]], {"a": 1}]
CELLS += ["NaN", "Unlabeled", "unlabeled", "1e5", "True", "=cmd()", "\udcff", "~", "data", "data/dark", "."]


def manifest(here: Path, rng: np.random.Generator) -> Attempt:
    """A list of files as CSV, JSON lines or Parquet, in which something is odd."""
    names = goods.pictures(here / "data")
    os.mkfifo(here / "pipe")
    rows = [[f"data/{name}", "" if "unlabeled" in name else name.partition("/")[0]] for name in names]
    for _ in range(int(rng.integers(0, 4))):
        kind, place = rng.integers(5), int(rng.integers(len(rows)))
        if kind < 2:
            rows[place] += [""] * (2 - len(rows[place]))  # one that was cut off before
        if kind == 0:
            rows[place][rng.integers(2)] = CELLS[rng.integers(len(CELLS))]
        elif kind == 1:
            rows.append([f"./{rows[place][0]}", rows[place][1]])
        elif kind == 2:
            rows.append([CELLS[rng.integers(len(CELLS))], CELLS[rng.integers(len(CELLS))]])
        elif kind == 3:
            rows[place] = rows[place][: rng.integers(3)]
        else:
            rows[place].append("more")
    kind = rng.integers(4)
    if kind == 0:
        lines = [json.dumps(dict(zip(("path", "label"), row, strict=False))) for row in rows]
        content, name = "\n".join(lines).encode(), "list.jsonl"
    else:
        buffer = io.StringIO()
        header = [["path", "label"], ["path", "label"], ["label", "path"], ["Path", "label"], ["path"], []][
            rng.integers(6)
        ]
        try:
            writer = csv.writer(buffer, quoting=(csv.QUOTE_MINIMAL, csv.QUOTE_ALL)[rng.integers(2)])
            writer.writerows([header, *(row[::-1] if header[:1] == ["label"] else row for row in rows)])
        except csv.Error:
            buffer.write("path,label\n")
        encoding = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")[rng.integers(5)]
        content, name = buffer.getvalue().encode(encoding, "replace"), "list.csv"
    if rng.random() < 0.4:
        content = mutated(content, rng)
    if rng.random() < 0.1:
        name = ("list.parquet", "list.arrow", "list.tsv", "list.txt")[rng.integers(4)]
    put(here / name, content)
    words = ["discover", name, *QUICK, "--out", "run"]
    if rng.random() < 0.2:
        words = ["discover", "data", "--truth", name, *QUICK, "--out", "run"]
    return Attempt("a manifest", [words], rows_kept)


def sentences(here: Path, rng: np.random.Generator) -> Attempt:
    """A table of texts, in which something is odd, that a model sorts."""
    from .bases import base

    rows = [{"text": goods.note(number).decode(), "label": ""} for number in range(12)]
    for _ in range(int(rng.integers(0, 4))):
        row = rows[rng.integers(len(rows))]
        key = ("text", "text", "label", "path", "id")[rng.integers(5)]
        row[key] = [*CELLS, "\ud800", 5, None, ["a"]][rng.integers(len(CELLS) + 4)]
    kind = rng.integers(3)
    if kind == 0:
        buffer = io.StringIO(newline="")
        writer = csv.DictWriter(buffer, ["text", "label", "path", "id"][: rng.integers(1, 5)], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
        encoding = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")[rng.integers(5)]
        name, content = "list.csv", buffer.getvalue().encode(encoding, "replace")
    elif kind == 1:
        name, content = "list.jsonl", "\n".join(map(json.dumps, rows)).encode()
    else:
        texts = [str(row["text"]).encode(errors="replace") for row in rows]
        column = pyarrow.array(texts) if rng.random() < 0.5 else pyarrow.array(map(str, texts)).dictionary_encode()
        sink = io.BytesIO()
        parquet.write_table(pyarrow.table({"text": column}), sink)
        name, content = "list.parquet", sink.getvalue()
    put(here / name, mutated(content, rng) if rng.random() < 0.4 else content)
    return Attempt("a table of texts", [["predict", str(base("text")), name, "--out", "out.csv"]])


def rows_kept(codes: list[int]) -> str:
    """What is sorted is what was listed: each row is an item, or in skipped.csv."""
    if any(codes):
        return ""
    for name in ("predictions.csv", "skipped.csv"):
        if not (Path("run") / name).is_file():
            return f"no {name}"
    return ""


def odd_array(rng: np.random.Generator) -> np.ndarray:
    shape = tuple(rng.choice([0, 1, 2, 3, 9, 52], rng.integers(0, 4)))
    kind = ("f4", "f8", "f2", "i8", "u1", "?", "c8", "M8[s]", "m8[s]", "U3", "S3", "O", "V4", "g")[rng.integers(14)]
    if kind == "O":
        found = np.empty(shape, object)
        found[...] = [None, 1, "a", [1], np.nan][rng.integers(5)]
        return found
    return np.zeros(shape, kind)


def array(here: Path, rng: np.random.Generator) -> Attempt:
    X, y = goods.vectors(rng)
    arrays: dict[str, np.ndarray] = {"X": X, "y": y}
    kind = rng.integers(8)
    if kind == 0:
        arrays["X"] = odd_array(rng)
    elif kind == 1:
        arrays["y"] = odd_array(rng)
    elif kind == 2:
        arrays["X"] = X * [np.nan, np.inf, 1e300, 0.0, 1e-300][rng.integers(5)]
    elif kind == 3:
        X[rng.integers(52), rng.integers(5)] = [np.nan, np.inf, 1e39, -1e300][rng.integers(4)]
    elif kind == 4:
        labels = [y.astype(float) + 0.5, y.astype(str), y[:, None], y[:-1], np.full(52, -1), np.arange(52)]
        arrays["y"] = labels[rng.integers(len(labels))]
    elif kind == 5:
        arrays = {"x": X} if rng.random() < 0.5 else {"X": X}
    name = ("x.npz", "x.npz", "x.npy")[rng.integers(3)]
    buffer = io.BytesIO()
    if name == "x.npy":
        np.save(buffer, arrays.get("X", X), allow_pickle=True)
        np.save(here / "x.labels.npy", arrays.get("y", y), allow_pickle=True)
    else:
        (np.savez_compressed if rng.random() < 0.5 else np.savez)(buffer, allow_pickle=True, **arrays)
    content = buffer.getvalue()
    if rng.random() < 0.4:
        content = mutated(content, rng)
    elif rng.random() < 0.1:
        content = bomb(rng)
    put(here / name, content)
    return Attempt("arrays", [["discover", name, *QUICK, "--out", "run"]], finite)


def vectors(here: Path, rng: np.random.Generator) -> Attempt:
    """Tables of vectors as Parquet and Arrow: odd columns, or bytes that are not as they were."""
    X, y = goods.vectors(rng)
    columns: dict[str, list] = {
        "vector": X.tolist(),
        "label": ["" if label < 0 else f"c{label}" for label in y],
        "id": [f"i{number}" for number in range(len(y))],
    }
    name = ("t.parquet", "t.arrow", "t.feather")[rng.integers(3)]
    if rng.random() < 0.4:
        column = list(columns)[rng.integers(3)]
        columns[column] = [ODD_CELLS[rng.integers(len(ODD_CELLS))]] * len(y)
        if rng.random() < 0.5:
            columns[rng.choice(list(columns))] = columns.pop(column)
    elif rng.random() < 0.2:
        columns["vector"][rng.integers(len(y))] = [[], None, [1.0], [float("nan")] * 5, [1e300] * 5][rng.integers(5)]
    buffer = io.BytesIO()
    table = pyarrow.table(columns)
    if name == "t.parquet":
        parquet.write_table(table, buffer)
    elif name == "t.arrow":
        with ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
    else:
        feather.write_feather(table, buffer, compression=("uncompressed", "lz4")[rng.integers(2)])
    content = buffer.getvalue()
    put(here / name, mutated(content, rng) if rng.random() < 0.6 else content)
    return Attempt("vectors", [["discover", name, *QUICK, "--out", "run"]], finite)


def bomb(rng: np.random.Generator) -> bytes:
    """Arrays that claim to be far larger than they are."""
    shape = tuple(int(2 ** rng.uniform(0, 40)) for _ in range(2))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head + bytes(1000))
        archive.writestr("y.npy", head + bytes(1000))
    return buffer.getvalue()


def finite(codes: list[int]) -> str:
    if any(codes):
        return ""
    text = Path("run/predictions.csv").read_text()
    return "a probability is no number" if ",nan" in text or ",inf" in text else ""
