"""Read archives: each file in one is a document whose path continues that of the archive."""

import lzma
import tarfile
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import SEEK_END, BytesIO
from stat import S_ISLNK
from typing import IO, Any, BinaryIO, cast

from indexer.formats.byproducts import byproduct_rule, secret_rule
from indexer.formats.encoding import without_surrogates
from indexer.formats.format import Document, Format, GeneratedError, OpenFile, ReadFile, UnreadableError, read_part
from indexer.formats.package import BROKEN
from indexer.formats.unknown import SNIFFED, check_text, rule_without_text

MAX_MEMBER = 64_000_000  # bytes of one file
MAX_UNPACKED = 1_000_000_000  # bytes of all files of an archive
MAX_MEMBERS = 50_000  # files that are read
_BROKEN = (*BROKEN, tarfile.TarError, lzma.LZMAError)
Member = tuple[str, Callable[[], IO[bytes] | None]]  # the name of a file, and a function that opens it


class Archive(Format):
    """A kind of archive. Files that a walk would leave out are left out."""

    streams = True

    def __init__(self, read: ReadFile, is_known: Callable[[str], bool]) -> None:
        """`read` reads a file, and `is_known` is whether a format lists its name."""
        self._read, self._is_known = read, is_known

    @abstractmethod
    def members(self, file: OpenFile) -> Iterator[Member]:
        """The files in an archive, each of which must be unpacked before the next one."""

    def read(self, file: OpenFile) -> Iterator[Document]:
        if file.is_in_archive:
            raise UnreadableError("an archive in an archive")
        n_members, left, is_read, name = 0, MAX_UNPACKED, False, ""
        try:
            for given, opened in self.members(file):
                parts = without_surrogates(given).replace("\\", "/").split("/")
                name = "/".join(part for part in parts if part not in ("", "."))
                leads_out = "its name leads out of the archive" if ".." in parts else None
                if reason := leads_out or secret_rule(name, is_folder=False):
                    file.left_out.add(name, f"is not read: {reason}", "file")
                    continue
                if left < 0 or n_members == MAX_MEMBERS:
                    file.left_out.add(name, f"and more: {MAX_UNPACKED / 1e9:g} GB or {MAX_MEMBERS:,} are read", "file")
                    break
                is_known = self._is_known(name.rpartition("/")[2])
                try:
                    data = _unpacked(name, opened, is_known=is_known)
                except GeneratedError:
                    continue
                except UnreadableError as error:
                    file.left_out.add(name, f"cannot be read: {error}", "file")
                    continue
                except _BROKEN as error:
                    is_encrypted = "encrypted" in str(error)
                    file.left_out.add(name, "is encrypted" if is_encrypted else "cannot be unpacked", "file")
                    continue
                n_members, left = n_members + 1, left - len(data)
                for document in _documents(file, name, data, self._read if is_known else self._read_text):
                    is_read = True
                    yield document
        except _BROKEN:
            if not name:
                raise UnreadableError("broken archive") from None
            file.left_out.add(name, "is followed by a broken part", "file")
        if file.left_out.n_lines and not is_read:
            raise UnreadableError(f"none of its files can be read: {file.left_out.problems}")

    def _read_text(self, file: OpenFile) -> Iterator[Document]:
        """Read a file whose name no format lists, if it is text or mail."""
        size = file.stream.seek(0, SEEK_END)
        file.stream.seek(0)
        check_text(file.stream, file.name, size)
        file.stream.seek(0)
        yield from self._read(file)


def _unpacked(name: str, opened: Callable[[], IO[bytes] | None], *, is_known: bool) -> bytes:
    """The first MAX_MEMBER + 1 bytes of a file.

    Raises GeneratedError if a walk ignores it, or UnreadableError if no format lists its name and its start is no text.
    """
    if _is_ignored(name):
        raise GeneratedError(name)
    with opened() or BytesIO() as stream:
        start = stream.read(SNIFFED)
        if not is_known:
            check_text(BytesIO(start), name.rpartition("/")[2], len(start))
        return start + stream.read(MAX_MEMBER + 1 - len(start))


def _documents(file: OpenFile, name: str, data: bytes, read: ReadFile) -> list[Document]:
    """The documents of a file in the archive. One that is broken or too large is left out and counted."""
    if len(data) > MAX_MEMBER:
        file.left_out.add(name, f"cannot be read: larger than {MAX_MEMBER / 1e6:g} MB", "file")
        return []
    inside = replace(file, path=f"{file.path}/{name}", is_in_archive=True, fields=[])
    return read_part(file, inside, name, lambda: data, read)


def _is_ignored(name: str) -> bool:
    """Whether a walk would ignore a file because of its path."""
    *folders, last = name.split("/")
    rules = (byproduct_rule(folder, frozenset(), is_folder=True) for folder in folders)
    is_hidden = any(part.startswith(".") for part in (*folders, last))
    is_other = byproduct_rule(last, frozenset(), is_folder=False) or rule_without_text(last)
    return is_hidden or "__MACOSX" in folders or any(rules) or bool(is_other)


class Zip(Archive):
    """ZIP archives."""

    suffixes = frozenset({".zip"})

    def members(self, file: OpenFile) -> Iterator[Member]:
        with zipfile.ZipFile(cast(BinaryIO, file.stream)) as archive:
            for one in archive.infolist():
                if not one.is_dir() and not S_ISLNK(one.external_attr >> 16):
                    yield one.filename, partial(archive.open, one)


class Tar(Archive):
    """Archives of tar, also compressed."""

    suffixes = frozenset({".tar", ".tgz", ".tbz", ".tbz2", ".txz"})

    def members(self, file: OpenFile) -> Iterator[Member]:
        with tarfile.open(fileobj=file.stream, mode="r|*") as archive:
            while one := archive.next():
                cast(Any, archive).members.clear()  # of which an archive may have very many
                if one.size > MAX_UNPACKED:  # to skip so much of a forged archive would not end
                    raise tarfile.ReadError("its size is impossible")
                if one.isreg():
                    yield one.name, partial(archive.extractfile, one)
