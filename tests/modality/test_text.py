"""Texts: bytes in rows, files of any encoding, arrays of strings, words that are left out."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from novakind.errors import UnreadableError, UserError
from novakind.modality import KINDS, from_array, from_settings, kind_of_files
from novakind.modality.display import Texts
from novakind.modality.strings import as_row, encoded, from_row, tidy
from novakind.modality.text import Text, TextReading, TextViews, leave_out, word_numbers

WORLD = "Grüße, мир, 世界, दुनिया, 🦊👩‍👩‍👧"


def rows_of(*texts: str, length: int = 64) -> torch.Tensor:
    return Text(length).collate(np.stack([as_row(text, length) for text in texts]))


def said(batch: torch.Tensor) -> list[str]:
    return [from_row(row) for row in batch.numpy()]


def shuffled(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.text(), st.integers(16, 80))
def test_a_row_holds_a_text_up_to_a_whole_character(text, length):
    text = tidy(text)
    found = from_row(as_row(text, length))
    whole = text.encode("utf-8", "replace").decode()
    assert whole.startswith(found)
    assert len(whole.encode()) <= length or len(found.encode()) > length - 4
    assert found == whole or len(whole.encode()) > length


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (WORLD.encode(), WORLD),
        (b"\xef\xbb\xbf" + WORLD.encode(), WORLD),
        (WORLD.encode("utf-16"), WORLD),
        (b"\xfe\xff" + WORLD.encode("utf-16-be"), WORLD),
        ("Café “à la carte”, 5 €".encode("cp1252"), "Café “à la carte”, 5 €"),
        (b"\r\n one\r\ntwo\rthree \n\n", "one\ntwo\nthree"),
        ("a\0b".encode("utf-16"), "ab"),
        (b"\x1b[31mred\x1b[0m text", "\x1b[31mred\x1b[0m text"),
        (" " * 3000 + "late", "late"),
        ("1,2\n3,4\n", "1,2\n3,4"),
    ],
)
def test_files_of_many_encodings_are_read(put, content, text):
    assert [(name, from_row(row)) for name, row in Text(100).read(put(content, "a.txt"))] == [("", text)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty file"),
        (b" \r\n\t\xef\xbb\xbf", "holds only white space"),
        (b"\xef\xbb\xbf", "holds only white space"),
        (b" " * 10_000 + b"late", "holds only white space in its first 4,496 bytes"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "has NUL bytes"),
        ("text".encode("utf-16-le"), "has NUL bytes, as no text has: save it as UTF-8"),
        (bytes(range(1, 256)) * 4, "has many control signs"),
        ("Привет, мир, это письмо".encode("cp1251"), r"is no UTF-8 \(see byte 0\): save it as UTF-8"),
        (b"\xff\xfea\0\x00\xd8a\0", r"is no UTF-16 \(see byte 4\)"),
        (b"plain but \x81 is nothing", r"is no UTF-8 \(see byte 10\)"),
    ],
)
def test_files_that_are_no_text_say_why(put, content, reason):
    with pytest.raises(UnreadableError, match=reason):
        Text(100).read(put(content, "a.txt"))


def test_only_the_beginning_of_a_large_file_is_read(tmp_path):
    with (tmp_path / "large.txt").open("wb") as file:
        file.write("ü".encode() * 40_000)
        file.truncate(2**33)  # sparse: no memory could hold it in time
    assert from_row(Text(101).read(tmp_path / "large.txt")[0][1]) == "ü" * 50
    assert Text.survey([tmp_path / "large.txt"], TextReading()) == Text(2048)
    with pytest.raises(UnreadableError, match="No such file"):
        Text(100).read(tmp_path / "gone.txt")
    with pytest.raises(UnreadableError, match="a folder"):
        Text(100).read(tmp_path)


def test_the_length_is_that_of_the_longest(put):
    files = [put("x" * count, f"{count}.txt") for count in (3, 90, 40)]
    files += [put("世" * 70, "wide.txt"), put(b"\0" * 9000, "binary.txt")]
    assert Text.survey(files, TextReading()).length == 210
    assert Text.survey(files[:1], TextReading()).length == 16
    assert Text.survey(files, TextReading(length=30)).length == 30
    assert Text.survey([put("x" * 9000, "long.txt")], TextReading()).length == 2048
    assert Text.survey([put(b"", "empty.txt")], TextReading()).length == 2048
    assert from_array(np.array(["a", "b" * 17]))[1] == Text(17)
    assert from_array(np.array(["a", "b" * 5000]))[1] == Text(2048)
    assert from_array(np.array(["a", "b" * 17]), TextReading(length=40))[1] == Text(40)


@pytest.mark.parametrize("length", [-1, 1, 15, 65_537])
def test_a_length_that_cannot_be_is_refused(length):
    with pytest.raises(UserError, match=f"--length {length}"):
        TextReading(length=length)


@pytest.mark.parametrize(
    "given",
    [
        np.array(["first", WORLD, ""]),
        np.array([["first"], [WORLD], [""]]),
        np.array(["first", WORLD, ""], dtype=object),
        np.array([["first"], [WORLD], [" \n\0"]], dtype=object),
        np.array(["first", WORLD, "\ufeff"], dtype=np.dtypes.StringDType())
        if hasattr(np.dtypes, "StringDType")
        else np.array(["first", WORLD, ""]),
    ],
)
def test_arrays_of_strings_are_texts_and_empty_ones_stay(given):
    rows, modality = from_array(given)
    assert rows.dtype == np.uint8
    assert rows.shape == (3, len(WORLD.encode()))
    assert [from_row(row) for row in rows] == ["first", WORLD, ""]
    assert from_settings(json.loads(json.dumps(modality.settings()))) == modality
    assert from_array(np.array(["other", "words"]), modality.reading())[1] == modality


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array(["", " "]), "X holds 2 texts without a single word: give some that say something"),
        (np.array(["a", None], dtype=object), "X holds None in row 1, which is no text: give strings alone"),
        (np.array(["a", "b", np.nan], dtype=object), "X holds nan in row 2, which is no text"),
        (np.array("one text"), "X is one text of 8 signs, but items are wanted: give a list of texts"),
        (np.array([["a", "b"]]), "X of type <U1 is not numeric"),
        (np.array([b"a", b"b"]), r"X of type \|S1 is not numeric"),
        (np.array([], dtype="U5"), "X of type <U5 is not numeric"),
    ],
)
def test_arrays_that_are_no_texts_are_refused(given, message):
    with pytest.raises(UserError, match=f"^{message}"):
        from_array(given)


def test_half_of_a_surrogate_pair_does_no_harm():
    assert from_row(as_row("a\ud83d", 16)) == "a?"
    assert encoded("é", 1) == b""


def test_words_stand_between_white_space_and_chinese_signs_alone():
    [numbers] = word_numbers(rows_of("two  words\n世界 été", length=32)).tolist()
    text = "two  words\n世界 été".encode()
    words = {}
    for number, byte in zip(numbers, text, strict=False):
        words.setdefault(number, bytearray()).append(byte)
    assert [word.decode().strip() for word in words.values()] == ["two", "words", "世", "界", "été"]


def test_words_are_left_out_as_often_as_asked():
    texts = [" ".join(f"w{number}" for number in range(14))] * 400
    batch = rows_of(*texts, length=80)
    for strength, chance in (("strong", 0.3), ("weak", 0.15), ("none", 0.0)):
        varied = Text(80).augment(batch, TextViews(strength=strength, drop=0.3), shuffled())
        assert varied.dtype == torch.uint8
        assert varied.shape == batch.shape
        left = [text.split() for text in said(varied)]
        assert np.mean([len(words) for words in left]) == pytest.approx(14 * (1 - chance), abs=0.25)
        assert all(words == sorted(words, key=lambda word: int(word[1:])) for words in left)
    again = Text(80).augment(batch, TextViews(drop=0.3), shuffled())
    assert torch.equal(again, Text(80).augment(batch, TextViews(drop=0.3), shuffled()))


@given(st.lists(st.text(max_size=30).map(tidy), min_size=1, max_size=6), st.floats(0.01, 0.999))
def test_some_words_always_stay_and_are_whole(texts, chance):
    length = 128
    batch = rows_of(*texts, length=length)
    for before, after in zip(said(batch), said(leave_out(batch, chance, shuffled())), strict=True):
        assert "\ufffd" not in after or "\ufffd" in before
        assert bool(after.strip()) == bool(before)
    assert said(leave_out(batch, 0.0, shuffled())) == said(batch)


def test_the_page_gets_the_text():
    rows, modality = from_array(np.array(["first", WORLD]))
    shown = modality.display(lambda item: rows[item])
    assert isinstance(shown, Texts)
    assert shown.text(1) == WORLD
    assert modality.faces(rows_of("a"))[0].dtype == torch.uint8
    assert modality.fitted(rows) is modality


def test_files_that_end_in_txt_are_recordings_or_texts(put):
    numbers = [put("time,x,y\n" + "".join(f"{t},{t % 7},{t % 5}\n" for t in range(40)), f"{n}.txt") for n in range(4)]
    prose = [put(f"Sentence {n}, with a comma.\nAnd one more: the number {n}.\n", f"prose {n}.txt") for n in range(5)]
    notes = [put("# Heading", "a.md"), put("text", "b.md")]
    assert kind_of_files(numbers) is KINDS["series"]
    assert kind_of_files([*numbers, prose[0]]) is KINDS["series"]  # a README among recordings
    assert kind_of_files(prose) is KINDS["text"]
    assert kind_of_files([*prose, *notes]) is KINDS["text"]
    assert kind_of_files(notes) is KINDS["text"]
