"""A store that a training has mapped into its memory is never changed under it."""

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from small import paint

from novakind.app.cli import main
from novakind.data.files import load
from novakind.data.store import INDEX
from novakind.progress import Reporter

QUICK = ["--novel", "2", "--preset", "glyphs", "--epochs", "3", "--batch", "40", "--quiet"]


def first_of(folder: Path) -> Path:
    return sorted(folder.rglob("*.png"))[0]


def test_rows_stay_what_they_were_when_a_file_changes(shapes, tmp_path):
    mapped = load(shapes, tmp_path / "store")
    before = np.array(mapped.items)
    paint(first_of(shapes), 200, side=12)
    again = load(shapes, tmp_path / "store")
    np.testing.assert_array_equal(mapped.items, before)
    assert (again.items[0] == 200).all()
    np.testing.assert_array_equal(again.items[1:], before[1:])


def test_rows_stay_when_files_go_and_come(shapes, tmp_path):
    mapped = load(shapes, tmp_path / "store")
    before = np.array(mapped.items)
    middle = sorted(shapes.rglob("*.png"))[80]
    content = middle.read_bytes()
    middle.unlink()
    assert len(load(shapes, tmp_path / "store")) == 159
    middle.write_bytes(content)
    assert len(load(shapes, tmp_path / "store")) == 160
    np.testing.assert_array_equal(mapped.items, before)


def test_files_that_are_added_at_the_end_are_appended(shapes, tmp_path):
    load(shapes, tmp_path / "store")
    rows = tmp_path / "store" / "rows-0-0000.bin"
    number = rows.stat().st_ino
    paint(shapes / "unlabeled" / "zz.png", 10, side=12)
    assert len(load(shapes, tmp_path / "store")) == 161
    assert rows.stat().st_ino == number  # the same file, longer


def test_a_damaged_line_in_the_middle_of_the_index_costs_no_mapped_row(shapes, tmp_path):
    mapped = load(shapes, tmp_path / "store")
    before = np.array(mapped.items)
    index = tmp_path / "store" / INDEX
    lines = index.read_bytes().splitlines(keepends=True)
    lines[50] = b"junk\n"
    index.write_bytes(b"".join(lines))
    np.testing.assert_array_equal(load(shapes, tmp_path / "store").items, before)
    np.testing.assert_array_equal(mapped.items, before)


def test_a_report_during_a_training_leaves_the_model_alone(shapes, monkeypatch, capsys):
    """The picture that changes meanwhile is read anew by the report, not by the training."""
    assert main(["discover", "shapes", *QUICK, "--out", "alone"]) == 0

    def disturb(self, line, total):
        if line["epoch"] == 1:
            paint(first_of(shapes), 200, side=12)
            assert main(["report", "disturbed"]) == 2  # not finished yet

    monkeypatch.setattr(Reporter, "epoch", disturb)
    assert main(["discover", "shapes", *QUICK, "--out", "disturbed"]) == 0
    expected, found = (load_file(f"{run}/model.safetensors") for run in ("alone", "disturbed"))
    assert all((expected[name] == found[name]).all() for name in expected)
