import pytest
from adapted_index import masking_checkpoint
from random_texts import recipe_of

from cdesearch.progress import Silent
from trainer.adapting.clock import Clock
from trainer.adapting.timed_run import run_until
from trainer.pretraining.pretrain import pretrain
from trainer.run.log import read_log
from trainer.run.time_limit import OutOfTime, TimeLimit


class AfterChecks(TimeLimit):
    """A limit that is reached when it has been checked so many times."""

    def __init__(self, n):
        super().__init__(None)
        self._left = n

    def check(self):
        self._left -= 1
        if self._left <= 0:
            raise OutOfTime


def steps_in(recipe):
    return [row["step"] for row in read_log(recipe.run.out) if "loss" in row]


def test_a_run_ends_at_its_limit_with_a_checkpoint_of_the_steps_taken(tmp_path):
    recipe = recipe_of(tmp_path, masking_checkpoint(tmp_path / "start"), learning__steps=50)
    checkpoint = run_until(pretrain, recipe, Silent(), AfterChecks(4))  # once for the texts, then after each step
    assert checkpoint is not None and (checkpoint / "model.safetensors").exists()
    assert steps_in(recipe) == [1, 2, 3]


def test_a_run_without_time_for_a_step_has_no_checkpoint_and_can_begin_later(tmp_path):
    recipe = recipe_of(tmp_path, masking_checkpoint(tmp_path / "start"), learning__steps=2)
    assert run_until(pretrain, recipe, Silent(), AfterChecks(1)) is None
    assert run_until(pretrain, recipe, Silent(), TimeLimit(None)) is not None
    assert steps_in(recipe) == [1, 2]


def test_a_clock_counts_the_time_of_all_calls():
    now = 1000.0
    clock = Clock(2, 30, lambda: now)
    assert clock.used == 30 and clock.left(0.5) == 30 and clock.left(1) == 90
    now += 45
    assert clock.used == 75 and clock.left(0.5) == 0 and clock.left(1) == 45


def test_the_limit_of_a_clock_is_the_moment_at_which_the_share_is_used():
    Clock(1, 20).limit(0.5).check()
    with pytest.raises(OutOfTime):
        Clock(1, 31).limit(0.5).check()
