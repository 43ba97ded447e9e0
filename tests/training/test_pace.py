"""How many epochs fit is found by timing steps: here a clock that only the work moves."""

import pytest

from novakind.methods import Stage
from novakind.training import pace
from novakind.training.pace import affordable


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
    found = affordable(minutes, stages, 10, lambda number: lambda progress: clock.work(1.5), lambda: clock.work(5))
    assert found == epochs  # 20 s per epoch


def test_steps_that_cost_more_later_are_counted_by_their_share(clock):
    def take(progress: float) -> None:
        clock.work(1.0 if progress < 0.6 else 3.5)

    stages = (Stage("discover", 100),)
    assert affordable(2, stages, 10, lambda number: take, lambda: None) == 6  # 2 s per step on average


def test_stages_share_the_time_in_their_proportion(clock):
    stages = (Stage("first", 25), Stage("second", 75))
    seconds = (4.0, 1.2)
    found = affordable(
        10.1, stages, 10, lambda number: lambda progress: clock.work(seconds[number]), lambda: clock.work(1)
    )
    assert found == 30  # (0.25 * 40 + 0.75 * 12 + 1) s per epoch
