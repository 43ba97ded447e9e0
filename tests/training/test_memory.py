"""What it is worth is measured, see experiments/LOG.md: page faults differ too much from run to run for a test."""

import platform
import sys

import numpy as np
import pytest
import torch

from novakind import Discoverer
from novakind.app import cli
from novakind.training import memory
from novakind.training.memory import keep_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_glibc_can_be_told_and_tensors_come_and_go():
    assert keep_memory()
    assert all(torch.ones(2**22).sum() == 2**22 for _ in range(5))


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_kept_goes_back_between_the_start_the_steps_and_the_answers(monkeypatch, kept):
    """Else the peak is the sum of what each took: a million vectors needed 6.8 GB instead of 2."""
    given = []
    monkeypatch.setattr(memory, "KEPT", [kept])
    monkeypatch.setattr(memory, "give_back", lambda: given.append(None))
    rng = np.random.default_rng(0)
    Discoverer(1, epochs=3, settings={"batch": 10}).fit(rng.normal(size=(40, 3)), np.arange(40) % 2 - 1)
    assert len(given) >= 3 if kept else not given


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert not keep_memory()


def test_only_the_command_line_changes_the_process(tmp_path, monkeypatch):
    """A library's caller keeps the allocator as it was."""
    monkeypatch.chdir(tmp_path)
    told = []
    monkeypatch.setattr(memory, "KEPT", [False])
    monkeypatch.setattr("ctypes.CDLL", lambda name: told.append(name))
    rng = np.random.default_rng(0)
    Discoverer(1, epochs=1, settings={"batch": 10}).fit(rng.normal(size=(40, 3)), np.arange(40) % 2 - 1)
    assert cli.main(["report", "nowhere"]) == 2
    assert told == []
    assert cli.main(["discover", "nowhere", "--novel", "2"]) == 2
    assert told == ([None] if sys.platform.startswith("linux") else [])
