"""The protocol of file formats: the names of their files, and how an open file becomes documents."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from io import BufferedIOBase, BytesIO
from math import inf
from pathlib import PurePosixPath
from time import process_time
from typing import Any, ClassVar, Literal, Protocol, Self

from cdesearch.store.schema import Inline
from indexer.formats.byproducts import secret_rule

SHOWN_LINES = 3  # of the lines of a file that cannot be read
MOST_FAILED = 10  # parts of a file that may end a worker, until all parts after them are left out
LEAST = 100  # characters for which a document in a part counts at least
MAX_TITLE = 500  # characters of a title or heading; every chunk stores its titles

# The mark of a note after a word, with or without a sign, or after a year, and not after a unit such as km. Those of
# endnotes are small Roman numbers.
NOTE_MARK = re.compile(
    r"(?:(?:(?<=[^\W\d_]{2})(?<!\b[cdkmnµμ]m)(?<!\bft)(?<!\bin)|(?<=[^\W\d_]{3}[.,;:!?)\u201d\u2019\"])"
    r"|(?<=\b(?:19|20)\d\d)|(?<=%))\d{1,3}|(?<=[^\W\d_]{3})[ivx]{1,4})(?!\w)"
)
_NUMBER = re.compile(r"\.(?:(?:log|out|err)[-_])?\d[\dt:_-]*")
_DELIVERED = re.compile(r"\d{9,11}\.(?:\d+(?:_\d+)?|(?:[A-Z][0-9A-Fa-f]+)+)\.")  # with the time, and a number

Layout = Literal["markdown", "text", "code"]
Fields = tuple[tuple[str, str], ...]  # names and values; a name may have several values


class UnreadableError(Exception):
    """A file cannot be read; the message is the reason, for the list of skipped files."""


class GeneratedError(UnreadableError):
    """A file was written by a program for programs; the message is the rule that ignores it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading and where it begins in the text of its document."""

    offset: int  # in characters
    level: int  # 1 for the outermost
    title: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """The id of an element, with which a link opens a page there, and where the element begins in the text.

    In a sheet, an anchor names the cells of a row, such as A7:D7.
    """

    offset: int  # in characters
    name: str


@dataclass(frozen=True, slots=True)
class Document:
    """One document: a whole file, or one record of a file of records."""

    id: str  # the path, or path#document of a record
    path: str
    title: str
    text: str
    layout: Layout  # the structure along which the text is split into chunks
    language: str | None = None  # of code: the name of its tree-sitter grammar
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()  # offsets where pages start, for formats that have pages
    anchors: tuple[Anchor, ...] = ()  # in the order of the text
    inlines: tuple[Inline, ...] = ()  # in the order of the text
    has_lines: bool = False  # whether lines of `text` are lines of the file, or rows of a sheet
    # The numbers of the lines of `text`, unless they are 1, 2, 3 and so on. Without lines, that of a record.
    line_numbers: tuple[int, ...] = ()
    record: str | None = None  # the id of a record, which may be one of several chunks of its document
    fields: Fields = ()  # by which searches are filtered

    @classmethod
    def of(cls, file: "OpenFile", title: str, text: str, layout: Layout = "text", **fields: Any) -> Self:
        """The document of a file, or of its `record`. Without a title of its own it has the name of the file."""
        below = f"#{fields['record']}" if fields.get("record") else ""
        return cls(file.path + below, file.path, title or file.name, text, layout, **fields)


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of records that the user chose; None means the usual names."""

    text: str | None = None
    id: str | None = None
    title: str | None = None
    document: str | None = None  # None: the part of the id before `::`

    def options(self) -> dict[str, str]:
        """The names of columns that are set, by their options, such as "--text-column"."""
        return {f"--{column}-column": name for column, name in asdict(self).items() if name}


@dataclass(slots=True)
class LeftOut:
    """Counts the lines or other parts that cannot be read in a file, and keeps what is wrong with the first ones."""

    n_lines: int = 0
    first: list[str] = field(default_factory=list)  # numbers of lines, and what is wrong with each
    unit: str = "line"

    def add(self, number: int | str, problem: str, unit: str = "line") -> None:
        """Count a part by its number or name; `problem` completes a sentence that begins with "line 7"."""
        self.unit = unit
        if self.n_lines < SHOWN_LINES:
            self.first.append(f"{unit} {number} {problem}")
        self.n_lines += 1

    @property
    def problems(self) -> str:
        """The first problems, and how many more there are."""
        more = self.n_lines - len(self.first)
        return "; ".join([*self.first, *([f"and {more:,} more"] if more else [])])

    def __str__(self) -> str:
        if not self.n_lines:
            return ""
        return f"{self.n_lines:,} {self.unit}{'s' if self.n_lines > 1 else ''} left out: {self.problems}"


@dataclass(slots=True)
class Parts:
    """The parts of a file that is read, such as attachments: which of them are left out, and how long they take.

    A file is read again without a part that has ended its worker. What comes before this part has been passed on
    already, and must be read as before. So whether another part is read depends on the others only if it comes later.
    """

    failed: Mapping[str, str] = field(default_factory=dict)  # how parts have ended a worker
    most_seconds: float = inf
    seconds: float = 0.0  # of the processor for all parts, also when the file was read before
    tell: Callable[[str, float], None] = lambda *_: None  # is called with the part that is read now, and `seconds`
    _numbers: list[int] = field(default_factory=lambda: [0])  # of the last part of the file, of the last one in it, ...
    _since: float = 0.0

    def begin(self) -> str:
        """Begin the next part, which may be inside another one; returns why it is left out instead, or ""."""
        self._measure()
        self._numbers[-1] += 1
        part = _ordered(self._numbers)
        reason = self.failed.get(part, "")
        if part > max(self.failed, default=""):
            if len(self.failed) >= MOST_FAILED:
                reason = f"{MOST_FAILED} others have failed"
            elif self.seconds > self.most_seconds:
                reason = f"the others took longer than {self.most_seconds:,.0f} s"
        if not reason:
            self._numbers.append(0)
            self.tell(part, self.seconds)
        return reason

    def end(self) -> None:
        """End the part that was begun last."""
        self._measure()
        self._numbers.pop()
        self.tell(_ordered(self._numbers[:-1]), self.seconds)

    def _measure(self) -> None:
        now = process_time()
        self.seconds += now - self._since if len(self._numbers) > 1 else 0.0
        self._since = now


def _ordered(numbers: list[int]) -> str:
    """Numbers as a text that is ordered as they are; "" for none."""
    return "/".join(f"{number:09}" for number in numbers)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that a format reads."""

    path: str  # relative to the root of the index, "/" between parts
    stream: BufferedIOBase  # at its start
    columns: Columns
    left_out: LeftOut  # a format of records adds the lines that it cannot read
    chosen: set[str] = field(default_factory=set)  # a format of records adds the names in `columns` that it finds
    fields: list[tuple[str, str]] = field(default_factory=list)  # a format adds those that all documents in it have
    is_wanted: bool = False  # whether it is read although a program has written it
    is_in_archive: bool = False
    has_ocr: bool = False  # whether the text of scanned pages and images is recognised
    progress: Callable[[], None] = lambda: None  # a format that takes long for a file calls it again and again
    parts: Parts = field(default_factory=Parts)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.path).name


class Format(Protocol):
    """A kind of file. Formats inherit from this class, which has the defaults for `names` and `streams`."""

    suffixes: ClassVar[frozenset[str]]  # in lower case, with the dot
    names: ClassVar[frozenset[str]] = frozenset()  # whole file names in lower case; they are looked up before suffixes
    streams: bool = False  # whether files are read piece by piece, so that --max-file-size does not apply

    def read(self, file: OpenFile) -> Iterator[Document]:
        """Yield the documents in `file`.

        Raises UnreadableError with the reason that the user will see. Any other exception is reported as a failure of
        the parser; the file is skipped in both cases. GeneratedError names the rule that ignores the file.
        """


ReadFile = Callable[[OpenFile], Iterator[Document]]


def read_part(
    file: OpenFile, inside: OpenFile, name: str, data: Callable[[], bytes], read: ReadFile, most: float = inf
) -> list[Document]:
    """The documents of a part of a file, such as an attachment, up to `most` characters; `inside` is the part.

    Whatever cannot be read, even if it ends the worker, is left out of `file` and counted.
    """
    unit = "file" if inside.is_in_archive else "part"
    found: list[Document] = []
    if reason := file.parts.begin():
        file.left_out.add(name, f"could not be read: {reason}", unit)
        return found
    try:
        opened = replace(inside, stream=BytesIO(data()), left_out=LeftOut())
        for document in read(opened):
            most -= max(len(document.text), LEAST)
            if most < 0:
                raise UnreadableError("all attachments together have too much text")
            found.append(document)
        problem = f"has {opened.left_out}" if opened.left_out.n_lines else ""
    except MemoryError:
        raise
    except UnreadableError as error:
        is_ignored = isinstance(error, GeneratedError) and inside.is_in_archive  # as it is outside of archives
        problem = "" if is_ignored else f"cannot be read: {error}"
    except Exception as error:  # parsers raise many errors; only this part is lost
        problem = f"cannot be read: its parser failed ({type(error).__name__})"
    if problem:
        file.left_out.add(name, problem, unit)
    file.parts.end()
    return found


def documents_inside(
    file: OpenFile, name: str, data: Callable[[], bytes], read: ReadFile, most: float = inf
) -> Iterator[Document]:
    """The documents of a file that another one has attached, whose name follows "#" in their ids; see `read_part`."""
    last = name.rpartition("/")[2]
    if rule := secret_rule(name, is_folder=False):
        file.left_out.add(name, f"is not read: {rule}", "part")
        return
    inside = replace(file, path=last, chosen=set(), fields=[])
    for document in read_part(file, inside, name, data, read, most):
        below = document.id.removeprefix(last)  # of a record in the attachment
        whole = name + document.path.removeprefix(last)  # of a file in an archive
        record = whole if document.record is None else f"{whole}#{document.record}"
        fields = (*inside.fields, *document.fields)
        yield replace(document, id=f"{file.path}#{name}{below}", path=file.path, record=record, fields=fields)


def suffix_of(name: str) -> str:
    """The suffix in lower case, "" for none.

    Neither a number or the date of an old log counts as one, as in `Apache-2.0`, `man.1` or `app.log-20240131`, nor the
    end of a host's name, as in a Maildir.
    """
    if name[:9].isdigit() and _DELIVERED.match(name):
        return ""
    start = name.rfind(".")  # as PurePath.suffix, which takes ten times as long
    suffix = name[start:].lower() if 0 < start < len(name) - 1 else ""
    return "" if suffix[-1:].isdigit() and _NUMBER.fullmatch(suffix) else suffix
