"""Read archives: each file in one is a document whose path continues that of the archive."""

import lzma
import tarfile
import zipfile
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import IO, Any, BinaryIO, cast

from indexer.formats.byproducts import byproduct_rule, secret_rule
from indexer.formats.encoding import without_surrogates
from indexer.formats.format import SHOWN_LINES, Document, Format, OpenFile, ReadFile, UnreadableError, read_part
from indexer.formats.package import BROKEN

MAX_MEMBER = 64_000_000  # bytes of one file
MAX_UNPACKED = 1_000_000_000  # bytes of all files of an archive
MAX_MEMBERS = 50_000  # files that are read
_BROKEN = (*BROKEN, tarfile.TarError, lzma.LZMAError)
Member = tuple[str, Callable[[int], bytes]]  # the name of a file, and a function that reads a number of bytes of it


class Archive(Format):
    """A kind of archive. Files that a walk would leave out because of their names are left out."""

    streams = True

    def __init__(self, reader_of: Callable[[str], ReadFile | None]) -> None:
        """`reader_of` finds what reads a file of a name; None if files of this name are not read."""
        self._reader_of = reader_of

    @abstractmethod
    def members(self, file: OpenFile) -> Iterator[Member]:
        """The files in an archive, each of which must be unpacked before the next one."""

    def read(self, file: OpenFile) -> Iterator[Document]:
        if file.is_in_archive:
            raise UnreadableError("an archive in an archive")
        n_members, left, is_read, name = 0, MAX_UNPACKED, False, ""
        others: list[str] = []  # the first files that a walk leaves out, or whose names no format lists
        try:
            for given, unpack in self.members(file):
                name = without_surrogates(given).replace("\\", "/").removeprefix("./")
                read = None if _is_ignored(name) else self._reader_of(name.rpartition("/")[2])
                if secret := secret_rule(name, is_folder=False):
                    file.left_out.add(name, f"is not read: {secret}", "file")
                    continue
                if read is None:
                    others += [name] if len(others) < SHOWN_LINES else []
                    continue
                n_members += 1
                if left < 0 or n_members > MAX_MEMBERS:
                    file.left_out.add(name, f"and more: {MAX_UNPACKED / 1e9:g} GB or {MAX_MEMBERS:,} are read", "file")
                    break
                try:
                    data = unpack(MAX_MEMBER + 1)
                except _BROKEN as error:
                    is_encrypted = "encrypted" in str(error)
                    file.left_out.add(name, "is encrypted" if is_encrypted else "cannot be unpacked", "file")
                    continue
                left -= len(data)
                for document in _documents(file, name, data, read):
                    is_read = True
                    yield document
        except _BROKEN:
            if not name:
                raise UnreadableError("broken archive") from None
            file.left_out.add(name, "is followed by a broken part", "file")
        if file.left_out.n_lines and not is_read:
            raise UnreadableError(f"none of its files can be read: {file.left_out.problems}")
        if others and not is_read:
            raise UnreadableError(f"none of its files is of a kind that is read, such as {', '.join(others)}")


def _documents(file: OpenFile, name: str, data: bytes, read: ReadFile) -> list[Document]:
    """The documents of a file in the archive. One that is broken or too large is left out and counted."""
    if len(data) > MAX_MEMBER:
        file.left_out.add(name, f"cannot be read: larger than {MAX_MEMBER / 1e6:g} MB", "file")
        return []
    inside = replace(file, path=f"{file.path}/{name}", is_in_archive=True, fields=[])
    return read_part(file, inside, name, lambda: data, read)


def _is_ignored(name: str) -> bool:
    """Whether a walk would leave out a file because of its path; names with `..` are left out as hidden ones are."""
    *folders, last = name.split("/")
    rules = (byproduct_rule(folder, frozenset(), is_folder=True) for folder in folders)
    is_hidden = any(part.startswith(".") or not part for part in (*folders, last))
    return is_hidden or "__MACOSX" in folders or any(rules) or bool(byproduct_rule(last, frozenset(), is_folder=False))


class Zip(Archive):
    """ZIP archives."""

    suffixes = frozenset({".zip"})

    def members(self, file: OpenFile) -> Iterator[Member]:
        with zipfile.ZipFile(cast(BinaryIO, file.stream)) as archive:
            for one in archive.infolist():
                yield one.filename, partial(_unpacked, partial(archive.open, one))


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
                    yield one.name, partial(_unpacked, partial(archive.extractfile, one))


def _unpacked(opened: Callable[[], IO[bytes] | None], size: int) -> bytes:
    """At most `size` bytes of a file in an archive."""
    with opened() or BytesIO() as stream:
        return stream.read(size)
