"""The folder of a run. Training replaces and removes entries in it, so it must not contain other files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote

from cdesearch.errors import InputError
from trainer.execution.distributed import is_first
from trainer.export import check_entries
from trainer.recipe import Recipe, RunSettings
from trainer.replacing import UNFINISHED, locking, refuse_link
from trainer.run.checkpoint import BEST, STATE, check_state, read_state
from trainer.run.log import BOARD, FILE
from trainer.run.plot import CHART

MARKER, CONTENT = "RUN", "cdesearch run\n"
CHECKPOINTS = ("checkpoint", "best")
LOCK = "lock"
HEAD = "head.safetensors"  # of pretraining, without which it cannot be continued by another run
ROUNDS = "rounds.json"  # the recipe with which every round is trained
WRITTEN = (*CHECKPOINTS, "data", BOARD, STATE, BEST, FILE, CHART, MARKER, LOCK, HEAD, ROUNDS)  # what a run writes
REMEDY = "Set run.out to a new or empty folder."
LOCK_SECONDS = 10.0  # processes that prepare batches hold the lock for so long after a kill of their run


def mined_folder(out: Path, number: int) -> Path:
    """The folder of the pairs that were mined for a round."""
    return out / f"mined-{number}"


def round_folder(out: Path, number: int) -> Path:
    """The folder of the run of a round before the last."""
    return out / f"round-{number}"


def has_begun(run: RunSettings) -> bool:
    """Whether the folder of a run has a state, or mined pairs of a run in rounds, with which it can continue."""
    return (run.out / STATE).exists() or mined_folder(run.out, 1).exists()


def claim_folder(folder: Path, *, resume: bool = False) -> None:
    """Create the folder of a run if it does not exist, and write the marker into it.

    Raises InputError, before anything is written, unless the folder is new, empty or marked, and has no links at the
    places where a run writes. Runs of older versions have no marker. With `resume`, the folder of such a run is marked
    if its state can be read; raises StorageError otherwise.
    """
    try:
        entries = {entry.name for entry in folder.iterdir()} if folder.exists() else set()
        if MARKER not in entries and entries and not (resume and STATE in entries):
            raise InputError(f"{folder} is not empty and not the folder of a run.", REMEDY)
        _check_written(folder)
        if MARKER in entries:
            _check_marker(folder / MARKER)
            return
        if entries:
            read_state(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text(CONTENT, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be the folder of a run ({error.strerror}).", REMEDY) from None


def check_resumable(folder: Path) -> None:
    """Raise InputError unless `folder` is that of a run and has a state. A new folder is not created."""
    if folder.exists():
        claim_folder(folder, resume=True)
    check_state(folder)


def refuse_earlier_run(run: RunSettings) -> None:
    """Raise InputError if the folder of a new run holds the state or a checkpoint of an earlier one.

    Prepared data must not be written among the files of another run either.
    """
    if any((run.out / name).exists() for name in (STATE, *CHECKPOINTS)):
        raise InputError(
            f"{run.out} holds an earlier run, which would be lost.",
            "Add --resume to continue it, set another run.out, or remove the folder.",
        )
    if run.work is not None and (run.work / MARKER).exists() and not _is_same(run.work, run.out):
        raise InputError(
            f"run.work is {run.work}, the folder of another run.",
            f"Set run.work to {run.work / 'data'} to share its prepared data, or to another folder.",
        )


def refuse_overwritten_models(recipe: Recipe) -> None:
    """Raise InputError if the start or the surrogate is a folder that the run writes."""
    written = [recipe.run.out, *(recipe.run.out / name for name in CHECKPOINTS)]
    for key, model in (("model.start", recipe.model.start), ("run.surrogate", recipe.run.surrogate)):
        if model is not None and any(_is_same(model, folder) for folder in written):
            raise InputError(f"{key} is {model}, which the run would overwrite.", "Set another run.out.")


def kept_data(run: RunSettings) -> str:
    """A sentence on what a run that was stopped before its first step leaves for the next one."""
    return f"The data prepared so far is kept in {run.data_folder}." if run.data_folder.exists() else "Nothing is kept."


def stored_blocks(run: RunSettings) -> set[tuple[Path, int]]:
    """What later calls need not do again: the files that end a block of prepared data by size, the state by time."""
    blocks = set()
    for folder in (run.data_folder, *run.out.glob("mined-*")) if is_first() else ():
        for file in folder.rglob("*"):
            with suppress(FileNotFoundError):  # another run may be writing to the folder
                if file.suffix in (".npz", ".json"):
                    blocks.add((file, file.stat().st_size))
    states = [state for state in (run.out / STATE, *run.out.glob(f"round-*/{STATE}")) if state.exists()]
    return blocks | {(state, state.stat().st_mtime_ns) for state in states}


def next_step(checkpoint: Path) -> str:
    """What to do with a new checkpoint; if it has no ONNX graphs, also what an index with it needs."""
    step = f"Next: cdesearch index FOLDER --model {quote(str(checkpoint))}"
    if (checkpoint / "onnx").exists():
        return step
    return f"{step} (it has no ONNX graphs, so it needs torch: pip install 'cdesearch[torch]')"


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


@contextmanager
def locked(folder: Path, setting: str) -> Iterator[None]:
    """Let no other process write to `folder`, which is created, during the block.

    Raises InputError, which names the `setting` of the recipe, if another process has locked the folder.
    """
    with locking(folder / LOCK, folder, f"set another {setting}", LOCK_SECONDS):
        yield


@contextmanager
def claimed_data_folder(run: RunSettings) -> Iterator[Path]:
    """The folder of prepared data, which no other process writes to during the block; raises InputError.

    If it is in the folder of the run, that folder is claimed.
    """
    if run.work is None:
        claim_folder(run.out)
    with locked(run.out, "run.out") if run.work is None else locked(run.work, "run.work"):
        yield run.data_folder


def _check_written(folder: Path) -> None:
    """Raise InputError for a link at or in an entry that a run writes, and for foreign files in a checkpoint."""
    for entry in (folder / f"{name}{suffix}" for name in WRITTEN for suffix in ("", UNFINISHED)):
        refuse_link(entry)
        for parent, folders, files in os.walk(entry):
            for name in (*folders, *files):
                refuse_link(Path(parent, name))
    for name in CHECKPOINTS:
        check_entries(folder / name)


def _check_marker(marker: Path) -> None:
    """Raise InputError if the file does not have the contents of a marker."""
    if not marker.is_file() or marker.stat().st_size > 2 * len(CONTENT) or marker.read_bytes() != CONTENT.encode():
        raise InputError(f"{marker} is not the marker of a run's folder.", REMEDY)
