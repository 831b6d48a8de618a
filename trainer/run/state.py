"""The state of a run on disk, with which it continues bit for bit: weights, optimizer, random numbers, and its recipe.

The folder can be copied to another machine. Pairs and models may have other paths there: their digests are compared.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from io import BytesIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings
from zipfile import ZipFile

import torch
from msgspec import Struct
from torch import Tensor, nn

from cdesearch.errors import CdesearchError, InputError, ModelError, StorageError
from trainer.execution import world
from trainer.recipe import differences, parse_recipe, to_plain
from trainer.replacing import replacing, writing

STATE = "state.pt"
START_FILES = ("config.json", "tokenizer.json", "sentence_bert_config.json", "model.safetensors")
ANOTHER = "Resume with the same recipe, or set another run.out."


@dataclass(slots=True)
class Running:
    """What a state holds: the recipe of a run, the digests of what it reads, what is trained, and how far it is."""

    folder: Path
    recipe: Struct
    digests: Mapping[str, str]
    modules: Mapping[str, nn.Module]
    optimizer: torch.optim.Optimizer
    may_change: tuple[str, ...]  # settings that may differ on resume
    step: int = 0  # how many are taken
    seconds: float = 0.0  # that they took


def save_state(run: Running) -> None:
    """Replace the state; a full disk or a kill leaves the old one intact. Raises StorageError."""
    state = {
        "recipe": json.dumps(to_plain(run.recipe)),
        "digests": dict(run.digests),
        "processes": world(),
        "progress": [run.step, run.seconds],
        "optimizer": run.optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "modules": {name: _trained(module) for name, module in run.modules.items()},
    }
    content, file = BytesIO(), run.folder / STATE
    torch.save(state, content)
    with writing(file), replacing(file) as stream:
        stream.write(content.getbuffer())


def load_state(run: Running) -> None:
    """Restore the state; raises StorageError if it is damaged, and InputError if it is that of another run."""
    check_state(run.folder)
    file = run.folder / STATE
    with readable(file):
        content = BytesIO(file.read_bytes())
        if ZipFile(content).testzip() is not None:  # torch does not compare the checksums of what it loads
            raise ValueError
        content.seek(0)
        with catch_warnings(action="ignore"):  # torch explains at length what it does not load
            state: dict[str, Any] = torch.load(content, map_location="cpu", weights_only=True)
        check_recipe(run.folder, run.recipe, run.may_change, state["recipe"])
        if changed := sorted(name for name, digest in run.digests.items() if state["digests"].get(name) != digest):
            raise InputError(
                f"The {changed[0]} differs from what {run.folder} was started with.",
                "Restore it, or set another run.out.",
            )
        if state["processes"] != world():
            raise InputError(
                f"{run.folder} was started with another number of processes, {state['processes']}.",
                f"Run it with `torchrun --nproc-per-node {state['processes']}`, or set another run.out.",
            )
        for name, module in run.modules.items():
            found = module.load_state_dict(state["modules"][name], strict=False)
            if others := {*found.unexpected_keys, *found.missing_keys} - _frozen(module):
                raise InputError(
                    f"{run.folder} has the state of another model ({min(others)}).", "Set another run.out."
                )
        run.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if torch.cuda.is_available() and state["cuda"]:
            torch.cuda.set_rng_state_all(state["cuda"])
        run.step, run.seconds = state["progress"]


def check_recipe(folder: Path, recipe: Struct, may_change: tuple[str, ...], stored: str) -> None:
    """Raise InputError if a recipe differs from that of the state, `stored` as JSON, in what may not change."""
    try:
        before = parse_recipe(type(recipe), json.loads(stored), folder / STATE, ANOTHER)
    except InputError as error:
        raise InputError(f"{folder} was started by another version or command: {error.cause}", ANOTHER) from None
    changed = [change for change in differences(before, recipe) if not change.startswith(may_change)]
    if changed:
        raise InputError(f"{folder} was started with another recipe: {'; '.join(changed)}.", ANOTHER)


def check_state(folder: Path) -> None:
    """Raise InputError if the folder of a run has no state."""
    if not (folder / STATE).is_file():
        raise InputError(f"{folder} has no {STATE} to resume.", "Run without --resume.")


def digest_of_start(folder: Path) -> str:
    """A digest of the files of a start, whatever its path; raises ModelError."""
    digest = blake2b(digest_size=16)
    try:
        for file in (folder / name for name in START_FILES):
            if file.is_file():
                with file.open("rb") as stream:
                    digest.update(file.name.encode() + file_digest(stream, "blake2b").digest())
    except OSError as error:
        raise ModelError(f"{folder} cannot be read ({error.strerror}).", "Copy it again.") from None
    return digest.hexdigest()


def first_not_finite(modules: Mapping[str, nn.Module]) -> str | None:
    """The name of the first tensor with NaN or an infinite number; None if there is none."""
    tensors = ((f"{of}.{name}", one) for of, module in modules.items() for name, one in module.state_dict().items())
    return next((name for name, one in tensors if one.is_floating_point() and not bool(one.isfinite().all())), None)


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Raise StorageError if the block fails, whatever the reason: a damaged file can make torch raise any exception."""
    try:
        yield
    except (CdesearchError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise StorageError(f"{file} cannot be read.", "Copy it again, or set another run.out.") from error


def _trained(module: nn.Module) -> dict[str, Tensor]:
    frozen = _frozen(module)
    return {name: tensor for name, tensor in module.state_dict().items() if name not in frozen}


def _frozen(module: nn.Module) -> set[str]:
    """The names of the parameters that training does not change; they are those of the start."""
    return {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
