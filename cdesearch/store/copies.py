"""Files in buckets that are indexed: the folders in the user's cache that hold copies of them.

An index names such a folder as its source, like any other. Hits and messages name the objects in the bucket.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from cdesearch.errors import InputError
from cdesearch.store.place import BucketAddress, parse_address

COPIES = "sources"  # the folder in the cache with copies of files in buckets
_COPIES_OF_ANYBODY = ("cdesearch", COPIES)  # the last parts of its path


def user_cache() -> Path:
    """The folder of this user's downloads, which may not exist yet; raises InputError without a home folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "cdesearch"
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (configured if configured.is_absolute() else Path.home() / ".cache") / "cdesearch"
    except RuntimeError:
        raise InputError("This user has no home folder for a cache.", "Set XDG_CACHE_HOME to a folder.") from None


def copies_of(address: BucketAddress) -> Path:
    """The folder with copies of the files at an address, which may not exist yet; raises InputError."""
    return user_cache() / COPIES / address.folder_name


def address_of_copies(folder: Path) -> BucketAddress | None:
    """The address of the files in a bucket whose copies are in `folder`; None for any other folder."""
    address = parse_address(unquote(folder.name)) if folder.parent.name == COPIES else None
    return address if address is not None and folder.parent == _copies(folder) else None


def original_place(file: Path) -> str | None:
    """The URL of the object of which `file` is a copy; None for any other file."""
    for folder in file.parents:
        if (address := address_of_copies(folder)) is not None:
            return f"{address}/{file.relative_to(folder).as_posix()}"
    return None


def on_this_computer(root: Path, sources: Sequence[str]) -> Path:
    """The root of an index of files in buckets, in the cache of this user, if another user or computer has built it.

    `sources` are the paths of its sources below the root. The root of any other index is returned as it is.
    """
    for number, part in enumerate(root.parts):
        if root.parts[max(0, number - 2) : number] == _COPIES_OF_ANYBODY and parse_address(unquote(part)):
            return _copies(root).joinpath(*root.parts[number:])
    # The parent of the copies is the root of files in several buckets.
    if root.parts[-2:] == _COPIES_OF_ANYBODY and sources and all(_is_copied(source) for source in sources):
        return _copies(root)
    return root


def shown_source(path: Path) -> str:
    """A source or root as the user names it: the address of files in a bucket, or the path as valid Unicode.

    Bytes of a path that are not UTF-8 become escapes such as `\\xff`.
    """
    return str(address_of_copies(path) or os.fsencode(path).decode("utf-8", "backslashreplace"))


def _is_copied(source: str) -> bool:
    return parse_address(unquote(source.partition("/")[0])) is not None


def _copies(otherwise: Path) -> Path:
    try:
        return user_cache() / COPIES
    except InputError:  # no home folder
        return otherwise
