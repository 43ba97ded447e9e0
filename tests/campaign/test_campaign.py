"""A sample of the campaign, by a seed: no traceback, no hang, one sentence where something is refused, nothing lost."""

from pathlib import Path

import pytest

from .families import FAMILIES, Count, draw
from .writes import COMMANDS, every

SAMPLE = {
    "image": 30,
    "video": 20,
    "recording": 20,
    "text": 6,
    "manifest": 30,
    "array": 30,
    "vectors": 30,
    "encoder": 20,
    "run folder": 30,
    "option": 20,
}
SAMPLE |= {"signal": 4, "disk": 10}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_the_campaign(family, tmp_path, one_thread):
    counts = {family: Count()}
    for number in range(SAMPLE[family]):
        verdict = draw(number, 1, counts, tmp_path / "bad")
        assert not verdict.bad, f"{verdict.attempt.what}\n{verdict.attempt.commands}\n{verdict.bad}\n{verdict.said}"
    assert counts[family].fine + counts[family].refused == SAMPLE[family]


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.filterwarnings("ignore")
def test_killed_or_full_at_some_steps_it_ends_with_the_same_bytes(verb, tmp_path, one_thread):
    """At every step: python -m tests.campaign --every-write."""
    found = every(verb, Path(tmp_path), stride={"discover": 25, "compare": 50}.get(verb, 40), first=3)
    assert found["bad"] == []
    assert found["kills"] > 0
