"""What an index asks for beyond its own folder and the model that ships, and whether its user has confirmed that.

An index may come from anywhere: what its manifest names is data until this user, on this computer, has said yes. Each
yes stands in one file of the user's configuration, by the real path of the index folder.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdesearch.errors import IndexUntrustedError, InputError
from cdesearch.index import Index
from cdesearch.index_folder import replace_file
from cdesearch.terminal import printable

FILE = "trusted.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A model other than the one that ships, and folders or files outside the index's own parent."""

    model: str | None = None
    folders: tuple[str, ...] = ()

    @property
    def is_nothing(self) -> bool:
        """Whether there is nothing to confirm."""
        return self.model is None and not self.folders

    def told(self) -> str:
        """In words, with escapes for what a terminal would not print."""
        parts = [] if self.model is None else [f"the model {printable(self.model)}"]
        parts += [f"what lies in {printable(folder)}" for folder in self.folders]
        return ", ".join(parts)


def asked_by(index: Index) -> Asked:
    """What a manifest names that needs confirmation."""
    return Asked(index.manifest.model, outside(index.folder, index.sources))


def outside(folder: Path, sources: Iterable[Path]) -> tuple[str, ...]:
    """Those of the absolute paths `sources` that do not lie in the parent of the index `folder`, links followed.

    A path that does not even begin there is not looked at: on some systems that alone would mount or ask a server.
    """
    parent, real_parent = folder.parent, real(folder.parent)
    reached = [real(source) if source.is_relative_to(parent) else source for source in sources]
    return tuple(str(place) for place in reached if not place.is_relative_to(real_parent))


def require_trust(index: Index, *, model: bool = True, folders: bool = True) -> None:
    """Raise IndexUntrustedError where the index asks for something that is about to be used and was not confirmed."""
    asked = asked_by(index)
    check_confirmed(index.folder, Asked(asked.model if model else None, asked.folders if folders else ()))


def check_confirmed(folder: Path, asked: Asked) -> None:
    """Raise IndexUntrustedError unless `asked` has been confirmed for the index in `folder`."""
    if asked.is_nothing:
        return
    confirmed = _entries().get(str(real(folder)), Asked())
    missing = Asked(
        None if asked.model == confirmed.model else asked.model,
        tuple(path for path in asked.folders if path not in confirmed.folders),
    )
    if missing.is_nothing:
        return
    other = "name the folders again in `cdesearch index`" if missing.folders else "name it again with --model"
    raise IndexUntrustedError(
        f"The index {printable(str(folder))} asks for {missing.told()}, which nobody has confirmed on this computer"
        " for an index at this place; one that is moved asks again.",
        f"If you trust it, run `cdesearch trust {shlex.quote(printable(str(folder)))}`, or {other}.",
    )


def confirm(folder: Path, asked: Asked) -> None:
    """Record that this user wants the index in `folder` to have `asked`, and nothing else.

    Writes only where that changes something, one process at a time. Raises InputError for a file that cannot be read,
    OSError where it cannot be written.
    """
    key = str(real(folder))
    if _entries().get(key, Asked()) == asked:
        return
    from filelock import FileLock  # most commands confirm nothing

    file = real(trust_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        _record(file, key, asked)


def _record(file: Path, key: str, asked: Asked) -> None:
    """Write the entry `key` of the file, which is locked."""
    entries = _entries()
    if asked.is_nothing:
        entries.pop(key, None)
    else:
        entries[key] = asked
    stored = {name: {"model": one.model, "folders": list(one.folders)} for name, one in sorted(entries.items())}
    replace_file(file, json.dumps(stored, indent=2) + "\n")


def trust_file() -> Path:
    """Where confirmations are kept; raises OSError where this user has no such place."""
    configured = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    if Path(configured).is_absolute():
        return Path(configured) / "cdesearch" / FILE
    try:
        return Path.home() / ".config" / "cdesearch" / FILE
    except RuntimeError as error:
        raise OSError(str(error)) from None


def real(path: Path) -> Path:
    """With every link followed."""
    return Path(os.path.realpath(path))


def _entries() -> dict[str, Asked]:
    """All confirmations, by the real paths of index folders; raises InputError."""
    text: Any = None
    with suppress(OSError):
        text = trust_file().read_bytes()
    if text is None:
        return {}
    try:
        return {name: _entry(one) for name, one in json.loads(text).items()}
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{trust_file()} cannot be read ({_reason(error)}).", "Mend or remove it: it holds what you have confirmed."
        ) from None


def _reason(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)[:100]


def _entry(values: dict[str, Any]) -> Asked:
    model, folders = values["model"], values["folders"]
    if not (model is None or isinstance(model, str)) or not all(isinstance(folder, str) for folder in folders):
        raise TypeError("an entry has a model and folders")
    return Asked(model, tuple(folders))
