"""Find the document that a caller names by its path, by an absolute path, or by the location of a hit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cdesearch.errors import InputError, NotIndexedError
from cdesearch.search.documents import DocumentEntry, DocumentReader
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.serve.mcp.document_lines import Unit
from cdesearch.store.schema import Chunk

_NUMBERS = r"\d{1,9}(?:-\d{1,9})?"
_LOCATION = re.compile(rf"(?P<path>.+?)(?P<unit>:|#page=|#part=)(?P<numbers>{_NUMBERS})", re.DOTALL)
_UNITS: dict[str, Unit] = {":": "lines", "#page=": "page", "#part=": "part"}


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """An indexed document with its chunks, and the range if the caller named it by a location such as "a.md:10-20"."""

    path: str  # the path of the file, or the id of one document in a file of records
    chunks: tuple[Chunk, ...]
    ranges: Mapping[Unit, str] = field(default_factory=dict)


def index_and_path(indexes: ServedIndexes, name: str | None, typed: str) -> tuple[ServedIndex, str]:
    """Return the index with this name, and the path.

    Without a name, the path may begin with that of its index, as in the answer of a search of several indexes. Raises
    InputError for an unknown name.
    """
    for served in indexes:
        prefix = f"{served.name}: "
        if name is None and typed.startswith(prefix):
            return served, typed.removeprefix(prefix)
    return indexes[name], typed


def find_document(indexes: ServedIndexes, served: ServedIndex, typed: str) -> NamedDocument:
    """Find the document that `typed` names, such as "a.md" or "a.md:10-20".

    Raises InputError if there is no such document, or if it has no text.
    """
    path = relative_path(served, typed)
    chunks = _chunks(served, path)
    if chunks:
        return NamedDocument(path, chunks)
    location = _LOCATION.fullmatch(path)
    chunks = _chunks(served, location["path"]) if location else ()
    if location and chunks:
        return NamedDocument(location["path"], chunks, {_UNITS[location["unit"]]: location["numbers"]})
    raise _not_found(indexes, served, path)


def relative_path(served: ServedIndex, typed: str) -> str:
    """Return the path `typed` relative to the indexed folder. The path of the indexed folder itself is ""."""
    path = Path(typed)
    if path.is_absolute() and path.is_relative_to(served.index.root):
        typed = path.relative_to(served.index.root).as_posix()
    return "" if typed in (".", "/") else typed.removeprefix("./").rstrip("/")


def entries_of(served: ServedIndex, path: str) -> list[DocumentEntry]:
    """Return the documents of a file, or of all files below a folder. The list is empty if the path is not indexed."""
    return served.read(lambda index: DocumentReader(index).entries(path))


def _chunks(served: ServedIndex, path: str) -> tuple[Chunk, ...]:
    """Return the chunks of a file, or of one document in a file of records. Without such a document there are none."""

    def found(documents: DocumentReader) -> tuple[Chunk, ...]:
        for read in (documents.file, documents.document):
            try:
                return read(path)
            except NotIndexedError:
                continue
        return ()

    return served.read(lambda index: found(DocumentReader(index)))


def _not_found(indexes: ServedIndexes, served: ServedIndex, path: str) -> InputError:
    shown = f"{path:.200}" or "The indexed folder"
    entries = entries_of(served, path)
    if any(entry.path == path for entry in entries):
        return InputError(f"{shown} is indexed but contains no text.", "Open the file itself.")
    if entries:
        return InputError(f"{shown} is a folder.", "Pass the path of a document in it. The tool `outline` lists them.")
    for other in indexes:
        if other is not served and _chunks(other, path):
            return InputError(f"{shown} is not in the index {served.name}.", f'Pass index="{other.name}".')
    return InputError(
        f"{shown} is not an indexed document.",
        "Pass a path as `search` and `outline` show it. Other files cannot be read here.",
    )
