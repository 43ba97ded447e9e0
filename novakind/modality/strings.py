"""Strings as users give them: in arrays, in files of any encoding, and as rows of bytes."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from novakind.errors import UnreadableError, UserError
from novakind.given import opened

BOMS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")  # not tabs, line and page ends, and colours of terminals
HIGH = re.compile(rb"[\x80-\xff]")
MOST_CONTROL = 0.02  # of the bytes of a text
MOST_HIGH = 0.25  # in Western European languages; far fewer as a rule, while other alphabets have nothing else
GLANCE = 16_384  # bytes of a file that tell what is in it
ROOM = 4_096  # bytes for white space before the text begins


def as_texts(X: np.ndarray) -> np.ndarray | None:
    """The strings of a list of them, or of one column, as objects; None for an array of anything else."""
    if X.dtype.kind not in "UTO":
        return None
    if X.ndim == 0 and isinstance(X.item(), str):
        raise UserError(f"X is one text of {len(X.item()):,} signs, but items are wanted: give a list of texts")
    if X.ndim == 0 or X.shape[1:] not in ((), (1,)):
        return None
    texts = X.reshape(-1).astype(object)
    other = next((row for row, value in enumerate(texts) if not isinstance(value, str)), None)
    if other is None:
        return texts if len(texts) else None
    if not any(isinstance(value, str) for value in texts):
        return None
    raise UserError(
        f"X holds {texts[other]!r} in row {other}, which is no text: give strings alone, and leave out what is missing"
    )


def has_strings(X: Any) -> bool:
    """Whether X is a list with strings in it, to be kept apart: in one array all are as wide as the longest."""
    return isinstance(X, list | tuple) and any(isinstance(value, str) for value in X)


def tidy(text: str) -> str:
    """Without NULs and outer white space, lines ending as they do on Unix."""
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").strip().removeprefix("\ufeff").lstrip()


def encoded(text: str, length: int) -> bytes:
    """At most `length` bytes of UTF-8 that end with a whole character; half a surrogate pair becomes "?"."""
    return text.encode("utf-8", "replace")[:length].decode("utf-8", "ignore").encode()


def as_row(text: str, length: int) -> UInt8[np.ndarray, " length"]:
    """The text as bytes, zeros behind it."""
    return np.frombuffer(encoded(text, length).ljust(length, b"\0"), np.uint8)


def from_row(row: np.ndarray) -> str:
    """The text of a row."""
    return np.asarray(row, np.uint8).tobytes().rstrip(b"\0").decode("utf-8", "replace")


def read_text(file: Path, length: int) -> str:
    """The beginning of a file, tidy: at least `length` bytes of UTF-8 where it has so many.

    UTF-8, UTF-16 with its mark, or Western European where that is likely; anything else is unreadable.
    """
    most = 4 * length + ROOM  # two bytes for a letter and two for the end of a line
    with opened(file) as stream:
        content = stream.read(most + 1)
    is_whole = len(content) <= most
    if not content:
        raise UnreadableError("empty file")
    text = tidy(decoded(content[:most], is_whole))
    if not text:
        raise UnreadableError("holds only white space" + ("" if is_whole else f" in its first {most:,} bytes"))
    return text


def mostly_digits(file: Path) -> bool:
    """Whether the beginning of a file has at least as many digits as letters, or is no text at all."""
    try:
        text = read_text(file, GLANCE)
    except UnreadableError:
        return True
    return sum(map(str.isdigit, text)) >= sum(map(str.isalpha, text))


def decoded(content: bytes, is_whole: bool) -> str:
    """The text that these bytes are; where more follow, the last character may be cut off."""
    mark = next((mark for mark in BOMS if content.startswith(mark)), b"")
    encoding, plain = BOMS.get(mark, "utf-8"), content.removeprefix(mark)
    if not encoding.startswith("utf-16"):
        if b"\0" in plain:
            raise UnreadableError("has NUL bytes, as no text has: save it as UTF-8")
        if len(CONTROL.findall(plain)) > MOST_CONTROL * len(plain):
            raise UnreadableError("has many control signs, as no text has")
    try:
        return codecs.getincrementaldecoder(encoding)().decode(plain, final=is_whole)
    except UnicodeDecodeError as error:
        if not mark and len(HIGH.findall(plain)) <= MOST_HIGH * len(plain):
            try:
                return plain.decode("cp1252")
            except UnicodeDecodeError:
                pass
        place = error.start + len(mark)
        raise UnreadableError(f"is no {encoding[:6].upper()} (see byte {place:,}): save it as UTF-8") from None
