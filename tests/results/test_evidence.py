"""Why there are so many categories, as the page shows it: a tree, its cut, probes."""

import pytest
from runs import COUNTED, data_of, write_run

from novakind.errors import UserError
from novakind.modality.display import Pictures
from novakind.results.report import write_report


def shown_of(run):
    return data_of(write_report(run, Pictures(lambda item: None)).read_text(encoding="utf-8"))["evidence"]


def test_the_evidence_of_the_number(tmp_path):
    shown = shown_of(write_run(tmp_path / "counted", estimate=COUNTED))
    assert shown["merges"] == [[0, 2], [3, 1]]
    assert (shown["leaves"], shown["cut"], shown["sizes"], shown["merged"]) == (3, 2, [5, 20, 15], False)
    tree = [[0, 2, 0.1, 0.5], [0, 1, 0.9, 1.0]]  # by the first output of each group
    shown = shown_of(write_run(tmp_path / "merged", merging={"tree": tree}))
    assert (shown["merges"], shown["leaves"], shown["probes"]) == ([[0, 2], [3, 1]], 3, [])
    assert shown_of(write_run(tmp_path / "given")) is None
    with pytest.raises(UserError, match=r"the merge tree in results.json is damaged: run its novakind discover again"):
        shown_of(write_run(tmp_path / "damaged", merging={"tree": [[7, 8]]}))
