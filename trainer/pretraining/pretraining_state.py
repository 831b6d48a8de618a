"""The state of a run of pretraining on disk."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from cdesearch.errors import InputError
from trainer.pretraining.learner import Learner
from trainer.pretraining.recipe import PretrainingRecipe, pretraining_from_json, pretraining_to_json
from trainer.recipe import differences
from trainer.run.checkpoint import STATE, load_trained, read_state, readable, trained_tensors, write_state
from trainer.run.sources import digest_of_start
from trainer.schema import SchemaError

# Settings that may differ on resume: how long the run takes, how often it reports, and where its texts and folders are.
MAY_CHANGE = (
    "learning.steps",
    "texts.files",
    "texts.leave_out",
    "model.start",
    "model.head",
    "network.tokenizer",
    "run.out",
    "run.checkpoint_minutes",
    "run.watch_every",
)
ANOTHER = "Resume with the same recipe, or set another run.out."


@dataclass(slots=True)
class Taken:
    """The start, the steps taken from it, and the seconds that they took."""

    start: str  # a digest; empty without a start
    step: int = 0
    seconds: float = 0.0


def begin(recipe: PretrainingRecipe) -> Taken:
    """No steps from the start of a recipe; raises ModelError if it cannot be read."""
    start = recipe.model.start
    return Taken("" if start is None else digest_of_start(start))


def save(recipe: PretrainingRecipe, taken: Taken, learner: Learner, optimizer: torch.optim.Optimizer) -> None:
    """Replace the state of the run, without the tensors that stay as in the start; raises StorageError."""
    state = {
        "recipe": pretraining_to_json(recipe),
        "texts": learner.digest,
        "start": taken.start,
        "step": taken.step,
        "seconds": taken.seconds,
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        **{name: trained_tensors(module) for name, module in learner.modules.items()},
    }
    write_state(recipe.run.out / STATE, state)


def load(recipe: PretrainingRecipe, learner: Learner, optimizer: torch.optim.Optimizer) -> Taken:
    """Restore the state of the run; raises StorageError if it is damaged, InputError if another run wrote it."""
    out = recipe.run.out
    state = read_state(out)
    _check_recipe(out, recipe, state["recipe"])
    if state.get("texts") != learner.digest:
        raise InputError(f"The texts are not those that {out} was started with.", ANOTHER)
    begun = begin(recipe)
    if state.get("start") != begun.start:
        raise InputError(f"{recipe.model.start} is not the start that {out} was started with.", ANOTHER)
    with readable(out / STATE):
        for name, module in learner.modules.items():
            load_trained(out, module, state[name])
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if torch.cuda.is_available() and state["cuda"]:
            torch.cuda.set_rng_state_all(state["cuda"])
        return replace(begun, step=int(state["step"]), seconds=float(state["seconds"]))


def _check_recipe(out: Path, recipe: PretrainingRecipe, stored: str) -> None:
    try:
        changed = differences(pretraining_from_json(stored), recipe)
    except SchemaError:
        raise InputError(
            f"{out} was started by another command, or by another version of cdesearch.", "Set another run.out."
        ) from None
    changed = [change for change in changed if not change.startswith(MAY_CHANGE)]
    if changed:
        raise InputError(f"{out} was started with another recipe: {'; '.join(changed)}.", ANOTHER)
