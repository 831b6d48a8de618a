"""A minute of changes at random, while a server answers and `watch` follows."""

import pytest
from soak import Soak

pytestmark = pytest.mark.slow


def test_a_minute_of_changes_leaves_no_error_and_the_content_of_a_new_index(tmp_path, tiny_checkpoint):
    soak = Soak(tmp_path, minutes=1, chunks=1000, lag=30, model=tiny_checkpoint)
    soak.run()
    assert not soak.problems
    assert soak.changes > 10 and soak.searches > 50
