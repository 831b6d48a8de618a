"""The changes of files that tell an agent of the server, or take this out again. Each is known before it is made."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from cdesearch.cli.agents import json_text, toml_text
from cdesearch.cli.agents.clients import NAME, Client
from cdesearch.errors import InputError
from cdesearch.store.filesystem import put_in_place
from cdesearch.store.trust import real

Section = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """The text of a file before and after a change; None if there is no file."""

    file: Path
    before: str | None
    after: str | None

    @property
    def lines(self) -> list[str]:
        """What is taken out and what is put in, as lines that begin with - or +."""
        old, new = ((text or "").splitlines() for text in (self.before, self.after))
        changed = unified_diff(old, new, n=0, lineterm="")
        return [f"{line[0]} {line[1:]}" for line in islice(changed, 2, None) if line[0] in "+-" and len(line) > 1]

    def make(self) -> None:
        """Write the file, or remove it and the folder that it leaves empty; raises OSError."""
        file = real(self.file)
        if self.after is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, self.after)
            return
        file.unlink(missing_ok=True)
        if file.parent != Path.home():
            with suppress(OSError):  # it is not empty
                file.parent.rmdir()


def additions(client: Client) -> list[Change]:
    """The changes that tell an agent of the server. What is there already stays; raises InputError."""
    before, language = _read(client.file), _language(client.file)
    changes = []
    with _explained(client.file):
        old = language.value_of(before or "")
        section = next((one for one in client.sections if _at(old, one) is not None), client.sections[-1])
        if NAME not in (_at(old, section) or {}):
            after = language.added(before or "", section, NAME, client.entry)
            new = language.value_of(after)
            if _at(new, (*section, NAME)) != client.entry or _without(new, section) != _without(old, section):
                raise ValueError("it has a form that only you can extend")
            changes.append(Change(client.file, before, after))
    changes += [Change(file, None, text) for file, text in client.texts if _read(file) is None]
    return changes


def removals(client: Client) -> list[Change]:
    """The changes that take out the entry of `additions`, and its texts unless others changed them."""
    before, changes = _read(client.file), []
    if before is not None and NAME in before:
        with _explained(client.file):
            after = _taken_out(client, before)
        if after != before:
            changes.append(Change(client.file, before, after))
    return changes + [Change(file, text, None) for file, text in reversed(client.texts) if _read(file) == text]


def was_added(client: Client) -> bool:
    """Whether an agent has the entry that `additions` writes; one that the user has written may differ."""
    with suppress(InputError, ValueError):
        found = _language(client.file).value_of(_read(client.file) or "")
        return any(_at(found, (*section, NAME)) == client.entry for section in client.sections)
    return False


def _taken_out(client: Client, before: str) -> str | None:
    """A configuration without the entry; None if nothing else is in it. Raises ValueError."""
    language = _language(client.file)
    old = language.value_of(before)
    section = next((one for one in client.sections if NAME in (_at(old, one) or {})), None)
    if section is None:
        return before
    after: str = language.removed(before, section, NAME)
    left = language.value_of(after)
    if _at(left, (*section, NAME)) is not None or _without(left, section) != _without(old, section):
        raise ValueError("it has a form that only you can change")
    return after if after.strip("{} \t\r\n") else None


def _without(value: Any, section: Section) -> Any:
    """A value without the entry in this section, and without the section if nothing else is in it."""
    left = deepcopy(value)
    _at(left, section).pop(NAME, None) if _at(left, section) else None
    for depth in range(len(section), 0, -1):
        if _at(left, section[:depth]) == {}:
            del _at(left, section[: depth - 1])[section[depth - 1]]
    return left


def _at(value: Any, keys: Iterable[str]) -> Any:
    """The value below these keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _language(file: Path) -> ModuleType:
    return toml_text if file.suffix == ".toml" else json_text


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Raise InputError for a ValueError, which says why a file cannot be changed."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{file} cannot be changed ({error}).", f"Change the entry {NAME} in it yourself.") from None


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"{file} cannot be read ({reason}).", "Check the path and its permissions.") from None


def _write(file: Path, text: str) -> None:
    """Replace a file atomically, with the permissions that it has; a new one is private."""
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o600
    fresh = file.with_name(f"{file.name}.{NAME}-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(text.encode())
    fresh.chmod(mode)
    put_in_place(fresh, file)
