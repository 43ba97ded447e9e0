"""Cells of a table of text: however long a name is, it is cut at once."""

import time

from novakind.runs.cells import clip


def test_long_names_are_cut_to_their_beginning_or_end():
    assert clip("short", 10) == "short"
    assert clip("a long name", 6) == "a lon…"
    assert clip("folder/one.png", 10, tail=True) == "…/one.png"
    assert clip("x" * 40, 5) == "xxxx…"
    assert clip("e\u0301" * 3, 3) == "e\u0301" * 3


def test_a_name_of_millions_of_signs_takes_no_time():
    begun = time.process_time()
    assert clip("ab" * 1_000_000, 5) == "abab…"
    assert clip("ab" * 1_000_000, 5, tail=True) == "…abab"
    assert time.process_time() - begun < 1
