"""A minute of changes at random, while a server answers and `watch` follows."""

import pytest
from soak import Plan, Soak

pytestmark = pytest.mark.slow


def test_a_minute_of_changes_leaves_no_error_and_the_content_of_a_new_index(tmp_path, tiny_checkpoint):
    outcome = Soak(tmp_path, Plan(minutes=1, chunks=1000, lag=30, pause=1.0, model=tiny_checkpoint)).run()
    assert not outcome.problems, outcome.report()
    assert outcome.changes > 10 and outcome.searches > 50 and outcome.found_after


def test_a_text_that_is_found_after_its_removal_is_a_problem(tmp_path):
    soak = Soak(tmp_path, Plan(minutes=0, chunks=3))
    soak.folder.fill(3)
    path, (word, saved) = next(iter(soak.folder.texts.items()))
    soak._judge("present", word, saved, saved + 60, [f"{word} and more"])
    assert not soak.outcome.problems
    soak._judge("present", word, saved, saved + 60, ["another text"])
    assert "not found" in soak.outcome.problems.pop()
    soak.folder._write(path)
    soak._judge("removed", word, saved, saved + 3, [f"{word} and more"])
    assert soak.outcome.stale_for and not soak.outcome.problems
    soak._judge("removed", word, saved, saved + 60, [f"{word} and more"])
    assert "after its removal" in soak.outcome.problems.pop()
