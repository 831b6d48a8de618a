"""Find the document that a caller names; its stored text as lines, numbered by lines, pages or parts; its headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from cdesearch.errors import InputError, NotIndexedError
from cdesearch.search.documents import DocumentEntry, DocumentReader
from cdesearch.serve.indexes import ServedIndex, ServedIndexes
from cdesearch.store.copies import original_place
from cdesearch.store.index import Index
from cdesearch.store.schema import Chunk
from cdesearch.store.trust import unconfirmed

Unit = Literal["lines", "page", "part"]

MAX_HEADING = 100  # characters
MAX_PIECE = 60  # characters of a piece of a line

_LOCATION = re.compile(r"(?P<path>.+?)(?P<unit>:|#page=|#part=)(?P<numbers>\d{1,9}(?:-\d{0,9})?)", re.DOTALL)
_UNITS: dict[str, Unit] = {":": "lines", "#page=": "page", "#part=": "part"}
_SIGNS = {unit: sign for sign, unit in _UNITS.items()}
_PLURALS: dict[Unit, str] = {"lines": "lines", "page": "pages", "part": "parts"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, or a piece of a long one, with a number: that of the line in the file, the page, or the part."""

    number: int
    text: str  # with the line break at its end


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, or the first line of a part if the document has no headings."""

    number: int  # of its line, page or part
    level: int  # from 1
    text: str


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """An indexed document, and the range that a caller named by a location such as "a.md:10-20", "a.md:7" or "a.md:7-".

    All lines of a page or of a part have the same number.
    """

    path: str  # the path of the file, or the id of one document in a file of records
    chunks: tuple[Chunk, ...]
    unit: Unit
    lines: tuple[Line, ...]
    asked: tuple[Unit, str] | None  # the unit and the numbers of the range; None for the whole document

    @classmethod
    def of(cls, path: str, chunks: tuple[Chunk, ...], asked: tuple[Unit, str] | None = None) -> "NamedDocument":
        """The document with these chunks, which must be all of it, in the order of its text."""
        if all(chunk.line_start is not None for chunk in chunks):
            return cls(path, chunks, "lines", tuple(_file_lines(chunks)), asked)
        has_pages = all(chunk.page is not None for chunk in chunks)
        lines = [
            line
            for part, chunk in enumerate(chunks, start=1)
            for text in (*chunk.body.strip("\n").split("\n"), "")
            for line in _pieces(chunk.page or 0 if has_pages else part, text)
        ]
        return cls(path, chunks, "page" if has_pages else "part", tuple(lines[:-1]), asked)

    @property
    def total(self) -> int:
        """The number of the last line, page or part."""
        return self.lines[-1].number

    def location(self, numbers: str) -> str:
        """The location of a range such as "10-20", as a caller may name it."""
        return f"{self.path}{_SIGNS[self.unit]}{numbers}"

    def positions(self, context: int = 0) -> range:
        """The positions in `lines` of what was asked for, and of `context` lines, pages or parts on each side.

        Raises InputError if the document has no such range.
        """
        if self.asked is None:
            return range(len(self.lines))
        unit, numbers = self.asked
        plural = _PLURALS[self.unit]
        if unit != self.unit:
            raise InputError(
                f"{self.path:.200} has {plural}, not {_PLURALS[unit]}.", f"Use for example {self.location('1')}."
            )
        start, dash, end = numbers.partition("-")
        first, last = int(start), int(end or 10**9) if dash else int(start)
        if not 1 <= first <= last:
            raise InputError(f"There is no range {numbers}.", "Numbers start at 1, and the smaller one comes first.")
        if first > self.total:
            raise InputError(f"{self.path:.200} has only {self.total:,} {plural}.", "Use a smaller number.")
        found = [at for at, one in enumerate(self.lines) if first - context <= one.number <= last + context]
        return range(found[0], found[-1] + 1) if found else range(0)

    def headings(self) -> list[Heading]:
        """The headings in order. If the document has none, the first line of each chunk replaces them."""
        return list(self._stored_headings()) or [
            Heading(self._number(part, 0), 1, chunk.body.strip().partition("\n")[0].strip()[:MAX_HEADING])
            for part, chunk in enumerate(self.chunks, start=1)
        ]

    def _stored_headings(self) -> Iterator[Heading]:
        """The headings that the chunks have stored, each with its line, or with the first line below it."""
        title = self.chunks[0].title
        if title in self.lines[0].text:
            yield Heading(self.lines[0].number, 1, title[:MAX_HEADING])
        texts = {line.number: line.text for line in reversed(self.lines)}
        seen: set[tuple[str, ...]] = set()
        for part, chunk in enumerate(self.chunks, start=1):
            for row, trail in ((0, chunk.trail), *chunk.places.trails):
                for level in range(1, len(trail) + 1):
                    if trail[:level] not in seen:
                        seen.add(trail[:level])
                        number, text = self._number(part, row), trail[level - 1]
                        near = (one for one in (number, number - 1, number - 2) if text in texts.get(one, ""))
                        own = next(near, number) if self.unit == "lines" else number
                        yield Heading(own, level + 1, text[:MAX_HEADING])

    def _number(self, part: int, row: int) -> int:
        """The number of a line of a chunk, given by its position from 1 on and counted from 0."""
        chunk = self.chunks[part - 1]
        if self.unit == "lines":
            return chunk.line_at(row) or chunk.line_start or 0
        return chunk.page or 0 if self.unit == "page" else part


def index_and_path(indexes: ServedIndexes, name: str | None, typed: str) -> tuple[ServedIndex, str]:
    """The index with this name, and the path `typed` relative to its folder; "" is the folder itself.

    Without a name, the path may begin with that of its index, as in the answer of a search of several indexes. Raises
    InputError for an unknown name.
    """
    served = indexes[name]
    for one in indexes:
        prefix = f"{one.name}: "
        if name is None and typed.startswith(prefix):
            served, typed = one, typed.removeprefix(prefix)
            break
    path = Path(typed)
    if path.is_absolute() and path.is_relative_to(served.index.root):
        typed = path.relative_to(served.index.root).as_posix()
    return served, "" if typed in (".", "/") else typed.removeprefix("./").rstrip("/")


def find_document(indexes: ServedIndexes, served: ServedIndex, path: str) -> NamedDocument:
    """The document that `path` names, such as "a.md" or "a.md:10-20"; raises InputError."""
    if chunks := _chunks(served, path):
        return NamedDocument.of(path, chunks)
    location = _LOCATION.fullmatch(path)
    if location and (chunks := _chunks(served, location["path"])):
        return NamedDocument.of(location["path"], chunks, (_UNITS[location["unit"]], location["numbers"]))
    raise _not_found(indexes, served, path)


def has_changed(index: Index, path: str) -> bool:
    """Whether the file, or the archive that contains it, has been modified or removed since it was indexed.

    False if the folder of the index must not be read or cannot be, and for files in a bucket.
    """
    may_read = unconfirmed(index.place, replace(index.trust_request, model=None)).is_empty
    modified = DocumentReader(index).modified({path}).get(path)
    if not may_read or modified is None or not index.root.is_dir() or original_place(index.root / path):
        return False
    found = (index.root / one for one in (path, *map(str, PurePosixPath(path).parents)))
    file = next(one for one in found if one.exists())  # the folder itself, if nothing is left of the path
    return not file.is_file() or file.stat().st_mtime_ns != modified


def entries_of(served: ServedIndex, path: str) -> list[DocumentEntry]:
    """The documents of a file, or of all files below a folder. The list is empty if the path is not indexed."""
    return served.searcher.read(lambda index: DocumentReader(index).entries(path))


def _chunks(served: ServedIndex, path: str) -> tuple[Chunk, ...]:
    """The chunks of a file, or of one document in a file of records. Without such a document there are none."""
    try:
        return served.searcher.read(lambda index: DocumentReader(index).file(path))
    except NotIndexedError:
        return ()


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


def _file_lines(chunks: tuple[Chunk, ...]) -> list[Line]:
    """The lines of the file. Blank lines between two chunks are not stored, so one blank line replaces them."""
    lines: list[Line] = []
    for chunk in chunks:
        start = chunk.line_start or 0
        if lines and start > lines[-1].number + 1:
            lines.append(Line(lines[-1].number + 1, "\n"))
        for row, text in enumerate(chunk.body.rstrip().split("\n")):
            number = chunk.places.number_at(row, start)
            if not row and lines and lines[-1].number >= number:  # a long line of the chunk before it
                number = lines[-1].number
                lines[-1] = Line(number, lines[-1].text.removesuffix("\n") + " ")
            lines += _pieces(number, text)
    return lines


def _pieces(number: int, line: str) -> Iterator[Line]:
    """A line in pieces, which fit into the smallest budget."""
    line += "\n"
    return (Line(number, line[at : at + MAX_PIECE]) for at in range(0, len(line), MAX_PIECE))
