"""The state of a run on disk: everything that the next step depends on."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import nn

from cdesearch.errors import InputError, StorageError
from trainer.recipe import Recipe, differences

STATE = "state.pt"


@dataclass(slots=True)
class Progress:
    """The steps taken, and the seconds that they took."""

    step: int = 0
    seconds: float = 0.0


def save_state(
    folder: Path, recipe: Recipe, progress: Progress, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> None:
    """Write the state to a temporary file, then replace the old one, which a full disk or a kill leaves intact.

    Raises StorageError.
    """
    state = {
        "recipe": recipe.model_dump_json(),
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
    except (OSError, RuntimeError) as error:  # torch reports a failed write as a RuntimeError
        fresh.unlink(missing_ok=True)
        reason = error.strerror if isinstance(error, OSError) else "its disk may be full"
        raise StorageError(
            f"The state cannot be written to {folder} ({reason}); the previous state is kept.",
            "Free some space and run again with --resume.",
        ) from error
    fresh.replace(folder / STATE)


def load_state(
    folder: Path, recipe: Recipe, modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> Progress:
    """Restore a stored state; raises InputError where it belongs to another recipe."""
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} has no {STATE} to resume.", "Run without --resume.")
    state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
    try:
        changed = differences(Recipe.model_validate_json(state["recipe"]), recipe)
    except ValidationError as error:
        wrong = ", ".join(".".join(map(str, found["loc"])) for found in error.errors())
        raise InputError(
            f"{folder} was started by another version of cdesearch, with other settings ({wrong}).",
            "Resume with that version, or set another run.out.",
        ) from None
    if changed:
        raise InputError(
            f"{folder} was started with another recipe: {'; '.join(changed)}.",
            "Resume with the same recipe, or set another run.out.",
        )
    for name, module in modules.items():
        module.load_state_dict(state[name])
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
    return Progress(state["step"], state["seconds"])
