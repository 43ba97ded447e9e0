"""Rows go from process to process through memory that both have."""

import os
import subprocess
import sys

import numpy as np
import pytest

from novakind.data import readers, slots


def rows_of(number: int) -> tuple[np.ndarray, list[str]]:
    """Of one piece too many for a slot, of another none, of a third as they lie in no memory end to end."""
    count = {3: 2000, 5: 0}.get(number, 4)
    rows = np.full((count, 3, 1000), number, np.uint8)
    return rows.transpose(0, 2, 1) if number == 7 else rows, [f"item {number}"] * count


@pytest.mark.parametrize("has_memory", [True, False])
def test_what_other_processes_read_is_what_this_one_would(monkeypatch, has_memory):
    monkeypatch.setattr(readers, "ALONE", 0.0)
    monkeypatch.setattr(slots, "SIZE", 20_000)
    if not has_memory:
        monkeypatch.delattr("os.memfd_create")
    for number, (rows, names) in enumerate(readers.in_order(rows_of, iter(range(30)), 2)):
        expected = rows_of(number)
        np.testing.assert_array_equal(rows, expected[0])
        assert names == expected[1]


def test_arrays_are_packed_into_a_slot_and_what_is_too_large_beside_it(monkeypatch):
    monkeypatch.setattr(slots, "SIZE", 20_000)
    room = slots.made(2)
    assert room is not None
    packed = [slots.Packed(room, number, rows_of(number)) for number in (3, 4, 5)]
    assert [len(each.sizes) for each in packed] == [0, 1, 1]
    assert len(packed[0].content) > 6_000_000 > 1000 > len(packed[1].content)
    for number, each in zip((3, 4, 5), packed, strict=True):
        np.testing.assert_array_equal(each.found(room)[0], rows_of(number)[0])
    found = packed[1].found(room)[0]
    room.close()
    assert (found == 4).all()  # still there


def test_the_others_are_called_at_once_where_there_is_much_to_read(monkeypatch):
    called = []
    monkeypatch.setattr(readers, "ALONE", 2.0)
    monkeypatch.setattr(readers, "call", lambda: called.append(True))
    work = readers.in_order(readers.time.sleep, iter([0.02] * 9), 2, count=10_000)
    next(work)
    assert not called
    next(work)
    next(work)
    assert called == [True]
    work.close()


@pytest.mark.parametrize("limit", ["RLIMIT_FSIZE", "RLIMIT_AS"])
def test_where_limits_leave_no_room_for_it_rows_go_through_pipes(limit):
    """In a process of its own, since limits stay."""
    program = f"""
import resource, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from novakind.data import readers, slots
from test_slots import rows_of
resource.setrlimit(resource.{limit}, (2**20 if {limit!r} == "RLIMIT_FSIZE" else 12 * 2**30,) * 2)
slots.SIZE = 2**33
assert slots.made(2) is None
found = list(readers.by_processes(rows_of, iter(range(6)), 2, lambda number: False))
assert [len(names) for _, names in found] == [4, 4, 4, 2000, 4, 0]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
