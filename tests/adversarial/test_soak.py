"""A minute of changes at random, while a server answers and `watch` follows."""

import pytest
from soak import Plan, Soak

pytestmark = pytest.mark.slow


def test_a_minute_of_changes_leaves_no_error_and_the_content_of_a_new_index(tmp_path, tiny_checkpoint):
    outcome = Soak(tmp_path, Plan(minutes=1, chunks=1000, lag=30, pause=1.0, model=tiny_checkpoint)).run()
    assert not outcome.problems, outcome.report()
    assert outcome.changes > 10 and outcome.searches > 50 and outcome.found_after
