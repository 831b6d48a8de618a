"""What is done to the documents of all formats: characters become those of queries, front matter leaves the text."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from cdesearch.words.characters import normal
from indexer.formats.encoding import without_surrogates
from indexer.formats.fields import bounded
from indexer.formats.format import MAX_TITLE, Document
from indexer.formats.front_matter import without_front_matter


def tidy(document: Document, problems: dict[str, str]) -> Document:
    """The document without front matter, with the characters of queries, and with a title and fields of bounded length.

    The fields that are cut are added to `problems`.
    """
    document = without_front_matter(document)
    title = _clean(document.title)[:MAX_TITLE]
    headings = tuple(replace(one, title=_clean(one.title)) for one in document.headings)
    fields = bounded(document.fields, problems) if document.fields else ()
    tidied = replace(document, title=title, headings=headings, fields=fields)
    return tidied if _clean(document.text) == document.text else changed(tidied, _clean)


def changed(document: Document, change: Callable[[str], str]) -> Document:
    """The document after a change of the pieces between the places in its text, which keep their lines."""
    places = {one.offset for one in document.headings} | {one.offset for one in document.anchors} | {*document.pages}
    starts = sorted({0, *(offset for offset in places if offset > 0)})
    moved, pieces, size = {}, [], 0
    for start, end in pairwise([*starts, len(document.text)]):
        moved[start] = size
        pieces.append(change(document.text[start:end]))
        size += len(pieces[-1])
    return replace(
        document,
        text="".join(pieces),
        headings=tuple(replace(one, offset=moved.get(one.offset, one.offset)) for one in document.headings),
        anchors=tuple(replace(one, offset=moved.get(one.offset, one.offset)) for one in document.anchors),
        pages=tuple(moved[page] for page in document.pages),
    )


def _clean(text: str) -> str:
    return normal(without_surrogates(text))
