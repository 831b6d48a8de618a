"""The state of a run on disk: everything that the next step depends on."""

import math
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cdesearch.errors import InputError, StorageError
from trainer.recipe import Recipe, differences, recipe_from_json, recipe_to_json
from trainer.run.parts import read_parts, write_parts
from trainer.run.small_state import from_small, to_small
from trainer.schema import SchemaError

STATE = "state.pt"
BEST = "best.pt"
MAY_CHANGE = ("learning.steps", "learning.epochs", "run.patience", "run.workers")  # settings that may differ on resume


@dataclass(slots=True)
class RunProgress:
    """The steps taken, the seconds that they took, and the lowest held-out loss so far."""

    step: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best_loss: float = math.inf


def save_state(
    folder: Path, recipe: Recipe, progress: RunProgress, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> None:
    """Write the state to a temporary file, then replace the old one. A full disk or a kill leaves the old one intact.

    The state contains only the trained tensors, in files of at most PART bytes. Raises StorageError.
    """
    moments = optimizer.state_dict()
    state = {
        "recipe": recipe_to_json(recipe),
        "step": progress.step,
        "seconds": progress.seconds,
        "best_step": progress.best_step,
        "best_loss": progress.best_loss,
        "optimizer": to_small(moments, torch.bfloat16) if recipe.run.small_state else moments,
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        **{name: _trained(module) for name, module in modules.items()},
    }
    _write(folder / STATE, state)


def save_best(folder: Path, recipe: Recipe, modules: dict[str, nn.Module]) -> None:
    """Write the trained weights with the lowest held-out loss so far; raises StorageError."""
    state = {name: _trained(module) for name, module in modules.items()}
    _write(folder / BEST, to_small(state, torch.float16) if recipe.run.small_state else state)


def load_best(folder: Path, modules: dict[str, nn.Module]) -> None:
    """Restore the weights that `save_best` wrote last."""
    content = BytesIO(read_parts(folder / BEST))
    state: dict[str, Any] = from_small(torch.load(content, map_location="cpu", weights_only=True))
    for name, module in modules.items():
        module.load_state_dict(state[name], strict=False)


def _write(target: Path, state: dict[str, Any]) -> None:
    content = BytesIO()
    torch.save(state, content)
    try:
        write_parts(target, content.getbuffer())
    except OSError as error:
        raise StorageError(
            f"The state cannot be written to {target.parent} ({error.strerror}); the previous state is kept.",
            "Free some space and run again with --resume.",
        ) from error


def _trained(module: nn.Module) -> dict[str, Tensor]:
    """The tensors that training changes; frozen parameters are those of the start."""
    frozen = _frozen(module)
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def _frozen(module: nn.Module) -> set[str]:
    return {name for name, parameter in module.named_parameters() if not parameter.requires_grad}


def load_state(
    folder: Path, recipe: Recipe, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> RunProgress:
    """Restore a stored state; raises InputError if it belongs to another recipe."""
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} has no {STATE} to resume.", "Run without --resume.")
    content = BytesIO(read_parts(folder / STATE))
    state: dict[str, Any] = from_small(torch.load(content, map_location="cpu", weights_only=True))
    try:
        changed = differences(recipe_from_json(state["recipe"]), recipe)
    except SchemaError as error:
        wrong = ", ".join(".".join(problem.location) for problem in error.problems)
        raise InputError(
            f"{folder} was started by another version of cdesearch, with other settings ({wrong}).",
            "Resume with that version, or set another run.out.",
        ) from None
    changed = [change for change in changed if not change.startswith(MAY_CHANGE)]
    if changed:
        raise InputError(
            f"{folder} was started with another recipe: {'; '.join(changed)}.",
            "Resume with the same recipe, or set another run.out.",
        )
    for name, module in modules.items():
        found = module.load_state_dict(state[name], strict=False)
        if others := {*found.unexpected_keys, *found.missing_keys} - _frozen(module):
            raise InputError(f"{folder} has the state of another model ({min(others)}).", "Run without --resume.")
    try:
        optimizer.load_state_dict(state["optimizer"])
    except ValueError:
        raise InputError(
            f"{folder} was started by another version of cdesearch, with other groups of parameters.",
            "Resume with that version, or set another run.out.",
        ) from None
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    best = state.get("best_step", 0), state.get("best_loss", math.inf)  # states of older versions have neither
    return RunProgress(state["step"], state["seconds"], *best)
