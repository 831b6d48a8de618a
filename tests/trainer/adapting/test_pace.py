import time

import pytest

from trainer.adapting import pace


@pytest.mark.parametrize(("seconds", "n_steps", "expected"), [([9.0, 0.0, 0.2, 0.01], 4, 0.01), ([9.0, 0.2], 2, 0.2)])
def test_a_step_that_is_delayed_does_not_change_the_pace_of_short_ones(monkeypatch, seconds, n_steps, expected):
    now, taken = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(pace, "LONG", 1.0 if n_steps == 4 else 0.1)

    def take(step):
        taken.append(step)
        now[0] += seconds[step]

    assert pace._seconds_each(take) == pytest.approx(expected)
    assert taken == list(range(n_steps))
