"""The folder of a run. Training replaces and removes entries in it, so it must not contain other files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from cdesearch.errors import InputError
from cdesearch.store.filesystem import lock_of
from trainer.recipe import Recipe
from trainer.replacing import writing
from trainer.run.state import STATE

MARKER, CONTENT = "RUN", "cdesearch run\n"
CHECKPOINTS = ("checkpoint", "best")
LOCK = "lock"
REMEDY = "Set run.out to a new or empty folder."
LOCK_SECONDS = 10.0  # processes that prepare batches hold the lock for so long after a kill of their run


def claim_folder(folder: Path) -> None:
    """Create the folder of a run if it does not exist, and write the marker into it.

    Raises InputError, before anything is written, unless the folder is new, empty or marked.
    """
    try:
        if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).is_file():
            raise InputError(f"{folder} is not empty and not the folder of a run.", REMEDY)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text(CONTENT, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be the folder of a run ({error.strerror}).", REMEDY) from None


def refuse_earlier_run(out: Path) -> None:
    """Raise InputError if the folder of a new run holds the state or a checkpoint of an earlier one."""
    if any((out / name).exists() for name in (STATE, *CHECKPOINTS)):
        raise InputError(
            f"{out} holds an earlier run, which would be lost.",
            "Add --resume to continue it, set another run.out, or remove the folder.",
        )


def refuse_overwritten_models(recipe: Recipe) -> None:
    """Raise InputError if the start or the surrogate is a folder that the run writes."""
    written = [folder.resolve() for folder in (recipe.run.out, *(recipe.run.out / name for name in CHECKPOINTS))]
    for key, model in (("model.start", recipe.model.start), ("run.surrogate", recipe.run.surrogate)):
        if model is not None and model.resolve() in written:
            raise InputError(f"{key} is {model}, which the run would overwrite.", "Set another run.out.")


def stopped(out: Path) -> str:
    """What to say when a signal has stopped a run."""
    if (out / STATE).exists():
        return "Stopped. The state is saved: the same command with --resume continues."
    return "Stopped before a state was saved. The same command begins again, with the data that it has prepared."


def next_step(checkpoint: Path) -> str:
    """What to do with a new checkpoint; if it has no ONNX graphs, also what an index with it needs."""
    step = f"Next: cdesearch index FOLDER --model {quote(str(checkpoint))}"
    if (checkpoint / "onnx").exists():
        return step
    return f"{step} (it has no ONNX graphs, so it needs torch: pip install 'cdesearch[torch]')"


@contextmanager
def locked(folder: Path, setting: str) -> Iterator[None]:
    """Let no other process write to `folder`, which is created, during the block.

    Raises InputError, which names the `setting` of the recipe, if another process has locked the folder.
    """
    from filelock import Timeout  # imported late, because torch is needed first, and brings it along

    held = lock_of(folder / LOCK, wait=False)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            held.acquire(timeout=LOCK_SECONDS)
        except Timeout:
            raise InputError(
                f"Another process is writing to {folder}.", f"Wait until it has ended, or set another {setting}."
            ) from None
    try:
        yield
    finally:
        held.release()
