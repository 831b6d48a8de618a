"""Find the headings of a document in its stored chunks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cdesearch.serve.mcp.document_lines import DocumentLines
from cdesearch.store.schema import Chunk

MAX_HEADING = 100  # characters

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_MARKS = re.compile(r"([=\-~^*+#\"'`.:_])\1{2,}")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, or the first line of a part if the document has no headings."""

    number: int  # of its line, page or part
    level: int  # from 1
    text: str


def headings_of(chunks: Sequence[Chunk]) -> list[Heading]:
    """Return the headings of a document in order. If it has none, the first line of each chunk replaces them."""
    document = DocumentLines.of(chunks)
    above = {title for chunk in chunks for title in (chunk.title, *chunk.trail)}
    for found in (_marked(document), _underlined(document)):
        headings = list(found)
        # In many programming languages, a line that begins with # is a comment. The lines are therefore used only if
        # the chunks name at least one of them as a heading.
        if any(heading.text in above for heading in headings):
            return [replace(heading, text=heading.text[:MAX_HEADING]) for heading in headings]
    numbers = _numbers(chunks, document)
    return list(_from_trails(chunks, numbers)) or list(_first_lines(chunks, numbers))


def _marked(document: DocumentLines) -> Iterator[Heading]:
    """Yield the lines that begin with # outside of fenced code blocks."""
    is_code = False
    for line in document.lines:
        if _FENCE.match(line.text):
            is_code = not is_code
        elif not is_code and (match := _ATX.fullmatch(line.text.rstrip())):
            yield Heading(line.number, len(match[1]), match[2].rstrip(" \t#"))


def _underlined(document: DocumentLines) -> Iterator[Heading]:
    """Yield the lines that are underlined by a line of marks, as in reStructuredText.

    The mark that is used first is that of the highest level.
    """
    levels: dict[str, int] = {}
    for above, line in pairwise(document.lines):
        marks, title = line.text.rstrip(), above.text.strip()
        if title and _MARKS.fullmatch(marks) and len(marks) >= len(title) and not _MARKS.fullmatch(title):
            yield Heading(above.number, levels.setdefault(marks[0], len(levels) + 1), title)


def _from_trails(chunks: Sequence[Chunk], numbers: Sequence[int]) -> Iterator[Heading]:
    """Yield the headings that the chunks have stored, each with the first line below it, or its page or part."""
    seen: set[tuple[str, ...]] = set()
    for start, chunk in zip(numbers, chunks, strict=True):
        for row, trail in ((0, chunk.trail), *chunk.places.trails):
            number = start if chunk.line_start is None else chunk.line_at(row) or start
            for level in range(1, len(trail) + 1):
                if trail[:level] not in seen:
                    seen.add(trail[:level])
                    yield Heading(number, level, trail[level - 1][:MAX_HEADING])


def _first_lines(chunks: Sequence[Chunk], numbers: Sequence[int]) -> Iterator[Heading]:
    for number, chunk in zip(numbers, chunks, strict=True):
        yield Heading(number, 1, chunk.body.strip().partition("\n")[0].strip()[:MAX_HEADING])


def _numbers(chunks: Sequence[Chunk], document: DocumentLines) -> list[int]:
    """Return the line, page or part at which each chunk starts."""
    if document.unit == "lines":
        return [chunk.line_start or 0 for chunk in chunks]
    return [chunk.page or 0 for chunk in chunks] if document.unit == "page" else [*range(1, len(chunks) + 1)]
