import json

import numpy as np
import pytest
from adapted_index import masking_checkpoint
from random_texts import WORDS

from cdesearch.models.contextual.model import load_checkpoint
from cdesearch.progress import Silent
from trainer.adapting.clock import Clock
from trainer.adapting.own_recipe import training_recipe
from trainer.adapting.timed_run import train_until
from trainer.run.log import read_log
from trainer.run.time_limit import OutOfTime, TimeLimit


class AfterSteps(TimeLimit):
    """A limit that is reached when so many steps are logged."""

    def __init__(self, recipe, n):
        super().__init__(None)
        self._recipe, self._n = recipe, n

    def check(self):
        if ((self._recipe.run.out / "log.jsonl").exists() and len(steps_in(self._recipe)) >= self._n) or not self._n:
            raise OutOfTime


def recipe_in(folder, n_steps):
    """The recipe for 64 pairs with one hard negative each."""
    start = masking_checkpoint(folder / "start")
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(pair_of(number))}\n" for number in range(64)))
    return training_recipe(start, folder / "pairs.jsonl", folder / "out", n_steps, load_checkpoint(start))


def pair_of(number):
    query = " ".join(np.random.default_rng(number).choice(WORDS, 4))
    return {"query": f"{number} {query}", "document": f"{query} {number}", "negatives": [f"{number} the"]}


def steps_in(recipe):
    return [row["step"] for row in read_log(recipe.run.out) if "loss" in row]


def test_training_ends_at_its_limit_with_a_checkpoint_of_the_steps_taken(tmp_path):
    recipe = recipe_in(tmp_path, 50)
    checkpoint = train_until(recipe, Silent(), AfterSteps(recipe, 3))
    assert checkpoint is not None and (checkpoint / "model.safetensors").exists()
    assert steps_in(recipe) == [1, 2, 3]


def test_training_without_time_for_a_step_has_no_checkpoint_and_can_begin_later(tmp_path):
    recipe = recipe_in(tmp_path, 2)
    assert train_until(recipe, Silent(), AfterSteps(recipe, 0)) is None
    assert train_until(recipe, Silent(), TimeLimit(None)) is not None
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
