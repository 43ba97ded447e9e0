"""Several processes that read: who asks for them goes on meanwhile."""

import os
import signal
import time

import pytest

from novakind.data import readers
from novakind.errors import UserError


def who(number: int) -> tuple[int, int]:
    time.sleep(0.01)
    return number, os.getpid()


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(readers, "ALONE", 0.05)


def test_this_process_reads_until_the_others_are_there(soon):
    found = list(readers.in_order(who, iter(range(300)), 2))
    assert [number for number, _ in found] == list(range(300))
    by = [process for _, process in found]
    alone = by.index(next(process for process in by if process != os.getpid()))
    assert 2 <= alone < 30  # about ten of them in twice that time, where nothing else is at work
    assert os.getpid() not in by[alone:]
    assert len(set(by)) <= 3


@pytest.mark.parametrize(("readers_", "many", "alone"), [(1, 30, 0.05), (2, 3, 5.0)])
def test_no_other_process_is_called_for_little(monkeypatch, readers_, many, alone):
    monkeypatch.setattr(readers, "ALONE", alone)
    monkeypatch.setattr(readers, "call", lambda: pytest.fail("nobody is needed"))
    assert [number for number, _ in readers.in_order(who, iter(range(many)), readers_)] == list(range(many))


def test_memory_goes_back_to_the_system_once_all_is_read_or_nobody_reads_on(monkeypatch):
    given_back = []
    monkeypatch.setattr(readers, "give_back", lambda: given_back.append(True))
    assert list(readers.in_order(abs, iter([-1, -2]), readers=1)) == [1, 2]
    assert len(given_back) == 1
    reading = readers.in_order(abs, iter([-1, -2]), readers=1)
    next(reading)
    reading.close()
    assert len(given_back) == 2


def gone_at_nine(number: int) -> int:
    if number == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_a_process_that_the_system_ends_is_said_in_a_sentence():
    """As it does with who takes too much memory."""
    with pytest.raises(UserError, match="was ended by the system"):
        list(readers.by_processes(gone_at_nine, iter(range(30)), 2, lambda number: False))
