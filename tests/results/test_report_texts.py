"""Texts on the page: what they say, the words of each category, in any script; a browser that draws them."""

import json
import re
from collections import Counter
from math import log

import numpy as np
import pytest
from runs import CHROMIUM, HOSTILE, PLAY, browse, data_of, write_run
from sentences import sentences

from novakind.modality.display import Texts
from novakind.results.report import write_report
from novakind.results.report.texts import SHOWN, gather_texts, weigh, words_of
from novakind.runs.discovery import Discovery


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's A 10-km run? I don't know_it.", ["what's", "10", "km", "run", "don't", "know_it"]),
        ("Ünïcode Straße", ["ünïcode", "straße"]),
        ("cafe\u0301 ОЧЕНЬ хорошо", ["café", "очень", "хорошо"]),
        ("हिन्दी में लिखा", ["हिन्दी", "में", "लिखा"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("今天天气", ["今天", "天天", "天气"]),
        ("水", ["水"]),
        ("用iPhone手机 ok", ["用", "iphone", "手机", "ok"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("🦊 !!! …", []),
        ("", []),
    ],
)
def test_words_of_any_script(text, words):
    assert words_of(text) == words


def test_words_are_weighed_by_category():
    counts = {0: Counter({"rain": 6, "the": 9, "is": 2}), 1: Counter({"song": 4, "the": 8}), 2: Counter({"pie": 1})}
    total, mean = {"rain": 6, "is": 2}, 30 / 3
    scores = {word: counts[0][word] * log(1 + mean / total[word]) for word in total}
    assert weigh(counts) == {0: sorted(scores, key=lambda word: -scores[word]), 1: ["song"], 2: ["pie"]}
    assert weigh({}) == {}
    assert weigh({0: Counter({"b": 1, "a": 1})}) == {0: ["a", "b"]}


def test_words_that_are_everywhere_set_nothing_apart():
    texts, _ = sentences(200)
    counts = {number: Counter() for number in range(4)}
    for item, text in enumerate(texts):
        counts[item % 4].update(words_of(f"please {text}"))
    found = weigh(counts)
    assert [words[0] for words in found.values()] == ["in", "song", "flight", "bake"]
    assert not any("please" in words for words in found.values())


def text_of(run):
    """Texts for the items of a run by their category, some of them hostile, long or in another script."""
    category, texts = Discovery.load(run).category, sentences(400)[0]
    odd = {0: HOSTILE, 1: "word " * 500, 2: "今天天气怎么样", 3: "", 4: "مرحبا بالعالم"}

    def text(item):
        if item == 5:
            raise OSError("the file is gone")
        return odd.get(item, texts[4 * item + int(category[item]) % 4])

    return Texts(text)


def test_the_page_holds_texts_and_words(tmp_path):
    run = write_run(tmp_path)
    page = write_report(run, text_of(run)).read_text(encoding="utf-8")
    data = data_of(page)
    items = data["texts"]["items"]
    assert data["pictures"] == {}
    assert items["0"] == HOSTILE
    assert len(items["1"]) <= SHOWN
    assert items["1"].endswith("word…")
    assert not {"3", "5"} & items.keys()
    assert len(items) == 58
    assert {"song", "flight"} & set(data["texts"]["words"]["1"]) == {"song"}
    assert all(len(words) <= 8 for words in data["texts"]["words"].values())
    assert "3" not in data["texts"]["words"]  # a category without items
    assert HOSTILE not in page
    assert json.dumps(data["texts"])


def test_many_long_texts_stay_small():
    found = gather_texts(Texts(lambda item: f"{item} {'字' * 3000}"), np.arange(2700) % 3, range(2700))
    assert len(json.dumps(found)) < 8_000_000


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_a_browser_draws_texts(tmp_path):
    run = write_run(tmp_path / "run", truth=["cat", "dog", "owl"])
    page = tmp_path / "play.html"
    text = write_report(run, text_of(run)).read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", f"{PLAY}</body>"), encoding="utf-8")
    dom = browse(page, tmp_path / "browser")
    html = re.search(r"<html[^>]*>", dom)
    assert html is not None
    assert "data-error" not in html[0]
    assert "data-played" in html[0]
    assert dom.count('<q class="said"') > 20
    assert dom.count('<ul class="telling"') == 3
    assert '<q class="whole-text"' in dom
    assert '<img src="x"' not in dom
    assert '<span class="name">renamed</span>' in dom
