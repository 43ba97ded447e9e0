import itertools
import json
import math
from xml.etree import ElementTree

import pytest

from novakind.compare.curves import Point, draw, mean, reached, read, ticks

FIRST = [Point(1, 0.5, 0.2), Point(2, 0.7, 0.6), Point(3, 0.8, 0.8)]
SECOND = [Point(2, 0.7, 0.4), Point(4, 0.9, 0.4)]


def test_a_curve_adds_up_seconds_and_leaves_out_what_has_no_score(tmp_path):
    lines = [
        {"seconds": 30},
        {"seconds": 30, "known_acc/val/agnostic": 0.5, "novel_acc/val/agnostic": math.nan},
        {"seconds": 60, "known_acc/val/agnostic": 0.5, "novel_acc/val/agnostic": 0.25},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read(tmp_path) == [Point(2, 0.5, 0.25)]
    assert read(tmp_path / "absent") == []


def test_the_mean_goes_as_far_as_every_run():
    assert mean([FIRST, SECOND]) == [Point(1.5, 0.6, pytest.approx(0.3)), Point(3, 0.8, 0.5)]


def test_the_time_to_a_score_is_that_of_the_first_epoch_that_has_it():
    assert reached(FIRST, 0.6) == 2
    assert reached(FIRST, 0.9) == math.inf


@pytest.mark.parametrize(("last", "expected"), [(5, [0, 1, 2, 3, 4, 5]), (28, [0, 10, 20]), (0.3, [0, 0.1, 0.2, 0.3])])
def test_ticks_are_round(last, expected):
    assert ticks(last) == expected


def test_the_picture_is_whole_and_names_do_not_overlap():
    root = ElementTree.fromstring(draw("a < b", "c & d", {"ours": [FIRST, SECOND], "uno": [FIRST], "<x>": [FIRST]}))
    names = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.text in ("ours", "uno", "<x>")]
    assert len(names) == 6
    for panel in (names[:3], names[3:]):
        heights = [float(text.attrib["y"]) for text in panel]
        assert all(low - high >= 15 for high, low in itertools.pairwise(heights))
