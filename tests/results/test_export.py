import csv
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import HOSTILE, write_files, write_run

from novakind.app.cli import main
from novakind.data.paths import SORTED
from novakind.disk import replacing
from novakind.errors import UserError
from novakind.results.export import to_csv, to_folders, to_npz
from novakind.results.files import folder_names, safe_name
from novakind.results.outcome import outcome
from novakind.runs.discovery import Discovery


def test_export_csv_is_a_manifest_with_the_given_labels(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", names=["cat", 'a "b",\nc', "new-1", HOSTILE]))
    to_csv(outcome(found), tmp_path / "new folder" / "out.csv", tmp_path / "data")
    with (tmp_path / "new folder" / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == [f"../data/{path}" for path in found.paths]
    for row, label, number in zip(rows, found.labels, found.category, strict=True):
        assert row["label"] == label
        assert row["category"] == (label or found.names[number])
        assert row["status"] == ("labeled" if label else "suggested")
        assert row["suggested"] == found.names[number]
    assert os.listdir(tmp_path / "new folder") == ["out.csv"]


def test_export_npz_keeps_order_and_ids(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run"))
    to_npz(found, outcome(found), tmp_path / "out.npz", tmp_path, None)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as out:
        assert out["path"].tolist() == list(found.paths)
        assert (out["category"] == found.category).all()
        assert (out["logp"] == found.logp).all()
        assert out["final"].tolist() == list(found.final)
        assert out["y"].tolist() == list(found.labels)


def test_file_names_that_are_not_unicode_survive(tmp_path):
    paths = [os.fsdecode(b"unlabeled/\xff\xe9.png"), *(f"{i}.png" for i in range(59))]
    found = Discovery.load(write_run(tmp_path / "run", paths=paths))
    to_csv(outcome(found), tmp_path / "out.csv", tmp_path)
    assert b"unlabeled/\xff\xe9.png" in (tmp_path / "out.csv").read_bytes()
    found.table().encode("utf-8")


def fail_in(path):
    with replacing(path) as part:
        part.write_text("half")
        raise RuntimeError("the disk is full")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(RuntimeError):
        fail_in(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("link", [False, True])
def test_export_folders_sorts_the_unlabeled_files(tmp_path, link):
    found = Discovery.load(write_run(tmp_path / "run"))
    write_files(tmp_path / "data", found.paths)
    count, gone = to_folders(outcome(found), tmp_path / "out", tmp_path / "data", link)
    assert (count, gone) == (found.labels.count(""), [])
    for path, label, number in zip(found.paths, found.labels, found.category, strict=True):
        target = tmp_path / "out" / found.names[number] / os.path.basename(path)
        assert target.exists() == (not label)
        if not label:
            assert target.read_text() == f"content of {path}"
            assert target.is_symlink() == link


def test_export_of_everything_trusts_the_given_label(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", labels=["dog"] * 30 + [""] * 30))
    write_files(tmp_path / "data", found.paths)
    assert to_folders(outcome(found), tmp_path / "out", tmp_path / "data", False, everything=True) == (60, [])
    assert {path.name for path in (tmp_path / "out" / "dog").iterdir()} >= {f"{i:03d}.png" for i in range(30)}


@pytest.mark.parametrize("link", [False, True])
def test_export_never_overwrites(tmp_path, link):
    paths = [f"unlabeled/{i}/same.png" for i in range(60)]
    found = Discovery.load(write_run(tmp_path / "run", paths=paths, labels=[""] * 60))
    write_files(tmp_path / "data", paths)
    mine = tmp_path / "out" / "new-1" / "same.png"
    mine.parent.mkdir(parents=True)
    mine.write_text("the user's own")
    dangling = mine.with_name("same (2).png")
    dangling.symlink_to(tmp_path / "nowhere")
    assert to_folders(outcome(found), tmp_path / "out", tmp_path / "data", link)[0] == 60
    assert mine.read_text() == "the user's own"
    assert not (tmp_path / "nowhere").exists()
    written = {path.read_text() for path in (tmp_path / "out").rglob("*.png") if path.exists()}
    assert written == {f"content of {path}" for path in paths} | {"the user's own"}
    assert (mine.parent / "same (3).png").exists()


def test_files_that_are_gone_are_counted_not_fatal(tmp_path):
    found = Discovery.load(write_run(tmp_path / "run", labels=[""] * 60))
    write_files(tmp_path / "data", found.paths[2:])
    (tmp_path / "data" / found.paths[1]).mkdir()
    assert to_folders(outcome(found), tmp_path / "out", tmp_path / "data", False) == (58, list(found.paths[:2]))


def test_a_file_is_no_destination(tmp_path):
    (tmp_path / "out").write_text("a file")
    found = Discovery.load(write_run(tmp_path / "run"))
    with pytest.raises(UserError, match="name another destination"):
        to_folders(outcome(found), tmp_path / "out", tmp_path, False)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("café 🦊", "café 🦊"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "_"),
        ("", "_"),
        ("con", "_con"),
        ("NUL.txt", "_NUL.txt"),
        ('a<b>:"c"|?*', "a_b___c____"),
        ("trailing. . ", "trailing"),
        ("cafe\u0301", "café"),
    ],
)
def test_safe_name(name, safe):
    assert safe_name(name) == safe


@given(st.text(max_size=200))
def test_safe_names_are_single_path_components(name):
    safe = safe_name(name)
    assert safe not in ("", ".", "..")
    assert not set(safe) & set('<>:"/\\|?*\0\n')
    assert len(safe.encode()) <= 121


def test_names_that_differ_get_folders_that_differ():
    names = ("a/b", "a:b", "A_B", "a/b", "a_b (2)")
    folders = folder_names(names)
    assert len({folder.casefold() for folder in folders.values()}) == 4
    assert folders["a/b"] == "a_b"


def test_hostile_category_names_become_folders(tmp_path):
    names = ["cat", "dog", "../up", "CAT"]
    found = Discovery.load(write_run(tmp_path / "run", names=names, labels=[""] * 60))
    write_files(tmp_path / "data", found.paths)
    to_folders(outcome(found), tmp_path / "out", tmp_path / "data", False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"cat", "dog", "_up", "categories.csv"}


@pytest.mark.parametrize("link", [False, True])
def test_exporting_twice_changes_nothing(tmp_path, link):
    found = Discovery.load(write_run(tmp_path / "run", paths=[f"{i % 3}/{i // 3}.png" for i in range(60)]))
    write_files(tmp_path / "data", found.paths)
    first = to_folders(outcome(found), tmp_path / "out", tmp_path / "data", link, everything=True)
    files = sorted(tmp_path.joinpath("out").rglob("*.png"))
    assert to_folders(outcome(found), tmp_path / "out", tmp_path / "data", link, everything=True) == first == (60, [])
    assert sorted(tmp_path.joinpath("out").rglob("*.png")) == files


def test_names_of_255_bytes_are_exported_beside_each_other(tmp_path):
    name = "ü" * 125 + ".jpeg"
    paths = [f"unlabeled/{i}/{name}" for i in range(60)]
    found = outcome(Discovery.load(write_run(tmp_path / "run", paths=paths, labels=[""] * 60)))
    write_files(tmp_path / "data", paths)
    assert to_folders(found, tmp_path / "out", tmp_path / "data", False)[0] == 60
    written = list((tmp_path / "out").rglob("*.jpeg"))
    assert len(written) == 60
    assert max(len(os.fsencode(path.name)) for path in written) <= 255


def test_a_file_that_has_changed_is_said_and_no_export_doubles_it(tmp_path, capsys):
    found = outcome(Discovery.load(write_run(tmp_path / "run", labels=[""] * 60)))
    write_files(tmp_path / "data", found.paths)
    to_folders(found, tmp_path / "out", tmp_path / "data", False)
    assert capsys.readouterr().err == ""
    (tmp_path / "data" / found.paths[3]).write_text("another content")
    for _ in range(3):
        to_folders(found, tmp_path / "out", tmp_path / "data", False)
    assert capsys.readouterr().err.startswith("1 files differ from an earlier export and stand beside it")
    assert len(list((tmp_path / "out").rglob("*.png"))) == 61


def test_a_table_that_is_not_ours_removes_nothing(tmp_path):
    found = outcome(Discovery.load(write_run(tmp_path / "run", labels=[""] * 60)))
    write_files(tmp_path / "data", found.paths)
    to_folders(found, tmp_path / "out", tmp_path / "data", False)
    (tmp_path / "mine.png").write_bytes((tmp_path / "data" / found.paths[0]).read_bytes())
    with (tmp_path / "out" / SORTED).open("a") as file:
        file.write(f"../mine.png,,,,,,{found.paths[0]}\n{tmp_path / 'mine.png'},,,,,,{found.paths[0]}\n")
    to_folders(found, tmp_path / "out", tmp_path / "data", False)
    assert (tmp_path / "mine.png").exists()


def test_cells_that_a_spreadsheet_would_run_are_words_if_asked_for(tmp_path):
    names = ["=cmd()", "+1", "-new", "@sum"]
    found = outcome(Discovery.load(write_run(tmp_path / "run", names=names)))
    for asked in (True, False):
        to_csv(found, tmp_path / "out.csv", tmp_path, spreadsheet=asked)
        with (tmp_path / "out.csv").open(newline="") as file:
            cells = {row["category"] for row in csv.DictReader(file)}
        assert all(cell.startswith("'") for cell in cells) == asked


def test_rows_that_are_others_under_the_same_numbers_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = 4 * rng.normal(size=(4, 5))[np.arange(60) % 4] + rng.normal(size=(60, 5))
    y = np.array([0, 1, -1, -1])[np.arange(60) % 4]
    np.savez("v.npz", X=X, y=y)
    assert main(["discover", "v.npz", "--novel", "2", "--epochs", "1", "--quiet", "--out", "run"]) == 0
    assert main(["export", "run", "--out", "out.npz"]) == 0
    np.savez("v.npz", X=np.concatenate([X, X[:1]]), y=np.append(y, -1))  # more at the end
    assert main(["export", "run", "--out", "out.npz"]) == 0
    with np.load("out.npz") as out:
        assert np.array_equal(out["X"], X)
    np.savez("v.npz", X=np.concatenate([X[:1], X]), y=np.append(-1, y))
    capsys.readouterr()
    assert main(["export", "run", "--out", "out.npz"]) == 2
    assert "v.npz has other rows than run sorted under the same numbers" in capsys.readouterr().err
    with np.load("out.npz") as out:
        assert np.array_equal(out["X"], X)
