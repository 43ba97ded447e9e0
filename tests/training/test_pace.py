"""How many epochs fit is found by timing steps: here a clock that only the work moves."""

import pytest
import torch

from novakind.methods import Stage
from novakind.training import pace
from novakind.training.pace import affordable, cost, duration, operations


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


@pytest.mark.parametrize(("minutes", "epochs"), [(1, 3), (10, 30), (1.1, 3), (1.2, 4), (0.1, 1)])
def test_epochs_of_ten_steps_and_a_look(clock, minutes, epochs):
    stages = (Stage("discover", 100),)
    rehearse = lambda number: lambda progress: clock.work(1.5)  # noqa: E731
    found = affordable(60 * minutes, stages, [10], rehearse, lambda: clock.work(5), duration)
    assert found == epochs  # 20 s per epoch


def test_steps_that_cost_more_later_are_counted_by_their_share(clock):
    def take(progress: float) -> None:
        clock.work(1.0 if progress < 0.6 else 3.5)

    stages = (Stage("discover", 100),)
    assert affordable(120, stages, [10], lambda number: take, lambda: None, duration) == 6  # 2 s per step on average


def test_stages_share_the_time_in_their_proportion(clock):
    stages = (Stage("first", 25), Stage("second", 75))
    seconds = (4.0, 1.2)
    found = affordable(
        606,
        stages,
        [10, 10],
        lambda number: lambda progress: clock.work(seconds[number]),
        lambda: clock.work(1),
        duration,
    )
    assert found == 30  # (0.25 * 40 + 0.75 * 12 + 1) s per epoch


def test_operations_are_those_of_products_forward_and_backward():
    weight = torch.randn(8, 4, requires_grad=True)

    def work() -> None:
        (torch.randn(16, 8) @ weight).sum().backward()

    assert operations(work) == 2 * (2 * 16 * 8 * 4)  # the inputs need no gradient


def test_a_stage_counts_at_the_cost_and_in_the_steps_of_its_own():
    stages = (Stage("first", 2), Stage("second", 3))
    spent = []

    def measure(work) -> float:
        spent.clear()
        work()
        return spent[0]

    assert cost(stages, [5, 7], lambda number: lambda progress: spent.append([10.0, 1.0][number]), measure) == 121
