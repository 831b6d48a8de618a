"""The state of a run on disk: everything that the next step depends on."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings
from zipfile import ZipFile

import torch
from torch import Tensor, nn

from cdesearch.errors import CdesearchError, InputError, ModelError, StorageError
from trainer.execution.distributed import world
from trainer.recipe import Recipe, differences, recipe_from_json, recipe_to_json
from trainer.replacing import AGAIN, mend
from trainer.run.parts import read_parts, write_parts
from trainer.run.small_state import from_small, to_small
from trainer.run.sources import Source, check_sources
from trainer.schema import SchemaError

STATE = "state.pt"
BEST = "best.pt"
NO_SOURCES: Mapping[str, Source] = {}
# Settings that may differ on resume: how long the run takes, and where its folder is, which may have been copied.
MAY_CHANGE = (
    "learning.steps",
    "learning.epochs",
    "run.patience",
    "run.workers",
    "run.out",
    "run.work",
    "run.evaluate",
    "run.trackio",
    "run.checkpoint_minutes",
)
# Settings that say where pairs and models are, and which pairs are used. The digests of the contents decide.
BY_CONTENTS = ("data.pairs", "data.leave_out", "data.keep_out", "data.groups", "model.start", "run.surrogate")


@dataclass(slots=True)
class RunProgress:
    """The steps taken, the seconds that they took, and the lowest held-out loss so far."""

    step: int = 0
    seconds: float = 0.0
    best_step: int = 0
    best_loss: float = math.inf


def save_state(
    folder: Path,
    recipe: Recipe,
    progress: RunProgress,
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    sources: Mapping[str, Source] = NO_SOURCES,
) -> None:
    """Write the state to a temporary file, then replace the old one. A full disk or a kill leaves the old one intact.

    The state contains only the trained tensors, in files of at most PART bytes. Raises StorageError.
    """
    moments = optimizer.state_dict()
    state = {
        "recipe": recipe_to_json(recipe),
        "sources": {name: source.digest for name, source in sources.items()},
        "processes": world(),
        "step": progress.step,
        "seconds": progress.seconds,
        "best_step": progress.best_step,
        "best_loss": progress.best_loss,
        "optimizer": to_small(moments, torch.bfloat16) if recipe.run.small_state else moments,
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        **{name: trained_tensors(module) for name, module in modules.items()},
    }
    write_state(folder / STATE, state)


def check_state(folder: Path) -> None:
    """Raise InputError if the folder of a run has no state."""
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} has no {STATE} to resume.", "Run without --resume.")


@contextmanager
def after_last_state() -> Iterator[None]:
    """Within this context manager, a StorageError advises to resume, because the state has been written."""
    try:
        yield
    except StorageError as error:
        raise StorageError(error.cause, error.remedy.replace(AGAIN, "run again with --resume")) from error


def save_best(folder: Path, recipe: Recipe, modules: dict[str, nn.Module]) -> None:
    """Write the trained weights with the lowest held-out loss so far; raises StorageError."""
    state = {name: trained_tensors(module) for name, module in modules.items()}
    write_state(folder / BEST, to_small(state, torch.float16) if recipe.run.small_state else state)


def load_best(folder: Path, modules: dict[str, nn.Module]) -> None:
    """Restore the weights that `save_best` wrote last; raises StorageError."""
    file = folder / BEST
    state = read_values(file)
    with readable(file):
        for name, module in modules.items():
            module.load_state_dict(state[name], strict=False)


def read_state(folder: Path) -> dict[str, Any]:
    """The values that `save_state` wrote, by name; raises StorageError."""
    state = read_values(folder / STATE)
    with readable(folder / STATE):
        json.loads(state["recipe"])
        if not (0 <= state["step"] < math.inf and 0 <= state["seconds"] < math.inf):
            raise ValueError
    return state


def read_values(file: Path) -> dict[str, Any]:
    """The values that `write_state` wrote, by name, on the CPU; raises StorageError."""
    with readable(file):
        content = BytesIO(read_parts(file))
        if ZipFile(content).testzip() is not None:  # torch does not compare the checksums of what it loads
            raise ValueError
        content.seek(0)
        with catch_warnings(action="ignore"):  # torch explains at length what it does not load
            return from_small(torch.load(content, map_location="cpu", weights_only=True))


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Raise StorageError if the block fails, whatever the reason: a damaged file can make torch raise any exception."""
    try:
        yield
    except (CdesearchError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise StorageError(f"{file} cannot be read.", "Copy it again, or set another run.out.") from error


def write_state(target: Path, state: dict[str, Any]) -> None:
    """Replace the file `target` by the values of `state`, in parts of at most PART bytes; raises StorageError."""
    content = BytesIO()
    torch.save(state, content)
    try:
        write_parts(target, content.getbuffer())
    except OSError as error:
        has_state = (target.parent / STATE).exists()
        raise StorageError(
            f"The state cannot be written to {target.parent} ({error.strerror});"
            f" {'the previous state is kept' if has_state else 'there is no earlier state'}.",
            f"{mend(error)}, and run again {'with' if has_state else 'without'} --resume.",
        ) from error


def first_not_finite(modules: dict[str, nn.Module]) -> str | None:
    """The name of the first tensor with NaN or an infinite number; None if there is none."""
    for module_name, module in modules.items():
        for name, tensor in module.state_dict().items():
            if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
                return f"{module_name}.{name}"
    return None


def check_start(source: Path | None, modules: dict[str, nn.Module]) -> None:
    """Raise ModelError, which names the `source` of the modules, if a weight that a run begins with is not finite."""
    if broken := first_not_finite(modules):
        raise ModelError(f"{source} has numbers that are not finite ({broken}).", "Copy it again, or name another one.")


def trained_tensors(module: nn.Module) -> dict[str, Tensor]:
    """The tensors that training changes; frozen parameters are those of the start."""
    frozen = _frozen(module)
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def load_trained(folder: Path, module: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Restore what `trained_tensors` returned; raises InputError, with the name of `folder`, if it does not fit."""
    found = module.load_state_dict(tensors, strict=False)
    if others := {*found.unexpected_keys, *found.missing_keys} - _frozen(module):
        raise InputError(f"{folder} has the state of another model ({min(others)}).", "Set another run.out.")


def _frozen(module: nn.Module) -> set[str]:
    return {name for name, parameter in module.named_parameters() if not parameter.requires_grad}


def load_state(
    folder: Path,
    recipe: Recipe,
    modules: dict[str, nn.Module],
    optimizer: torch.optim.Optimizer,
    sources: Mapping[str, Source] = NO_SOURCES,
) -> RunProgress:
    """Restore a stored state; raises StorageError if it is damaged.

    Raises InputError if it belongs to another recipe, other `sources`, or to another number of processes of which each
    has its own batches.
    """
    check_state(folder)
    state = read_state(folder)
    stored = state.get("sources", {})  # states of older versions have no digests
    check_stored_recipe(folder / STATE, recipe, state["recipe"], (*MAY_CHANGE, *BY_CONTENTS) if stored else MAY_CHANGE)
    if stored:
        check_sources(folder, stored, sources)
    _check_processes(folder, recipe, state.get("processes", world()))
    with readable(folder / STATE):
        return _restored(folder, state, modules, optimizer)


def _check_processes(folder: Path, recipe: Recipe, n_processes: int) -> None:
    """Raise InputError if each process has its own batches, and their number is another one."""
    if recipe.batches.processes == "own" and n_processes != world():
        raise InputError(
            f"{folder} was started with another number of processes, {n_processes}, and with"
            f' batches.processes = "own" the batches of {world()} would be other ones.',
            f"Run it with `torchrun --nproc-per-node {n_processes}`, or set another run.out.",
        )


def check_stored_recipe(file: Path, recipe: Recipe, stored: str, may_change: tuple[str, ...]) -> None:
    """Raise InputError if the recipe stored in a file of a run differs in a setting that may not change.

    Raises StorageError if it is no recipe.
    """
    folder = file.parent
    try:
        changed = differences(recipe_from_json(stored), recipe)
    except SchemaError as error:
        if not any(problem.location for problem in error.problems):
            raise StorageError(
                f"{file} is damaged: its recipe is not a table.", "Copy it again, or set another run.out."
            ) from None
        wrong = ", ".join(".".join(problem.location) for problem in error.problems)
        raise InputError(
            f"{folder} was started by another version of cdesearch, with other settings ({wrong}).",
            "Resume with that version, or set another run.out.",
        ) from None
    changed = [change for change in changed if not change.startswith(may_change)]
    if changed:
        raise InputError(
            f"{folder} was started with another recipe: {'; '.join(changed)}.",
            "Resume with the same recipe, or set another run.out.",
        )


def _restored(
    folder: Path, state: dict[str, Any], modules: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> RunProgress:
    for name, module in modules.items():
        load_trained(folder, module, state[name])
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
    return RunProgress(int(state["step"]), float(state["seconds"]), int(best[0]), float(best[1]))
