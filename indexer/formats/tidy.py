"""What is done to the documents of all formats: characters become those of queries, front matter leaves the text."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from cdesearch.words.characters import normal
from indexer.formats.encoding import without_surrogates
from indexer.formats.fields import bounded
from indexer.formats.format import MAX_TITLE, Document, LeftOut
from indexer.formats.front_matter import without_front_matter

_PRIVATE_KEY = re.compile(
    r"-{0,5}BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:[^-]|-(?!----)){40,50000}-----END \1-{0,5}|(?:\s*[A-Za-z0-9+/=]{16,100}(?![\w+/]))+)"  # or it is cut off
)


def tidy(document: Document, problems: dict[str, str]) -> Document:
    """The document without front matter, with the characters of queries, and with a title and fields of bounded length.

    The fields that are cut are added to `problems`.
    """
    document = without_front_matter(document)
    title = _clean(document.title)[:MAX_TITLE]
    headings = tuple(replace(one, title=_clean(one.title)) for one in document.headings)
    fields = bounded(document.fields, problems) if document.fields else ()
    tidied = replace(document, title=title, headings=headings, fields=fields)
    return tidied if _clean(document.text) == document.text else _changed(tidied, _clean)


def without_private_keys(document: Document, left_out: LeftOut) -> Document:
    """The document with "…" for each private key, which is counted in `left_out`."""

    def left(found: re.Match[str]) -> str:
        line = document.text.count("\n", 0, found.start())
        numbers = document.line_numbers or range(1, line + 2)
        left_out.add(f"in line {numbers[line]}" if document.has_lines else "in the text", "is not read", "private key")
        return "…" + re.sub(r"[^\n]", "\0", found[0][1:])  # of the same length, so that places in the text stay right

    if any("PRIVATE KEY" in text for text in (document.title, *(value for _, value in document.fields))):
        title = _PRIVATE_KEY.sub("…", document.title)
        fields = tuple((name, _PRIVATE_KEY.sub("…", value)) for name, value in document.fields)
        document = replace(document, title=title, fields=fields)
    if "PRIVATE KEY" not in document.text or _PRIVATE_KEY.search(document.text) is None:
        return document
    return _changed(replace(document, text=_PRIVATE_KEY.sub(left, document.text)), lambda text: text.replace("\0", ""))


def _changed(document: Document, change: Callable[[str], str]) -> Document:
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
