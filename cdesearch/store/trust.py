"""Trust: what an index asks for beyond its own folder and the model that ships, and whether its user confirmed it.

An index may come from another computer or another user. The model and folders that its manifest names are not used, and
an index of another user that was found upward is not read, until this user has confirmed them on this computer. All
confirmations are in one file of the user's configuration, by the real path of the index folder, or the address of an
index in a bucket. No confirmation lets a command write into the index of another user.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

import msgspec

from cdesearch.errors import IndexUntrustedError, InputError
from cdesearch.models.endpoint_model import is_url
from cdesearch.store.copies import shown_source
from cdesearch.store.filesystem import foreign_owner, lock_of, refusal, refusal_of, user_name
from cdesearch.store.folder import replace_file
from cdesearch.store.place import Place
from cdesearch.terminal import printable

FILE = "trusted.json"


@dataclass(frozen=True, slots=True)
class TrustRequest:
    """A model that does not ship, folders or files outside the index's parent folder, and another user as owner."""

    model: str | None = None
    folders: tuple[str, ...] = ()
    owner: int | None = None  # the number of the user to whom the index belongs, if that is another user

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to confirm."""
        return self.model is None and not self.folders and self.owner is None

    @property
    def server(self) -> str | None:
        """The URL of the server to which texts and queries are sent; None if the model runs here."""
        return self.model if self.model is not None and is_url(self.model) else None

    def describe(self) -> str:
        """The model and folders as part of a sentence, with escapes for unsafe characters."""
        parts = [f"the content of {printable(shown_source(Path(folder)))}" for folder in self.folders]
        if self.server is not None:
            parts.insert(0, f"a model at {printable(self.server)}, to which texts and queries are sent")
        elif self.model is not None:
            parts.insert(0, f"the model {printable(self.model)}")
        return ", ".join(parts)


def outside(place: Place, sources: Iterable[Path]) -> tuple[str, ...]:
    """The absolute paths among `sources` that are outside the parent of the index at `place`, with links followed.

    The links of a path that does not begin with that parent are not followed: on some systems that alone would mount a
    file system or contact a server. All sources are outside an index in a bucket.
    """
    if not isinstance(place, Path):
        return tuple(map(str, sources))
    parent, real_parent = place.parent, real(place.parent)
    resolved = [real(source) if source.is_relative_to(parent) else source for source in sources]
    return tuple(str(path) for path in resolved if not path.is_relative_to(real_parent))


def require_own(folder: Path) -> None:
    """Raise IndexUntrustedError if an existing index folder belongs to another user, who could read what is written.

    Under sudo, an index of the user who has called it is another user's, who could not read what root writes. Raises
    OSError if it cannot be reached.
    """
    if (owner := foreign_owner(folder, as_caller=False)) is not None:
        remedy = "Make your own: `cdesearch index FOLDER --index DIR`."
        raise IndexUntrustedError(
            f"The index {printable(str(folder))} belongs to {user_name(owner)}, and only its owner can change it.",
            "Run the command without sudo." if foreign_owner(folder) is None else remedy,
        )


def check_found(folder: Path) -> None:
    """Raise IndexUntrustedError if an index that was found upward belongs to another user and is not confirmed.

    Otherwise anybody who may write to a shared folder could choose what everybody finds who works below it. Raises
    OSError if the folder cannot be reached.
    """
    owner = foreign_owner(folder)
    if owner is not None and not unconfirmed(folder, TrustRequest(owner=owner)).is_empty:
        raise IndexUntrustedError(
            f"The nearest index, {printable(str(folder))}, belongs to {user_name(owner)}.",
            "Make your own with `cdesearch index FOLDER`, or confirm that you want to search this one:"
            f" `cdesearch trust {shlex.quote(printable(str(folder)))}`.",
        )


def unconfirmed(place: Place, request: TrustRequest) -> TrustRequest:
    """The part of `request` that the user has not confirmed for the index at `place`.

    Raises InputError if the file of confirmations cannot be read.
    """
    if request.is_empty:
        return request
    confirmed = _entries().get(str(real(place)), TrustRequest())
    return TrustRequest(
        None if request.model == confirmed.model else request.model,
        tuple(path for path in request.folders if path not in confirmed.folders),
        None if request.owner == confirmed.owner else request.owner,
    )


def check_confirmed(place: Place, request: TrustRequest) -> None:
    """Raise IndexUntrustedError unless the user has confirmed `request` for the index at `place`."""
    missing = unconfirmed(place, request)
    if missing.is_empty:
        return
    other = "name the folders again in `cdesearch index`" if missing.folders else "name it again with --model"
    raise IndexUntrustedError(
        f"The index {printable(str(place))} asks for {missing.describe()}, which nobody has confirmed on this computer"
        " for an index at this path; an index that is moved must be confirmed again.",
        f"If you trust it, run `cdesearch trust {shlex.quote(printable(str(place)))}`, or {other}.",
    )


def confirm(place: Place, request: TrustRequest) -> bool:
    """Record that this user allows the index at `place` to use what `request` names, and nothing else.

    Writes only if that changes something, one process at a time; returns whether it did. Raises InputError if the file
    cannot be read, and OSError if it cannot be written.
    """
    key = str(real(place))
    if _entries().get(key, TrustRequest()) == request:
        return False
    file = real(trust_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock_of(file.with_suffix(".lock"), wait=True):
        entries = _entries()
        entries.pop(key, None)
        if not request.is_empty:
            entries[key] = request
        stored = {name: asdict(entry) for name, entry in sorted(entries.items())}
        replace_file(file, json.dumps(stored, indent=2) + "\n")
    return True


def confirmed_models() -> list[Path]:
    """The folders of models that the user has confirmed for any index; raises InputError."""
    named = {entry.model for entry in _entries().values() if entry.model is not None}
    return sorted(Path(model) for model in named if Path(model).is_absolute())


def trust_file() -> Path:
    """The file of confirmations; raises OSError if this user has no home folder."""
    configured = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME", "")
    if Path(configured).is_absolute():
        return Path(configured) / "cdesearch" / FILE
    try:
        return Path.home() / ".config" / "cdesearch" / FILE
    except RuntimeError as error:
        raise OSError(str(error)) from None


@overload
def real(place: Path) -> Path: ...
@overload
def real(place: Place) -> Place: ...
def real(place: Place) -> Place:
    """The path with every link followed; an address is returned as it is."""
    return Path(os.path.realpath(place)) if isinstance(place, Path) else place


def _entries() -> dict[str, TrustRequest]:
    """All confirmations by the real paths of index folders; raises InputError."""
    try:
        text = trust_file().read_bytes()
    except OSError as error:
        number = refusal_of(error)
        if number is None or isinstance(error, PermissionError):
            return {}
        reason, remedy = refusal(number)  # without an error, the next confirmation would replace all others
        raise InputError(f"{trust_file()} cannot be read ({reason}).", remedy) from None
    try:
        return msgspec.convert(json.loads(text), dict[str, TrustRequest])  # msgspec reads no paths that are not UTF-8
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{trust_file()} cannot be read ({error}).", "Repair or remove it: it holds your confirmations."
        ) from None
