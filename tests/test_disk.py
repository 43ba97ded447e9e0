"""Files are whole or absent, and what cannot be written is refused in one sentence, whichever step fails."""

import os
from pathlib import Path

import pytest
from full import Full

from novakind import disk
from novakind.disk import UnwritableError, append, copy_new, locked, make_folder, remove, write_atomic, writing


def actions(folder):
    source = folder / "source"
    source.write_bytes(b"later")
    return {
        "write": lambda: write_atomic(folder / "a" / "file", b"later"),
        "append": lambda: append(folder / "log", b"later\n"),
        "copy": lambda: copy_new(source, folder / "copy"),
        "lock": lambda: locked(folder / "b", wait=False).__enter__(),
    }


@pytest.mark.parametrize("action", ["write", "append", "copy", "lock"])
def test_a_full_disk_is_one_sentence_at_every_step_and_changes_nothing(tmp_path, monkeypatch, action):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"earlier")
    (tmp_path / "log").write_bytes(b"earlier\n")
    steps = Full(10**9)
    for at in range(1, 20):
        full = Full(at)
        monkeypatch.setattr(disk, "act", full)
        if at <= steps.calls or at == 1:
            with pytest.raises(UnwritableError, match=r"cannot be written \(No space left.*\): free some space"):
                actions(tmp_path)[action]()
            assert (tmp_path / "a" / "file").read_bytes() == b"earlier"
            assert (tmp_path / "log").read_bytes() == b"earlier\n"
            assert not (tmp_path / "copy").exists()
            assert not list(tmp_path.rglob("*.part"))
        if at == 1:
            probe = tmp_path / "probe"
            (probe / "a").mkdir(parents=True)
            monkeypatch.setattr(disk, "act", steps)
            actions(probe)[action]()
    assert steps.calls > 1


def test_a_link_in_the_place_of_a_file_is_never_followed(tmp_path):
    """A run folder may come from anybody: what its links lead to must not be written."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in (".lock", ".file.part", "log"):
        (tmp_path / name).symlink_to(precious)
    write_atomic(tmp_path / "file", b"new")
    with pytest.raises(UnwritableError):
        append(tmp_path / "log", b"line\n")
    with pytest.raises(UnwritableError), locked(tmp_path, wait=False):
        pass
    (tmp_path / "link").symlink_to(precious)
    write_atomic(tmp_path / "link", b"new")
    assert precious.read_text() == "mine"


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "log")
    with pytest.raises(UnwritableError):
        append(tmp_path / "log", b"line\n")


def test_names_of_255_bytes_can_be_written(tmp_path):
    name = "ü" * 127
    write_atomic(tmp_path / name, b"x")
    copy_new(tmp_path / name, tmp_path / ("v" * 255))
    assert sorted(os.listdir(tmp_path)) == ["v" * 255, name]
    with pytest.raises(UnwritableError, match="give a shorter path"):
        write_atomic(tmp_path / ("w" * 256), b"x")


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    write_atomic(tmp_path / "file", b"old")
    with pytest.raises(KeyError), writing(tmp_path / "file") as file:  # noqa: PT012
        file.write(b"half")
        raise KeyError
    assert (tmp_path / "file").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_copy_never_replaces_and_a_folder_is_made_once(tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(FileExistsError):
        copy_new(tmp_path / "there", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(UnwritableError, match="a file is in its place"):
        make_folder(tmp_path / "there")
    remove(tmp_path / "nothing")


def test_devices_are_never_replaced():
    """Not by root either, who may: /dev/null would be gone."""
    with (
        pytest.raises(UnwritableError, match="/dev/null is no file, and cannot be written"),
        disk.replacing(Path("/dev/null")),
    ):
        raise AssertionError
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_a_place_that_was_asked_for_is_a_file_or_nothing(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(UnwritableError, match="is no file, and cannot be written"):
        disk.check_place(tmp_path / name)
    disk.check_place(tmp_path / "nothing")
    disk.check_place(tmp_path)
