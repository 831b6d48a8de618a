"""The folder of the work and of the result: what is done so far, with which the same command continues."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cdesearch.errors import InputError, StorageError
from trainer.data.stored import load_json
from trainer.replacing import refuse_link, remove, replace_text
from trainer.run.folder import LOCK

STATE = "adapting.json"
MODEL = "model"  # the checkpoint that is the result
WORK = ("bodies", "pretraining", "pairs", "mined", "training")


@dataclass(frozen=True, slots=True)
class Work:
    """What the work is for, the numbers of steps, the reciprocal ranks so far, and the share that was chosen."""

    corpus: str  # a digest of the texts and of the model
    minutes: float
    pretraining_steps: int | None = None
    training_steps: int | None = None
    ranks: dict[str, list[float]] = field(default_factory=dict)  # by share of the adapted model
    chosen: float | None = None  # once everything is done; 0: nothing gained

    def begun_for(self, corpus: str, minutes: float) -> bool:
        """Whether this is work for the same texts, model and minutes."""
        return (self.corpus, self.minutes) == (corpus, minutes)


class WorkFolder:
    """The folder on disk."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if the folder holds anything but such work."""
        self.path = path
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is not a folder.", "Name another --out.")
        entries = {entry.name for entry in path.iterdir()} - {LOCK} if path.exists() else set()
        if entries and STATE not in entries:
            raise InputError(f"{path} is not empty, and not of an earlier adapt.", "Name another --out.")
        for name in (STATE, MODEL, *WORK):
            refuse_link(path / name)

    def load(self, corpus: str, minutes: float) -> Work:
        """The work so far; if it was for other texts, another model or other minutes, it is removed."""
        begun = Work(corpus, minutes)
        if not (self.path / STATE).exists():
            return begun
        try:
            found = Work(**load_json(self.path / STATE))
        except (TypeError, StorageError):
            raise InputError(f"{self.path / STATE} is damaged.", "Remove the folder, or name another --out.") from None
        if found.begun_for(corpus, minutes):
            return found
        self.clear()
        remove(self.path / MODEL)
        return begun

    def save(self, work: Work, **changes: Any) -> Work:
        """Store the work with some changes, and return it; raises StorageError."""
        changed = replace(work, **changes)
        replace_text(self.path / STATE, json.dumps(asdict(changed)))
        return changed

    def clear(self) -> None:
        """Remove everything but the state and the result."""
        for name in WORK:
            remove(self.path / name)
