"""Functions that all formats of records use: the search for columns, and the document of a row.

A record is a document of its own, or one of the chunks of a document.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cdesearch.store.schema import text_hash
from indexer.formats.encoding import without_data, without_surrogates
from indexer.formats.format import Document, OpenFile, UnreadableError

TEXT_COLUMNS = ("text", "body", "content", "abstract", "passage", "document")
ID_COLUMNS = ("_id", "id", "doc_id", "docid")
PART = "::"  # a record whose id is `document::chunk` is a chunk of that document
MAX_ID = 1000  # characters
SHOWN_NAMES, SHOWN_CHARACTERS = 10, 200


class NoTextColumnError(UnreadableError):
    """None of the columns has one of the usual names for texts, and the user has named none."""


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """The columns of one file that are read."""

    text: str
    id: str | None
    title: str
    document: str | None

    def names(self) -> list[str]:
        """Their names, each once, with the column of the text first."""
        wanted = (self.text, self.id, self.title, self.document)
        return list(dict.fromkeys(name for name in wanted if name is not None))


def find_columns(names: Mapping[str, Any] | list[str], file: OpenFile) -> FoundColumns:
    """Choose the columns to read among the `names` in a file; raises UnreadableError if one is missing.

    The names in `file.columns` that are found are added to `file.chosen`.
    """
    columns = file.columns
    for name in (columns.text, columns.id, columns.title, columns.document):
        if name is not None and name in names:
            file.chosen.add(name)
    for wanted, option in ((columns.text, "--text-column"), (columns.document, "--document-column")):
        if wanted is not None and wanted not in names:
            raise UnreadableError(f"no column {listed([wanted])} ({option}); there are: {listed(names)}")
    text = columns.text or next((name for name in TEXT_COLUMNS if name in names), None)
    if text is None:
        raise NoTextColumnError(f"no text column among: {listed(names)} (--text-column)")
    identity = columns.id or next((name for name in ID_COLUMNS if name in names), None)
    return FoundColumns(text, identity, columns.title or "title", columns.document)


def row_documents(file: OpenFile, rows: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    """The documents of rows that all have the same columns."""
    for number, row in enumerate(rows, start=1):
        yield record_document(file.path, row, find_columns(row, file), number)


def record_document(path: str, row: Mapping[str, Any], found: FoundColumns, number: int) -> Document:
    """The document of one row; its id is `number` if it has none of its own."""
    given = row.get(found.id) if found.id else None
    identity = _text(number if given is None else given)
    named = row.get(found.document) if found.document is not None else identity.partition(PART)[0]
    document = identity if named in (None, "") else _text(named)
    title, text = _text(row.get(found.title)), _text(row.get(found.text))
    if not text.strip():
        text = title  # a record that only has a title can be found by it
    return Document(f"{path}#{_short(document)}", path, title, text, "text", record=_short(identity))


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return without_data(without_surrogates(str(value)))
    except (RecursionError, ValueError):  # nested as deep as JSON may be, or a number of thousands of digits
        raise UnreadableError("a value that is nested too deep") from None


def _short(identity: str) -> str:
    """An id of at most MAX_ID characters unchanged, and the beginning and a hash of a longer one."""
    return identity if len(identity) <= MAX_ID else f"{identity[:MAX_ID]}...{text_hash(identity)}"


def listed(names: Iterable[object]) -> str:
    """Names from a file, joined for a message: at most SHOWN_NAMES of them and SHOWN_CHARACTERS in all."""
    first = islice(names, SHOWN_NAMES + 1)
    shown = [" ".join(str(name)[:SHOWN_CHARACTERS].split()) for name in first]
    text = ", ".join(shown[:SHOWN_NAMES])
    is_cut = len(shown) > SHOWN_NAMES or len(text) > SHOWN_CHARACTERS
    return text[:SHOWN_CHARACTERS] + (", ..." if is_cut else "")
