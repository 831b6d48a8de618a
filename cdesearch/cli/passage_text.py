"""Passages as compact text for language models and scripts."""

from collections.abc import Sequence

from cdesearch.search.passages import Passage
from cdesearch.terminal import printable

SEPARATOR = " > "


def passages_as_text(passages: Sequence[Passage]) -> str:
    """The passages in their order, each with its number, its location and its headings in one line above it."""
    blocks = (
        f"[{number}] {printable(passage_heading(passage))}\n{readable(passage.text)}"
        for number, passage in enumerate(passages, start=1)
    )
    return "\n\n".join(blocks)


def passage_heading(passage: Passage) -> str:
    """The location and the headings of a passage."""
    return "  ".join(part for part in (_location(passage), headings_of(passage)) if part)


def headings_of(passage: Passage) -> str:
    """The title and the headings above the start of a passage."""
    return SEPARATOR.join(part for part in (passage.title, *passage.trail) if part)


def span(first: int | None, last: int | None) -> str | None:
    """A range of lines, pages or parts, such as "7" or "7-12"; None if there is no first one."""
    if first is None:
        return None
    return str(first) if last is None or last == first else f"{first}-{last}"


def readable(text: str) -> str:
    """`text` with its lines and tabs, and with every other unsafe character written as an escape."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines)


def _location(passage: Passage) -> str:
    """`path:first-last`, `path#page=n`, or the document's id, which is the path and, of a record, its name."""
    if passage.page is not None:
        return f"{passage.path}#page={span(passage.page, passage.page_end)}"
    if passage.line_start is not None:
        return f"{passage.path}:{span(passage.line_start, passage.line_end)}"
    return passage.document_id
