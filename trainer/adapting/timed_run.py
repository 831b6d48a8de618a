"""A phase of training that ends when its time is used, with the steps that it has taken until then."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from cdesearch.progress import Display, Silent
from trainer.pretraining.recipe import PretrainingRecipe
from trainer.recipe import Recipe
from trainer.run.checkpoint import STATE, read_state
from trainer.run.time_limit import NO_LIMIT, OutOfTime, TimeLimit

R = TypeVar("R", PretrainingRecipe, Recipe)
R_contra = TypeVar("R_contra", PretrainingRecipe, Recipe, contravariant=True)


class Run(Protocol[R_contra]):
    """`pretrain` or `train`."""

    def __call__(
        self, recipe: R_contra, display: Display, *, resume: bool = False, limit: TimeLimit = NO_LIMIT
    ) -> Path:
        """Run the recipe; returns the checkpoint folder."""
        ...


def run_until(run: Run[R], recipe: R, display: Display, limit: TimeLimit) -> Path | None:
    """Begin or continue the run of a recipe until its last step or the limit, and return its checkpoint folder.

    Returns None if the limit is reached before the first step. Raises CdesearchError.
    """
    out = recipe.run.out
    try:
        return run(recipe, display, resume=(out / STATE).exists(), limit=limit)
    except OutOfTime:
        if not (out / STATE).exists():
            return None
    taken = int(read_state(out)["step"])
    display.note(f"The time for this phase is used after {taken:,} of {recipe.learning.steps:,} steps")
    return run(replace(recipe, learning=replace(recipe.learning, steps=taken)), Silent(), resume=True)
