"""The address of an index or of files in a bucket, and the folder in the user's cache that stands for it.

Everything that takes the folder of an index takes this folder too. Its name is the address, so nothing that an index
contains can make a folder stand for a bucket: a command contacts only the bucket that its user has named. Files in a
bucket are indexed from another such folder, which holds copies of them. Those that an index names must be confirmed.
"""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from cdesearch.errors import InputError, name_in_messages

SCHEMES = ("s3", "gs", "az")
WORKING_COPY = "local"  # the folder in which a run builds the index before it is uploaded
COPIES = "sources"  # the folder in the cache with copies of files in buckets
_COPIES_OF_ANYBODY = ("cdesearch", COPIES)  # the last parts of its path
_ADDRESS = re.compile(r"(s3|gs|az)://([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])((?:/[\w.=+@-]+)*)/?", re.ASCII)
_ONE_SLASH = re.compile(r"(s3|gs|az|file):/(?!/)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # not the letter of a drive
_MAX_NAME = 255  # bytes of the name of a folder


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The place of an index in an object store. `str()` is the URL, such as "s3://bucket/docs"."""

    scheme: str  # one of SCHEMES
    bucket: str  # az: the container
    prefix: str  # before the names of all objects, without a slash at its end; empty: the index is the whole bucket

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{'/' * bool(self.prefix)}{self.prefix}"

    @property
    def folder(self) -> Path:
        """The folder that stands for the index on this computer, which may not exist yet; raises InputError."""
        folder = _root() / quote(str(self), safe="")
        _name_in_messages(folder, self)
        return folder

    @property
    def copied_files(self) -> Path:
        """The folder with copies of the files at this address, which may not exist yet; raises InputError."""
        folder = _root().with_name(COPIES) / quote(str(self), safe="")
        name_in_messages(str(folder), str(self))
        return folder

    @property
    def working_copy(self) -> Path:
        """The ordinary index folder from which runs on this computer write the index."""
        return self.folder / WORKING_COPY


def parse_place(text: str) -> Path:
    """The folder that `--index TEXT` names: a path, a file:// URL, or the address of an index in a bucket.

    Raises InputError. The message does not repeat an address that is not valid, because it may contain a password.
    """
    place = _parsed(text)
    return place.folder if isinstance(place, BucketAddress) else place


def parse_source(text: str) -> Path:
    """The file or folder to index that TEXT names, which is the folder of the copies for files in a bucket.

    Raises InputError, as `parse_place` does.
    """
    place = _parsed(text)
    return place.copied_files if isinstance(place, BucketAddress) else place


def _parsed(text: str) -> Path | BucketAddress:
    found_scheme = _SCHEME.match(text)
    if found_scheme is None:
        if (slip := _ONE_SLASH.match(text)) and not Path(f"{slip[1]}:").exists():
            raise InputError(f"An address begins with {slip[1]}:// and two slashes.", f"Write {slip[1]}://...")
        return Path(text)
    scheme = found_scheme[1].lower()
    text = scheme + text[len(scheme) :]
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise InputError("A file:// URL names a path of this computer.", "For example: file:///data/docs.")
        from urllib.request import url2pathname  # imported late: it imports a client for HTTP

        path = url2pathname(parts.path)
        if "\0" in path:
            raise InputError("This file:// URL contains a null character, which no path can.", "Remove the %00.")
        return Path(path)
    if scheme not in SCHEMES:
        raise InputError(
            f"{scheme}:// is not a place for an index or for files.",
            "Name a path, or an s3://, gs://, az:// or file:// URL.",
        )
    found = _ADDRESS.fullmatch(text)
    if found is None or {".", ".."} & set(text.split("/")):
        raise InputError(
            f"This {scheme}:// address cannot be that of an index or of files.",
            f"Write one such as {scheme}://bucket/docs. A bucket has 3 to 63 small letters, digits and . _ -, and what"
            " follows has letters, digits and . _ - = + @ only. Credentials come from the environment or a profile.",
        )
    address = BucketAddress(found[1], found[2], found[3].strip("/"))
    if len(address.folder.name) > _MAX_NAME:
        raise InputError(f"{address} is too long for an address.", "Choose a shorter prefix.")
    return address


def address_of_copies(folder: Path) -> BucketAddress | None:
    """The address of the files in a bucket whose copies are in `folder`; None for any other folder."""
    return _address_in(folder, COPIES)


def on_this_computer(root: Path, sources: Sequence[str]) -> Path:
    """The root of an index of files in buckets, in the cache of this user, if another user or computer has built it.

    `sources` are the paths of its sources below the root. The root of any other index is returned as it is.
    """
    for number, part in enumerate(root.parts):
        if root.parts[max(0, number - 2) : number] == _COPIES_OF_ANYBODY and _ADDRESS.fullmatch(unquote(part)):
            return _copies_of_this_user(root).joinpath(*root.parts[number:])
    # The parent of the copies is the root of files in several buckets.
    are_copies = all(_ADDRESS.fullmatch(unquote(source.partition("/")[0])) for source in sources)
    if root.parts[-2:] == _COPIES_OF_ANYBODY and sources and are_copies:
        return _copies_of_this_user(root)
    return root


def _copies_of_this_user(default: Path) -> Path:
    try:
        return _root().with_name(COPIES)
    except InputError:  # no home folder
        return default


def original_place(file: Path) -> str | None:
    """The URL of the object of which `file` is a copy; None for any other file."""
    try:
        root = _root().with_name(COPIES)
        name, *inner = file.relative_to(root).parts
    except (InputError, ValueError):  # no home folder, or not below the copies
        return None
    address = address_of_copies(root / name) if inner else None
    return None if address is None else f"{address}/{'/'.join(inner)}"


def address_of(folder: Path) -> BucketAddress | None:
    """The address of the index in a bucket for which `folder` stands; None for any other folder."""
    address = _address_in(folder, "buckets")
    if address is not None:
        _name_in_messages(folder, address)
    return address


def _address_in(folder: Path, parent: str) -> BucketAddress | None:
    try:
        root = _root().with_name(parent)
    except InputError:
        return None
    found = _ADDRESS.fullmatch(unquote(folder.name)) if folder.parent == root else None
    return None if found is None else BucketAddress(found[1], found[2], found[3].strip("/"))


def address_behind(folder: Path) -> BucketAddress | None:
    """What `address_of` returns, also for the working copy of an index in a bucket."""
    return address_of(folder.parent if folder.name == WORKING_COPY else folder)


def shown_place(folder: Path) -> str:
    """An index folder as the user names it: the address of a bucket, or the path."""
    return str(address_behind(folder) or folder)


def written_place(folder: Path) -> Path:
    """Where a run that writes the index or the copies in `folder` writes: for those of a bucket, the user's cache."""
    if address_of_copies(folder) is not None:
        return _root().with_name(COPIES)
    return folder if address_behind(folder) is None else _root()


def require_on_disk(folder: Path, command: str, remedy: str | None = None) -> None:
    """Raise InputError if `folder` stands for an index in a bucket, with which `command` cannot work.

    The default `remedy` is the command that updates the index.
    """
    address = address_of(folder)
    if address is not None:
        raise InputError(
            f"`cdesearch {command}` needs an index on a disk, and {address} is in a bucket.",
            remedy or f"`cdesearch index --index {shlex.quote(str(address))}` updates it.",
        )


def _name_in_messages(folder: Path, address: BucketAddress) -> None:
    name_in_messages(str(folder / WORKING_COPY), str(address))
    name_in_messages(str(folder), str(address))


def _root() -> Path:
    """The parent of the folders that stand for indexes in buckets; raises InputError without a home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch" / "buckets"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        cache = configured if configured.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise InputError("This user has no home folder for a cache.", "Set XDG_CACHE_HOME to a folder.") from None
    return cache / "cdesearch" / "buckets"
