"""The folder of a run. Training replaces and removes entries in it, so it must not contain other files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

from cdesearch.errors import InputError
from trainer.recipe import Recipe, RunSettings
from trainer.replacing import locking
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


def has_begun(run: RunSettings) -> bool:
    """Whether the folder of a run has a state, or mined pairs of a run in rounds, with which it can continue."""
    return (run.out / STATE).exists() or (run.out / "mined-1").exists()


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


def stopped(run: RunSettings) -> str:
    """What to say when a signal has stopped a run."""
    if has_begun(run):
        return "Stopped. The state is saved: the same command with --resume continues."
    kept = f"The data prepared so far is kept in {run.data_folder}. " if run.data_folder.exists() else ""
    return f"Stopped before a state was saved. {kept}The same command begins again."


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
    with locking(folder / LOCK, folder, f"set another {setting}", LOCK_SECONDS):
        yield
