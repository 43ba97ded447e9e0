"""Texts for the page: the beginning of each, and the words that set each category apart."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Int

from novakind.modality.display import Texts
from novakind.results.report.layout import sample

SHOWN = 400  # signs of a text
WORDS = 8  # of a category
TIMES = 2
READ = 20_000  # texts that words are counted in, as many of each category where it has enough
SIGNS = 5_000_000  # of all these texts together

# Thai to Burmese, Khmer, Japanese and Chinese: scripts without spaces between words
DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)


def gather_texts(texts: Texts, category: Int[np.ndarray, " items"], shown: Iterable[int]) -> dict[str, Any]:
    """The items in `shown`, as far as the page has room, and the words of every category."""
    return {
        "items": {item: short(text) for item in shown if (text := read(texts, item))},
        "words": distinctive(texts, category),
    }


def read(texts: Texts, item: int) -> str:
    """An item's text; "" for one that cannot be read."""
    try:
        return texts.text(item)
    except (OSError, ValueError):
        return ""


def short(text: str) -> str:
    """The text, or its beginning and three points."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1].rstrip()}…"


def distinctive(texts: Texts, category: Int[np.ndarray, " items"]) -> dict[int, list[str]]:
    """The words that stand out in each category, the most telling first: see `weigh`."""
    counts: dict[int, Counter[str]] = {}
    chosen = sample(category, READ).tolist()
    for item in chosen:
        beginning = read(texts, item)[: SIGNS // len(chosen)]
        counts.setdefault(int(category[item]), Counter()).update(words_of(beginning))
    return {number: best for number, best in weigh(counts).items() if best}


def weigh(counts: dict[int, Counter[str]]) -> dict[int, list[str]]:
    """The WORDS best by class-based tf-idf: the count in the category times log(1 + A / the count in all of them).

    A is the mean number of words per category. Only words that are more than TIMES as frequent in the category as in
    all others together count, which leaves out "the" and "of" where there are few categories. Equal ones go by the
    alphabet.
    """
    total: Counter[str] = Counter()
    for own in counts.values():
        total.update(own)
    every = total.total()
    mean = every / max(len(counts), 1)
    found = {}
    for number, own in counts.items():
        ratio = own.total() / max(every - own.total(), 1)  # of the words here to those elsewhere
        scores = {
            word: count * math.log1p(mean / total[word])
            for word, count in own.items()
            if count > TIMES * ratio * (total[word] - count)
        }
        found[number] = sorted(scores, key=lambda word: (-scores[word], word))[:WORDS]
    return found


def words_of(text: str) -> list[str]:
    """Words in lower case, in any script; single letters are left out, and dense scripts give pairs of signs."""
    pattern, dense, sign = patterns()
    found = []
    for word in pattern.findall(unicodedata.normalize("NFC", text).lower()):
        if dense.match(word):
            signs = sign.findall(word)
            found += ["".join(pair) for pair in pairwise(signs)] if len(signs) > 1 else signs
        elif len(word) > 1:
            found.append(word)
    return found


@cache
def patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A word, a sign of a dense script, and a sign with its marks.

    Vowels of Indian scripts and accents may be marks, which `\\w` leaves out, and are never a word's beginning.
    """
    points = (chr(point) for point in range(0x300, 0x10000))  # rarer ones would make a search slow
    marks = "".join(re.escape(sign) for sign in points if unicodedata.category(sign).startswith("M"))
    joined = rf"[{marks}\u200c\u200d]"
    letter = rf"(?:(?![{DENSE}])\w{joined}*)"
    word = rf"(?:[{DENSE}]{joined}*)+|{letter}+(?:['’]{letter}+)*"
    return re.compile(word), re.compile(f"[{DENSE}]"), re.compile(rf".{joined}*", re.DOTALL)
