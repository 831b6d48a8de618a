"""The changes of files that tell an agent of the server, or undo this. Each is known before it is made."""

import os
import stat
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from cdesearch.cli.agents import json_text, toml_text
from cdesearch.cli.agents.clients import NAME, Client
from cdesearch.errors import InputError
from cdesearch.store.filesystem import put_in_place
from cdesearch.store.folder import replace_file
from cdesearch.store.trust import real, trust_file

Section = tuple[str, ...]


class Insertion(msgspec.Struct):
    """What was put into a file. Without it, the file has the bytes from before."""

    text: str
    is_whole: bool  # whether there was no file
    folders: list[str]  # that were made for it, outermost first


@dataclass(frozen=True, slots=True)
class Change:
    """The bytes of a file before and after a change; None if there is no file."""

    file: Path
    before: bytes | None
    after: bytes | None

    @property
    def parts(self) -> tuple[bytes, bytes]:
        """What is taken out, and what is put in at the same place."""
        old, new = self.before or b"", self.after or b""
        end = _shared(old[::-1], new[::-1])
        start = _shared(old[: len(old) - end], new[: len(new) - end])
        return old[start : len(old) - end], new[start : len(new) - end]

    @property
    def lines(self) -> list[str]:
        """The parts as lines that begin with - or +."""
        both = zip("-+", self.parts, strict=True)
        return [f"{sign} {line}" for sign, part in both for line in part.decode(errors="replace").splitlines() if line]

    def make(self) -> None:
        """Write the file or remove it, and keep the account of insertions; raises OSError."""
        file, known = real(self.file), _insertions()
        before = known.pop(str(self.file), None)
        if self.after is None:
            file.unlink(missing_ok=True)
            for folder in reversed(before.folders if before else []):
                with suppress(OSError):  # it is no longer empty
                    Path(folder).rmdir()
        else:
            folders = [str(one) for one in reversed(file.parents) if not one.exists()]
            file.parent.mkdir(parents=True, exist_ok=True)
            _write(file, self.after)
            taken, put = self.parts
            if put and not taken:
                known[str(self.file)] = Insertion(put.decode(), self.before is None, folders)
        account = _account()
        if known:
            account.parent.mkdir(parents=True, exist_ok=True)
            replace_file(account, msgspec.json.encode(known).decode())
        else:
            account.unlink(missing_ok=True)


def additions(client: Client) -> list[Change]:
    """The changes that tell an agent of the server. What is there already stays; raises InputError."""
    before, language = _read(client.file), _language(client.file)
    changes = []
    with _explained(client.file):
        old = language.value_of(before or b"")
        section = next((one for one in client.sections if _at(old, one) is not None), client.sections[-1])
        if NAME not in (_at(old, section) or {}):
            after = language.added(before or b"", section, NAME, client.entry)
            new = language.value_of(after)
            if _at(new, (*section, NAME)) != client.entry or _without(new, section) != _without(old, section):
                raise ValueError("it has a form that only you can extend")
            changes.append(Change(client.file, before, after))
    changes += [Change(file, None, text.encode()) for file, text in client.texts if _read(file) is None]
    return changes


def was_changed(client: Client) -> bool:
    """Whether `additions` have put something into the files of this agent."""
    return not _insertions().keys().isdisjoint(map(str, (client.file, *(file for file, _ in client.texts))))


def removals(client: Client) -> list[Change]:
    """The changes that undo those of `additions`, and leave what others have changed since; raises InputError."""
    known, changes = _insertions(), []
    before = _read(client.file)
    own = known.get(str(client.file))
    if before is not None and NAME.encode() in before:
        with _explained(client.file):
            after = _taken_out(client, before, own)
            if after != before:
                changes.append(Change(client.file, before, after))
    for file, text in reversed(client.texts):  # the first one made the folder
        found, put = _read(file), known.get(str(file))
        if found is not None and found.decode(errors="replace") == (put.text if put else text):
            changes.append(Change(file, found, None))
    return changes


def _taken_out(client: Client, before: bytes, own: Insertion | None) -> bytes | None:
    """A configuration without the entry; None if there was no file. Raises ValueError."""
    language = _language(client.file)
    old = language.value_of(before)
    piece = own.text.encode() if own else b""
    if own and own.is_whole and before == piece:
        return None
    section = next((one for one in client.sections if NAME in (_at(old, one) or {})), None)
    if section is None:
        return before
    found: list[bytes] = [before.replace(piece, b"")] if piece and before.count(piece) == 1 else []
    found.append(language.removed(before, section, NAME))
    for after in found:
        with suppress(ValueError):
            left = language.value_of(after)
            if _at(left, (*section, NAME)) is None and _without(left, section) == _without(old, section):
                return after
    raise ValueError("it has a form that only you can change")


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


def _shared(one: bytes, other: bytes) -> int:
    """The number of bytes with which both begin."""
    return bisect_right(range(1, min(len(one), len(other)) + 1), 0, key=lambda size: one[:size] != other[:size])


def _language(file: Path) -> ModuleType:
    return toml_text if file.suffix == ".toml" else json_text


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Raise InputError for a ValueError, which says why a file cannot be changed."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{file} cannot be changed ({error}).", f"Change the entry {NAME} in it yourself.") from None


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror}).", "Check the path and its permissions.") from None


def _write(file: Path, text: bytes) -> None:
    """Replace a file atomically, with the permissions that it has; a new one is private."""
    mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o600
    fresh = file.with_name(f"{file.name}.{NAME}-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
        stream.write(text)
    fresh.chmod(mode)
    put_in_place(fresh, file)


def _account() -> Path:
    """The file of the insertions; raises OSError if this user has no home folder."""
    return trust_file().with_name("agents.json")


def _insertions() -> dict[str, Insertion]:
    """The insertions that have not been undone, by their files. A damaged account is as good as none."""
    try:
        return msgspec.json.decode(_account().read_bytes(), type=dict[str, Insertion])
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}
