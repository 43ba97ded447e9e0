"""From what was given to items: what novakind wrote itself is never one of them."""

from pathlib import Path

import numpy as np
import pytest
from small import paint

from novakind.data.files import load
from novakind.data.forms import is_form
from novakind.data.paths import kind_of, list_items, root_of
from novakind.errors import UserError


@pytest.mark.parametrize("labeled", [True, False])
def test_a_run_in_the_data_folder_is_no_data(tmp_path, labeled):
    for name in ("cat/1.png", "unlabeled/2.png"):
        paint(tmp_path / name, 9)
    load(tmp_path, tmp_path / "runs" / "photos" / "store")
    (tmp_path / "runs" / "photos" / "predictions.csv").write_text("path,label\n")
    assert list_items(tmp_path, labeled).names == ["cat/1.png", "unlabeled/2.png"]


def test_a_folder_that_is_gone_is_still_where_its_items_were(tmp_path):
    assert root_of(tmp_path / "gone") == tmp_path / "gone"
    assert root_of(tmp_path / "gone.csv") == tmp_path
    (tmp_path / "folder.csv").mkdir()
    assert root_of(tmp_path / "folder.csv") == tmp_path / "folder.csv"


def test_arrays_without_x_are_refused_in_a_sentence(tmp_path):
    given = Path(tmp_path / "a.npz")
    np.savez(given, x=np.zeros((3, 2)), y=np.zeros(3))
    assert kind_of(given)
    with pytest.raises(UserError, match="has no array X"):
        list_items(given)


def test_an_npz_whose_list_of_names_is_damaged_is_no_form(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 2)))
    content = (tmp_path / "x.npz").read_bytes()
    at = content.rindex(b"PK\x01\x02")
    flags = content[: at + 9] + b"\x08" + content[at + 10 :]  # its names are UTF-8
    (tmp_path / "x.npz").write_bytes(flags.replace(b"X.npy", b"\xb4.npy"))
    assert not is_form(tmp_path / "x.npz")


def test_tasks_of_files_and_texts_are_refused(tmp_path):
    (tmp_path / "t.json").write_text('[{"data": {"text": "a"}}, {"data": {"image": "b.png"}}]')
    with pytest.raises(UserError, match="has both files and texts for items, but a run sorts one kind"):
        list_items(tmp_path / "t.json")
