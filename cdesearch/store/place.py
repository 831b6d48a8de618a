"""The place of an index or of files to index: a path, or an address in a bucket. Texts become places at the edges."""

import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, overload
from urllib.parse import quote, urlsplit

from cdesearch.errors import InputError

SCHEMES = ("s3", "gs", "az")
_ADDRESS = re.compile(r"(s3|gs|az)://([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])((?:/[\w.=+@-]+)*)/?", re.ASCII)
_ONE_SLASH = re.compile(r"(s3|gs|az|file):/(?!/)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # not the letter of a drive
_MAX_NAME = 255  # bytes of the name of a folder
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """The place of an index, or of files, in an object store. `str()` is the URL, such as "s3://bucket/docs"."""

    scheme: str  # one of SCHEMES
    bucket: str  # az: the container
    prefix: str  # before the names of all objects, without a slash at its end; empty: the whole bucket

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}{'/' * bool(self.prefix)}{self.prefix}"

    @property
    def folder_name(self) -> str:
        """The name of folders in the user's cache that hold what was downloaded from here."""
        return quote(str(self), safe="")


Place = Path | BucketAddress  # `str()` of both is what messages show and what commands take


@overload
def absolute(place: Path) -> Path: ...
@overload
def absolute(place: Place) -> Place: ...
def absolute(place: Place) -> Place:
    """The place with an absolute path without "..". Links are not followed, and an address is returned as it is."""
    # Path.resolve would follow links.
    return Path(os.path.abspath(place)) if isinstance(place, Path) else place  # noqa: PTH100


def for_kind(
    place: Place, on_disk: Callable[Concatenate[Path, Arguments], Result], in_bucket: str
) -> Callable[Arguments, Result]:
    """The function for this kind of place with the place as its first argument: `on_disk`, or "module:name".

    The module is imported only for an address in a bucket, so a path never needs the library for buckets.
    """
    if isinstance(place, Path):
        return partial(on_disk, place)
    from pkgutil import resolve_name

    return partial(resolve_name(in_bucket), place)


def parse_address(text: str) -> BucketAddress | None:
    """The address that a text is exactly; None for any other text."""
    found = _ADDRESS.fullmatch(text)
    return None if found is None else BucketAddress(found[1], found[2], found[3].strip("/"))


def parse_place(text: str) -> Place:
    """The place that `text` names: a path, a file:// URL, or an address in a bucket.

    Raises InputError. The message does not repeat an address that is not valid, because it may contain a password.
    """
    found_scheme = _SCHEME.match(text)
    if found_scheme is None:
        if (slip := _ONE_SLASH.match(text)) and not Path(f"{slip[1]}:").exists():
            raise InputError(f"An address begins with {slip[1]}:// and two slashes.", f"Write {slip[1]}://...")
        return Path(text)
    scheme = found_scheme[1].lower()
    text = scheme + text[len(scheme) :]
    if scheme == "file":
        return _path_of_url(text)
    if scheme not in SCHEMES:
        raise InputError(
            f"{scheme}:// is not a place for an index or for files.",
            "Name a path, or an s3://, gs://, az:// or file:// URL.",
        )
    address = parse_address(text)
    if address is None or {".", ".."} & set(text.split("/")):
        raise InputError(
            f"This {scheme}:// address cannot be that of an index or of files.",
            f"Write one such as {scheme}://bucket/docs. A bucket has 3 to 63 small letters, digits and . _ -, and what"
            " follows has letters, digits and . _ - = + @ only. Credentials come from the environment or a profile.",
        )
    if len(address.folder_name) > _MAX_NAME:
        raise InputError(f"{address} is too long for an address.", "Choose a shorter prefix.")
    return address


def on_disk(place: Place, command: str, remedy: str | None = None) -> Path:
    """The folder of an index on a disk; raises InputError for one in a bucket, with which `command` cannot work.

    The default `remedy` is the command that updates the index.
    """
    if isinstance(place, BucketAddress):
        raise InputError(
            f"`cdesearch {command}` needs an index on a disk, and {place} is in a bucket.",
            remedy or f"`cdesearch index --index {shlex.quote(str(place))}` updates it.",
        )
    return place


def _path_of_url(text: str) -> Path:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path:
        raise InputError("A file:// URL names a path of this computer.", "For example: file:///data/docs.")
    from urllib.request import url2pathname  # imported late: it imports a client for HTTP

    path = url2pathname(parts.path)
    if "\0" in path:
        raise InputError("This file:// URL contains a null character, which no path can.", "Remove the %00.")
    return Path(path)
