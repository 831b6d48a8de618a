"""What is done to the documents of all formats: characters become those of queries, front matter leaves the text."""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter

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
    text = document.text
    return tidied if _clean(text) == text else _changed(tidied, lambda start, end: _clean(text[start:end]))


def without_private_keys(document: Document, left_out: LeftOut) -> Document:
    """The document with "…" for each private key, which is counted in `left_out`."""
    if any("PRIVATE KEY" in text for text in (document.title, *(value for _, value in document.fields))):
        title = _PRIVATE_KEY.sub("…", document.title)
        fields = tuple((name, _PRIVATE_KEY.sub("…", value)) for name, value in document.fields)
        document = replace(document, title=title, fields=fields)
    text = document.text
    keys = [found.span() for found in _PRIVATE_KEY.finditer(text)] if "PRIVATE KEY" in text else []
    for start, _ in keys:
        line = text.count("\n", 0, start)
        numbers = document.line_numbers or range(1, line + 2)
        left_out.add(f"in line {numbers[line]}" if document.has_lines else "in the text", "is not read", "private key")

    def left(start: int, end: int) -> str:
        """A piece of the text, which may have a part of a key that other pieces continue."""
        kept = []
        for begin, stop in keys[bisect_right(keys, start, key=itemgetter(1)) :]:
            if begin >= end:
                break
            first, last = max(start, begin), min(end, stop)
            kept += [text[start:first], "…" * (first == begin), "\n" * text.count("\n", first, last)]
            start = last
        return "".join(kept) + text[start:end]

    return _changed(document, left) if keys else document


def _changed(document: Document, change: Callable[[int, int], str]) -> Document:
    """The document after a change of the pieces of its text, by where they begin and end; they keep their lines."""
    places = {one.offset for one in document.headings} | {one.offset for one in document.anchors} | {*document.pages}
    starts = sorted({0, *(offset for offset in places if offset > 0)})
    moved, pieces, size = {}, [], 0
    for start, end in pairwise([*starts, len(document.text)]):
        moved[start] = size
        pieces.append(change(start, end))
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
