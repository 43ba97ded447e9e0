"""Several real processes with different and unequal parts of a batch compute what one does with all of it."""

import pytest
import torch
from shards import CASES, NAIVE, every_step, five_steps, whole_training
from together import in_processes

EXACT = 1e-10


@pytest.fixture(scope="module")
def alone():
    return five_steps(list(CASES))


@pytest.fixture(scope="module", params=[2, 3])
def together(request, tmp_path_factory):
    return in_processes(request.param, every_step, folder=tmp_path_factory.mktemp("together"))


def assert_near(found, expected, what):
    assert found.keys() == expected.keys(), what
    for name, value in expected.items():
        value, other = (torch.as_tensor(each, dtype=torch.float64) for each in (value, found[name]))
        assert torch.allclose(other, value, rtol=EXACT, atol=EXACT), (what, name, (value - other).abs().max())


@pytest.mark.parametrize("case", CASES)
def test_loss_gradients_and_five_steps_are_those_of_one_process(case, alone, together):
    expected = alone[case]
    for found, _, _ in together:
        for step, (some, all_of_them) in enumerate(zip(found[case]["losses"], expected["losses"], strict=True)):
            assert_near(some, all_of_them, f"the loss of step {step}")
        assert_near(found[case]["gradients"], expected["gradients"], "the gradient")
        assert_near(found[case]["state"], expected["state"], "what is learnt")


@pytest.mark.parametrize("case", NAIVE)
def test_a_naive_sum_would_be_noticed(case, alone, together):
    """Its loss is right, its gradient is not."""
    for _, found, _ in together:
        assert_near(found[case]["losses"][0], alone[case]["losses"][0], "the loss")
        with pytest.raises(AssertionError, match="the gradient"):
            assert_near(found[case]["gradients"], alone[case]["gradients"], "the gradient")


def test_a_whole_training_with_the_same_views_ends_with_the_same_weights(together):
    """From the division of the batch to the choice among the heads; views drawn at random are other ones."""
    expected = whole_training()
    for _, _, found in together:
        assert_near(found, expected, "what is learnt")
