"""Training that ends when its time is used, with the steps that it has taken until then."""

from dataclasses import replace
from pathlib import Path

from cdesearch.progress import Display, Silent
from trainer.recipe import Recipe
from trainer.run.checkpoint import STATE, read_state
from trainer.run.time_limit import OutOfTime, TimeLimit
from trainer.train import train


def train_until(recipe: Recipe, display: Display, limit: TimeLimit) -> Path | None:
    """Begin or continue the run of a recipe until its last step or the limit, and return its checkpoint folder.

    Returns None if the limit is reached before the first step. Raises CdesearchError.
    """
    out = recipe.run.out
    try:
        return train(recipe, display, resume=(out / STATE).exists(), limit=limit)
    except OutOfTime:
        if not (out / STATE).exists():
            return None
    taken = int(read_state(out)["step"])
    display.note(f"The time for training is used after {taken:,} of {recipe.learning.steps:,} steps")
    return train(replace(recipe, learning=replace(recipe.learning, steps=taken)), Silent(), resume=True)
