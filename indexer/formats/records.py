"""Functions that all formats of records use: the search for columns, and the documents of rows.

A record is a document of its own, or one of the chunks of a document.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from cdesearch.store.schema import text_hash
from indexer.formats.encoding import without_data, without_surrogates
from indexer.formats.fields import MOST_NUMBERS, fields_of
from indexer.formats.format import Document, Fields, OpenFile, UnreadableError
from indexer.formats.html import without_tags

TEXT_COLUMNS = ("text", "body", "content", "abstract", "passage", "document")
ID_COLUMNS = ("_id", "id", "doc_id", "docid")
PART = "::"  # a record whose id is `document::chunk` is a chunk of that document
MAX_ID = 1000  # characters
_WORD = re.compile(r"[^\W\d_]{2}")
SHOWN_NAMES, SHOWN_CHARACTERS = 10, 200
MOST_WITHOUT_WORDS = 10_000  # rows of a file, which may be millions of measurements


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """The columns of one file that are read."""

    text: str | None  # None if all columns are the text
    id: str | None
    title: str
    document: str | None


def find_columns(names: Mapping[str, Any] | list[str], file: OpenFile) -> FoundColumns:
    """Choose the columns to read among the `names` in a file; raises UnreadableError if a chosen one is missing.

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
    identity = columns.id or next((name for name in ID_COLUMNS if name in names), None)
    return FoundColumns(text, identity, columns.title or "title", columns.document)


Row = tuple[int, int, FoundColumns, Sequence[tuple[str, Any]]]  # its number, its line, and its columns with values


def row_documents(file: OpenFile, rows: Iterable[Row]) -> Iterator[Document]:
    """The document of each row. Without a column of text, all columns are the text of a row, which has its line.

    The other columns follow a column of text that the user did not choose, except the metadata of test collections.

    Each row is a chunk. Rows that share chunks take as much time to embed, and their questions find half as many.
    """
    n_without_words = 0
    for number, line, found, columns in rows:
        row = dict(columns)
        used = (found.text, found.id, found.title, found.document, "")
        fields = tuple(fields_of((name, value) for name, value in columns if name not in used))
        record = record_document(file.path, row, found, number, fields)
        is_all = found.text is None
        others = [column for column in columns if is_all or column[0] not in (*used[:-1], "metadata")]
        values = [(name, without_tags(_text(value)).strip()) for name, value in _flat(others)]
        named = " - ".join(f"{name}: {value}" if name else value for name, value in values if value)
        text = " ".join(named.split())  # a name of a column may have several lines, too
        if not is_all:
            texts = [record.text, "" if file.columns.text else text]
            yield replace(record, text="\n\n".join(filter(None, texts)), line_numbers=(line,))
            continue
        has_words = any(_WORD.search(value) for _, value in values)
        n_without_words += not has_words
        if n_without_words > MOST_WITHOUT_WORDS and not has_words:
            file.left_out.add(line, "has no words")
        elif text:
            has_name = found.document is not None or (found.id is not None and row.get(found.id) is not None)
            name = record.record if has_name else None
            title = record.title or file.name
            yield replace(record, title=title, text=text, record=name, has_lines=True, line_numbers=(line,))


def _flat(columns: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The columns, with those of objects in the place of the objects, and lists of plain values in one text."""
    for name, value in columns:
        if isinstance(value, dict):
            yield from _flat((f"{name}.{key}" if name else key, inner) for key, inner in value.items())
        elif not isinstance(value, list):
            yield name, value
        elif any(isinstance(one, dict | list) for one in value):
            yield from _flat((name, one) for one in value)
        elif len(value) <= MOST_NUMBERS or any(isinstance(one, str) for one in value):
            yield name, ", ".join(map(_text, value))


def record_document(path: str, row: Mapping[str, Any], found: FoundColumns, number: int, fields: Fields) -> Document:
    """The document of one row; its id is `number` if it has none of its own."""
    given = row.get(found.id) if found.id else None
    identity = _text(number if given is None else given)
    named = row.get(found.document) if found.document is not None else identity.partition(PART)[0]
    document = identity if named in (None, "") else _text(named)
    title, text = _text(row.get(found.title)), _text(row.get(found.text or ""))
    if not text.strip():
        text = title  # a record that only has a title can be found by it
    return Document(f"{path}#{_short(document)}", path, title, text, "text", record=_short(identity), fields=fields)


def _text(value: Any) -> str:
    if value is None or isinstance(value, bytes):
        return ""
    try:
        return without_data(without_surrogates(_joined(value)))
    except (RecursionError, ValueError):  # nested as deep as JSON may be, or a number of thousands of digits
        raise UnreadableError("a value that is nested too deep") from None


def _joined(value: Any) -> str:
    """The text of a value. Chats with models have lists of objects, which are texts and calls of tools."""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_joined, value)))
    if not isinstance(value, dict):
        return str(value)
    named = [(name, _text(inner)) for name, inner in _flat(value.items()) if (name, inner) != ("type", "text")]
    return " - ".join(inner if name in TEXT_COLUMNS else f"{name}: {inner}" for name, inner in named if inner)


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
