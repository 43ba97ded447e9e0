"""A user's file is opened only if it is one, and only so much of it is read."""

import io
import os
import socket
import threading
import time
import tracemalloc
from pathlib import Path

import pytest

from novakind.errors import UnreadableError, UserError
from novakind.given import MEGABYTE, Budget, at_once, is_regular, opened, read_whole, to_read


def test_only_regular_files_are_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    places = {"pipe": "a pipe", "socket": "a socket", ".": "a folder", "/dev/zero": "a device", "gone": "No such file"}
    for place, reason in places.items():
        assert not is_regular(Path(place))
        with pytest.raises(UnreadableError, match=reason), opened(Path(place)):
            pass
    with pytest.raises(UnreadableError, match="No such file"):
        read_whole(Path("a\0b"))
    Path("link").symlink_to("file")
    Path("file").write_bytes(b"content")
    assert read_whole(Path("link")) == b"content"
    sentence = r"pipe cannot be opened \(a pipe, not a file\): give a table"
    with pytest.raises(UserError, match=sentence), to_read(Path("pipe"), "a table"):
        pass


def test_no_more_is_read_than_allowed(tmp_path):
    file = tmp_path / "large"
    with file.open("wb") as writer:
        writer.truncate(2**40)  # holds nothing, and claims a terabyte
    with pytest.raises(UnreadableError, match="has more than 1,024 MB"):
        read_whole(file)


def test_what_does_not_fit_into_the_budget_waits():
    budget, most, now = Budget(100), [], []

    def work(size):
        with budget.room(size):
            now.append(size)
            most.append(sum(now))
            time.sleep(0.01)
            now.remove(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in (60, 60, 30, 1000, 5, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(most) == 6
    assert all(total <= 100 or total >= 1000 for total in most)
    assert max(most) < 1060  # the one that is larger than all goes alone
    assert budget.used == 0


def test_a_small_file_takes_little_memory_however_large_it_might_be(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    tracemalloc.start()
    assert read_whole(tmp_path / "file", 2**33) == b"content"
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 10, MEGABYTE, MEGABYTE + 1])
def test_a_small_file_is_read_at_once_and_a_large_one_as_needed(tmp_path, size):
    content = bytes(range(256)) * (size // 256 + 1)
    (tmp_path / "file").write_bytes(content[:size])
    with at_once(tmp_path / "file") as file:
        assert isinstance(file, io.BytesIO) == (size <= MEGABYTE)
        assert file.read() == content[:size]
    with pytest.raises(UnreadableError, match="a folder, not a file"):
        at_once(tmp_path)
