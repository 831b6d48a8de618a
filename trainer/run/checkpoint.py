"""A run's state on disk: everything that the next step hangs on."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from cdesearch.errors import InputError, StorageError
from trainer.recipe import Recipe, differences, recipe_from_json, recipe_to_json

STATE = "state.pt"


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    seconds: float = 0.0


def save_state(
    folder: Path, recipe: Recipe, progress: Progress, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> None:
    """Write the state beside the old one, then in its place: a full disk or a kill leaves the old one.

    Raises StorageError.
    """
    state = {
        "recipe": recipe_to_json(recipe),
        "step": progress.step,
        "seconds": progress.seconds,
        "optimizer": optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        **{name: module.state_dict() for name, module in modules.items()},
    }
    fresh = folder / f"{STATE}.new"
    try:
        with fresh.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, RuntimeError) as error:  # torch's writer hides the system's reason in a RuntimeError
        fresh.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "its disk may be full"
        raise StorageError(
            f"The state cannot be written to {folder} ({reason}); the one before is kept.",
            "Make room and run again with --resume.",
        ) from error
    fresh.replace(folder / STATE)


def load_state(
    folder: Path, recipe: Recipe, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> Progress:
    """Put a stored state back; raises InputError where it belongs to another recipe."""
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} has no {STATE} to resume.", "Leave --resume out.")
    state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    if changed := differences(recipe_from_json(state["recipe"]), recipe):
        raise InputError(
            f"{folder} was begun with another recipe: {'; '.join(changed)}.",
            "Resume with the same, or name another out.",
        )
    for name, module in modules.items():
        module.load_state_dict(state[name])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])
    return Progress(state["step"], state["seconds"])
