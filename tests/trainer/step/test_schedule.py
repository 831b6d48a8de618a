import numpy as np
import pytest

from trainer.step.schedule import linear, stable_then_cosine


def factors(schedule, n_steps, *numbers):
    return [schedule(step, n_steps, *numbers) for step in range(n_steps)]


def test_linear_rises_to_one_and_falls_to_zero_in_lines():
    expected = np.interp(np.arange(10), [-1, 3, 4, 10], [0, 1, 1, 0])
    np.testing.assert_allclose(factors(linear, 10, 4), expected)


def test_a_stable_rate_falls_in_a_half_cosine_over_the_last_steps():
    found = factors(stable_then_cosine, 20, 4, 0.25)
    np.testing.assert_allclose(found[:4], [0.25, 0.5, 0.75, 1])
    assert found[4:16] == [1.0] * 12
    np.testing.assert_allclose(found[15:], (1 + np.cos(np.pi * np.arange(5) / 5)) / 2)


@pytest.mark.parametrize("numbers", [(linear, 2), (stable_then_cosine, 2, 0.0), (stable_then_cosine, 2, 1.0)])
def test_every_step_has_a_rate_above_zero(numbers):
    for n_steps in (1, 2, 7):
        assert all(0 < one <= 1 for one in factors(numbers[0], n_steps, *numbers[1:]))


def test_rates_do_not_jump_if_the_warmup_reaches_into_the_decay():
    found = factors(stable_then_cosine, 100, 50, 1.0)
    rising, falling = (np.arange(100) + 1) / 50, (1 + np.cos(np.pi * np.arange(100) / 100)) / 2
    np.testing.assert_allclose(found, np.minimum(rising, falling))
