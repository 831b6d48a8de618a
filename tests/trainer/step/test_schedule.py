import numpy as np
import pytest

from trainer.step.optimizer import linear


def factors(n_steps, warmup):
    return [linear(step, n_steps, warmup) for step in range(n_steps)]


def test_linear_rises_to_one_and_falls_to_zero_in_lines():
    expected = np.interp(np.arange(10), [-1, 3, 4, 10], [0, 1, 1, 0])
    np.testing.assert_allclose(factors(10, 4), expected)


@pytest.mark.parametrize("n_steps", [1, 2, 7])
def test_every_step_has_a_rate_above_zero(n_steps):
    assert all(0 < one <= 1 for one in factors(n_steps, 2))
