"""What it is worth is measured, see experiments/LOG.md: page faults differ too much from run to run for a test."""

import platform
import sys

import pytest
import torch

from novakind.training.memory import keep_memory


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_glibc_can_be_told_and_tensors_come_and_go():
    assert keep_memory()
    assert all(torch.ones(2**22).sum() == 2**22 for _ in range(5))


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert not keep_memory()
