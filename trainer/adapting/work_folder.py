"""The folder of the work and of the result: what is done so far, with which the same command continues."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cdesearch.errors import InputError, StorageError
from trainer.adapting.share import SHARES
from trainer.data.stored import load_json
from trainer.replacing import refuse_link, remove, remove_lock, replace_text
from trainer.run.folder import LOCK
from trainer.schema import SchemaError, parse

STATE = "adapting.json"
MODEL = "model"  # the checkpoint that is the result
WORK = ("pairs", "mined", "training")
IGNORED = ".gitignore"  # so that git does not offer the model of an index that is in a repository


@dataclass(frozen=True, slots=True)
class Work:
    """What the work is for, its time, the steps of training, and the reciprocal ranks so far."""

    corpus: str  # a digest of the texts and of the model
    minutes: float
    seconds: float = 0.0  # which calls have used until now
    steps: int | None = None  # of training, once the time of a step is measured
    ranks: dict[str, list[float]] = field(default_factory=dict)  # by share of the adapted model
    chosen: float | None = None  # the share, once everything is done; 0: nothing gained


class WorkFolder:
    """The folder on disk."""

    def __init__(self, path: Path) -> None:
        """Raises InputError if the folder holds anything but such work."""
        self.path = path
        if not path.exists():  # a link to a folder is followed, and a link to nothing is refused
            refuse_link(path)
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is not a folder.", "Name another --out.")
        entries = {entry.name for entry in path.iterdir()} - {LOCK} if path.exists() else set()
        if entries and STATE not in entries:
            raise InputError(f"{path} is not empty, and not of an earlier adapt.", "Name another --out.")
        for name in (STATE, MODEL, IGNORED, *WORK):
            refuse_link(path / name)

    def load(self, corpus: str, minutes: float, note: Callable[[str], object]) -> Work:
        """The work so far, or new work. Unfinished work for other texts or another model is removed, with a note.

        Raises InputError if the folder has a model that was made otherwise, because an index may use it, unfinished
        work of other minutes, or a damaged state.
        """
        begun = Work(corpus, minutes)
        if not (self.path / STATE).exists():
            return begun
        found = self._stored()
        is_same = found.corpus == corpus
        if is_same and found.minutes == minutes and not (found.chosen and not (self.path / MODEL).exists()):
            return found
        if (self.path / MODEL).exists():
            raise InputError(
                f"{self.path} has a model that was adapted to other texts, from another model, or in"
                f" {found.minutes:g} minutes, and an index may use it.",
                "Name another --out, or remove this folder.",
            )
        if is_same and found.chosen is None and found.steps is not None:
            raise InputError(
                f"{self.path} has unfinished work of --minutes {found.minutes:g}.",
                "Give the same --minutes to continue it, or remove this folder.",
            )
        if not is_same:
            note("The index or its model has changed since the earlier work, which is discarded")
        self.clear()
        return begun

    def save(self, work: Work, **changes: Any) -> Work:
        """Store the work with some changes, and return it; raises StorageError."""
        changed = replace(work, **changes)
        replace_text(self.path / STATE, json.dumps(asdict(changed)))
        if not (self.path / IGNORED).exists():
            replace_text(self.path / IGNORED, "*\n")
        return changed

    def clear(self) -> None:
        """Remove everything but the state and the result."""
        for name in WORK:
            remove(self.path / name)

    def abandon(self) -> None:
        """Remove a folder whose lock is held, with all work in it."""
        self.clear()
        for name in (STATE, IGNORED):
            remove(self.path / name)
        remove_lock(self.path / LOCK)
        with suppress(OSError):  # Windows still has the lock
            self.path.rmdir()

    def _stored(self) -> Work:
        try:
            work = parse(Work, load_json(self.path / STATE))
        except (SchemaError, StorageError):
            work = None
        if work is None or not _is_possible(work):
            raise InputError(
                f"{self.path / STATE} is damaged, or of another version of cdesearch.",
                "Name another --out, or remove this folder unless an index uses its model.",
            )
        return work


def _is_possible(work: Work) -> bool:
    """Whether the parts of a stored state fit each other."""
    shares, found = {str(share) for share in SHARES}, work.ranks.keys()
    lengths = {len(ranks) for ranks in work.ranks.values()}
    return (
        (work.steps is None or work.steps > 0)
        and work.seconds >= 0
        and (found <= shares if work.chosen is None else found == shares and work.chosen in SHARES)
        and len(lengths) <= 1
        and 0 not in lengths
    )
