"""Remember where the hits of the last query on a terminal are, for `cdesearch open`.

The file is in a folder of the user's state that nobody else can enter. It contains paths and lines, but neither the
query nor text of documents.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cdesearch.errors import CdesearchError, InputError
from cdesearch.store.guard import read_small
from cdesearch.store.server_address import is_private

FILE = "hits.json"
_NONE = InputError(
    "No hits of an earlier query are known.",
    "Run `cdesearch query WORDS` on a terminal first, not in a pipe.",
)


@dataclass(frozen=True, slots=True)
class HitPlace:
    """The place of a hit."""

    root: str  # the indexed folder, an absolute path
    path: str  # relative to it
    line: int | None = None
    anchor: str | None = None  # the id of the element at which a browser can open it


def state_folder() -> Path:
    """Return the folder of the user for the state of this program, which may not exist yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "state"
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (configured if configured.is_absolute() else Path.home() / ".local" / "state") / "cdesearch"


def remember(places: Sequence[HitPlace]) -> None:
    """Store the places of hits, best first. If the folder cannot be written or is not private, nothing is stored."""
    with suppress(OSError, RuntimeError, UnicodeError):  # a RuntimeError if there is no home folder
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(folder):
            return
        fresh = folder / f"{FILE}.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump([asdict(place) for place in places], file)
        fresh.replace(folder / FILE)


def remembered(number: int) -> HitPlace:
    """Return the place of a hit of the last query, counted from 1; raises InputError if there is none."""
    try:
        folder = state_folder()
        values = json.loads(read_small(folder / FILE)) if is_private(folder) else None
        places = [HitPlace(**value) for value in values or ()]
    except (OSError, RuntimeError, ValueError, TypeError, RecursionError, CdesearchError):
        raise _NONE from None
    if not places or not all(map(_is_possible, places)):
        raise _NONE
    if not 1 <= number <= len(places):
        raise InputError(
            f"The last query on a terminal has no hit {number}.", f"Its hits have the numbers 1 to {len(places)}."
        )
    return places[number - 1]


def _is_possible(place: HitPlace) -> bool:
    is_text = isinstance(place.root, str) and isinstance(place.path, str)
    is_text = is_text and (place.anchor is None or isinstance(place.anchor, str))
    return is_text and (place.line is None or (type(place.line) is int and place.line >= 0))
