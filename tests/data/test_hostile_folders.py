"""Folders, tables and arrays that would give a wrong result without a word: each is refused, or said."""

import csv
import errno
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from commands import QUICK, picture, refused, table
from small import paint

from novakind.app.cli import main
from novakind.data.collection import encode_labels
from novakind.data.paths import list_items
from novakind.errors import UserError

TWO = ["--novel", "2", *QUICK]
ODD = "a\rb\n'\"c,\td"


def kinds(root: Path, names=("dark", "bright"), unlabeled: str = "unlabeled", odd: str = "") -> Path:
    for number in range(40):
        picture(root / unlabeled / f"{odd}{number}.png", 80 + 90 * (number % 2), number)
    for number in range(10):
        for tone, name in enumerate(names):
            picture(root / name / f"{odd}{number}.png", 20 + 200 * tone, number)
    return root


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_any_name_that_a_file_system_allows_goes_through_every_verb(here, capsys):
    """Line ends of all sorts in the names of classes and files, and bytes that are no text."""
    kinds(Path(ODD), names=(f"one{ODD}", os.fsdecode(b"tw\xff\ro")), odd=ODD)
    assert main(["discover", ODD, *TWO, "--out", "run"]) == 0
    assert main(["report", "run"]) == 0
    assert main(["export", "run", "--out", "out.csv"]) == 0
    assert main(["export", "run", "--out", "sorted"]) == 0
    for form, out in (("npz", "out.npz"), ("imagefolder", "i"), ("fiftyone", "f"), ("labelstudio", "l")):
        assert main(["export", "run", "--to", form, "--out", out]) == 0
    for out in ("more.csv", "more.parquet"):
        assert main(["predict", "run", ODD, "--out", out]) == 0
    assert main(["discover", ODD, "--after", "run", "--epochs", "1", "--quiet"]) == 0
    assert len([file for file in Path("sorted").rglob("*.png") if file.is_file()]) == 40
    assert main(["discover", "out.csv", *TWO, "--out", "second"]) == 0
    assert main(["discover", ODD, *TWO, "--out", "run"]) == 0
    assert "Traceback" not in capsys.readouterr().err
    with Path("second/predictions.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as file:
        assert {row["label"] for row in csv.DictReader(file)} == {"", f"one{ODD}", os.fsdecode(b"tw\xff\ro")}


def test_labels_that_differ_have_names_that_differ():
    for values in ([1234567.0, 1234568.0], [0.1, 0.1 + 2e-17 + 1e-16], [1e22, 1e22 + 2**22], [-0.5, 0.5]):
        for kind in (np.float64, np.float32):
            y = np.array(values, dtype=kind)
            assert len(encode_labels(y)[1]) == len(np.unique(y))


@pytest.mark.parametrize(
    "content",
    [
        'path,label\na/0.png,"cat\na/1.png,cat\na/2.png,\n',  # to the end of the file
        'path,label\na/0.png,"cat\na/1.png,"\na/2.png,\n',  # to the next quote
        'path,label\n"a/0.png,cat\na/1.png",cat\na/2.png,\n',
        'path,label\na/0.png,"cat"s\na/1.png,cat\n',
    ],
)
def test_a_quote_that_swallows_rows_is_refused(here, content):
    for number in range(3):
        paint(here / "a" / f"{number}.png", 9)
    (here / "list.csv").write_text(content)
    with pytest.raises(UserError, match=r"quote|expected after|end of data"):
        list_items(here / "list.csv")


def test_folders_that_are_left_out_are_said(here, capsys):
    kinds(Path("photos"))
    Path("elsewhere").mkdir()
    paint(Path("elsewhere/0.png"), 9)
    Path("photos/linked").symlink_to(Path("elsewhere").resolve())
    Path("photos/dark/loop").symlink_to(Path("photos").resolve())
    assert main(["discover", "photos", *TWO]) == 0
    skipped = {row["path"]: row["reason"] for row in table(Path("runs/photos/skipped.csv"))}
    assert set(skipped) == {"linked", "dark/loop"}
    assert all("link to a folder" in reason for reason in skipped.values())


def test_what_is_skipped_is_listed_before_a_run_is_refused(here, capsys):
    kinds(Path("photos"))
    Path("photos/dark/device.png").symlink_to("/dev/zero")
    Path("photos/dark/gone.png").symlink_to("gone")
    assert "fewer than" in refused(capsys, "discover", "photos", "--novel", "30", *QUICK)
    skipped = {row["path"]: row["reason"] for row in table(Path("runs/photos/skipped.csv"))}
    assert skipped == {"dark/device.png": "not a file", "dark/gone.png": "a broken link"}


def test_a_folder_that_cannot_be_opened_is_said(here, monkeypatch):
    paint(here / "photos" / "cat" / "0.png", 9)
    paint(here / "photos" / "closed" / "0.png", 9)

    def refusing(call, inside):  # as to a user who may not look into it
        def refuse(place, **options):
            if inside in os.fspath(place):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
            return call(place, **options)

        return refuse

    monkeypatch.setattr(os, "scandir", refusing(os.scandir, "closed"))
    monkeypatch.setattr(os, "stat", refusing(os.stat, "closed/"))
    listing = list_items(Path("photos"))
    assert listing.names == ["cat/0.png"]
    assert listing.skipped == (("closed", "a folder that cannot be opened: Permission denied"),)


@pytest.mark.parametrize("name", ["Unlabeled", "unlabeled ", "UNLABELED", " unlabeled", "unlabelled"])
def test_what_is_nearly_the_word_for_no_label_is_no_class(here, capsys, name):
    for number in range(3):
        paint(here / "photos" / name / f"{number}.png", 9)
        paint(here / "photos" / "cat" / f"{number}.png", 9)
    assert f'has "{name}" for a class' in refused(capsys, "discover", "photos", *TWO)
    rows = [f"photos/cat/{number}.png,{word}" for number, word in enumerate(("cat", name.strip(), ""))]
    (here / "list.csv").write_text("\n".join(["path,label", *rows]))
    if name.strip() != "unlabeled":
        assert "for a class" in refused(capsys, "discover", "list.csv", *TWO)


@pytest.mark.parametrize("kind", ["complex64", "datetime64[s]", "timedelta64[s]", "V8", "S3"])
def test_numbers_that_are_none_are_refused(here, capsys, kind):
    X = np.zeros((60, 4), kind)
    np.savez("x.npz", X=X, y=np.repeat([0, 1, -1], 20))
    refused(capsys, "discover", "x.npz", *TWO)
    np.save("x.npy", X)
    np.save("x.labels.npy", np.repeat([0, 1, -1], 20))
    refused(capsys, "discover", "x.npy", *TWO)


def test_arrays_larger_than_memory_are_refused_before_they_are_read(here, capsys):
    shape = (2**20, 2**24)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    head = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", head)
        archive.writestr("y.npy", head)
    content = bytearray(Path("x.npz").read_bytes())
    place = content.index(b"PK\x01\x02") + 24
    content[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    Path("x.npz").write_bytes(content)
    refused(capsys, "discover", "x.npz", *TWO)


@pytest.mark.parametrize("name", ["list.csv", "list.jsonl", "list.parquet", "x.npz", "x.npy", "x.arrow", "x.txt"])
def test_a_pipe_that_is_given_never_hangs(here, capsys, name):
    os.mkfifo(name)
    assert name in refused(capsys, "discover", name, *TWO)
    kinds(Path("photos"))
    if name == "x.npz":
        assert main(["discover", "photos", *TWO]) == 0
        capsys.readouterr()
        refused(capsys, "predict", "runs/photos", name)
        assert "list.csv" in refused(capsys, "discover", "photos", *TWO, "--truth", "list.csv", "--out", "other")


def test_pipes_in_a_table_are_skipped(here, capsys):
    kinds(Path("photos"))
    os.mkfifo("photos/pipe.png")
    files = sorted(Path("photos").rglob("*.png"))
    rows = [(str(file), "" if file.parent.name == "unlabeled" else file.parent.name) for file in files]
    rows += [("/dev/zero", "dark"), ("/dev/tty", "")]
    with Path("list.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "label"), *rows])
    assert main(["discover", "list.csv", *TWO]) == 0
    skipped = {row["path"]: row["reason"] for row in table(Path("runs/list/skipped.csv"))}
    device = "a device, not a file"
    assert skipped == {"photos/pipe.png": "a pipe, not a file", "/dev/zero": device, "/dev/tty": device}


def test_two_spellings_of_a_path_are_one_item(here):
    paint(here / "a.png", 9)
    for other in ("./a.png", "b/../a.png", str(here / "a.png"), "a.png"):
        (here / "list.csv").write_text(f"path,label\na.png,cat\n{other},dog\n")
        with pytest.raises(UserError, match="more than once"):
            list_items(here / "list.csv")
