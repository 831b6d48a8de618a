"""The folder of a run, its lock and its log. Training replaces and removes entries, so it holds no other files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from cdesearch.errors import InputError
from cdesearch.models.hub import checkpoint_folder
from cdesearch.models.registry import family_of
from cdesearch.store.filesystem import lock_of
from trainer.data.pairs.reading import domain_files, domain_name
from trainer.execution import is_first
from trainer.recipe import Recipe
from trainer.replacing import writing
from trainer.run.state import STATE, Running, check_state

MARKER, CONTENT = "RUN", "cdesearch run\n"
CHECKPOINT = "checkpoint"
LOCK = "lock"
REMEDY = "Set run.out to a new or empty folder."
LOCK_SECONDS = 10.0  # processes that prepare batches hold the lock for so long after a kill of their run
LOG = "log.jsonl"


def claim_folder(folder: Path) -> None:
    """Make the folder of a run and its marker; raises InputError before that unless it is new, empty or marked."""
    try:
        if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).is_file():
            raise InputError(f"{folder} is not empty and not the folder of a run.", REMEDY)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text(CONTENT, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{folder} cannot be the folder of a run ({error.strerror}).", REMEDY) from None


@contextmanager
def run_folder(folder: Path, *, resume: bool) -> Iterator[None]:
    """Make and lock the folder of a run; raises InputError if there is nothing to `resume`, or a run to lose."""
    if resume:
        check_state(folder)
    claim_folder(folder)
    with locked(folder, "run.out"):
        if not resume and any((folder / name).exists() for name in (STATE, CHECKPOINT)):
            raise InputError(
                f"{folder} holds an earlier run, which would be lost.",
                "Add --resume to continue it, set another run.out, or remove the folder.",
            )
        yield


def refuse_overwritten(out: Path, models: Mapping[str, Path | None]) -> None:
    """Raise InputError if a model that a key of the recipe names is in the folder that the run writes."""
    for key, model in models.items():
        if model is not None and model.resolve().is_relative_to(out.resolve()):
            raise InputError(f"{key} is {model}, which the run would overwrite.", "Set another run.out.")


def next_step(checkpoint: Path) -> str:
    """What to do with a new checkpoint; if it has no ONNX graphs, also what an index with it needs."""
    step = f"Next: cdesearch index FOLDER --model {quote(str(checkpoint))}"
    if (checkpoint / "onnx").exists():
        return step
    return f"{step} (it has no ONNX graphs, so it needs torch: pip install 'cdesearch[torch]')"


@contextmanager
def locked(folder: Path, setting: str) -> Iterator[None]:
    """Let no other process write to `folder`, which is created; raises an InputError with the `setting` if one does."""
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


def check_named(recipe: Recipe) -> None:
    """Raise InputError for a domain that no pair file has, ModelError for a surrogate or teacher that is none."""
    domains = list(map(domain_name, domain_files(recipe.data.pairs)))
    if unknown := sorted(set(recipe.data.held_out_domains) - set(domains)):
        raise InputError(
            f"data.held_out_domains names {', '.join(unknown)}, which data.pairs does not have.",
            f"Name some of: {', '.join(domains)}.",
        )
    for folder in filter(None, [recipe.run.surrogate, *recipe.objective.teachers]):
        family_of(checkpoint_folder(folder))


def begin_log(folder: Path, *, anew: bool) -> None:
    """Prepare the log of a run, of which only the first process writes; `anew` deletes the lines of an earlier run."""
    file = folder / LOG
    if is_first() and anew:
        file.unlink(missing_ok=True)
    elif is_first() and file.exists():
        content = file.read_bytes()
        if not content.endswith(b"\n"):  # a kill has cut off the last line, to which the next one would be joined
            with writing(file), file.open("r+b") as stream:
                stream.truncate(content.rfind(b"\n") + 1)


def write_log(run: Running, figures: Mapping[str, Any]) -> None:
    """Append figures to the log of a run, with its step and its training time so far."""
    if is_first():
        file = run.folder / LOG
        line = {"step": run.step, "seconds": round(run.seconds, 2), **figures}
        with writing(file), file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run in order. A step that was repeated after an interruption has only its last line."""
    lines: dict[Any, dict[str, Any]] = {}
    for line in map(json.loads, (folder / LOG).read_text(encoding="utf-8").splitlines()):
        lines[line["step"], "loss" in line, "held_out" in line] = line
    return sorted(lines.values(), key=lambda line: line["step"])
