"""The headings of a document, found in its stored chunks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cdesearch.serve.mcp.document_lines import DocumentLines
from cdesearch.store.schema import Chunk

LABEL = 100  # characters of a heading, or of the first line of a part without headings

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
    """The headings of a document in order. Without any, the first line of each chunk stands for a heading."""
    document = DocumentLines.of(chunks)
    above = {title for chunk in chunks for title in (chunk.title, *chunk.trail)}
    for found in (_marked(document), _underlined(document)):
        headings = list(found)
        # A line that begins with # is a comment in many languages: some heading must also be known as one.
        if any(heading.text in above for heading in headings):
            return [replace(heading, text=heading.text[:LABEL]) for heading in headings]
    numbers = _numbers(chunks, document)
    return list(_from_trails(chunks, numbers)) or list(_first_lines(chunks, numbers))


def _marked(document: DocumentLines) -> Iterator[Heading]:
    """The lines that begin with # outside of blocks of code."""
    is_code = False
    for line in document.lines:
        if _FENCE.match(line.text):
            is_code = not is_code
        elif not is_code and (match := _ATX.fullmatch(line.text.rstrip())):
            yield Heading(line.number, len(match[1]), match[2].rstrip(" \t#"))


def _underlined(document: DocumentLines) -> Iterator[Heading]:
    """The lines above a line of marks that is as long. The first kind of mark is that of the highest level."""
    levels: dict[str, int] = {}
    for above, line in pairwise(document.lines):
        marks, title = line.text.rstrip(), above.text.strip()
        if title and _MARKS.fullmatch(marks) and len(marks) >= len(title) and not _MARKS.fullmatch(title):
            yield Heading(above.number, levels.setdefault(marks[0], len(levels) + 1), title)


def _from_trails(chunks: Sequence[Chunk], numbers: Sequence[int]) -> Iterator[Heading]:
    """The headings that are known to be above chunks, each where the first chunk below it starts."""
    seen: set[tuple[str, ...]] = set()
    for number, chunk in zip(numbers, chunks, strict=True):
        for level in range(1, len(chunk.trail) + 1):
            if chunk.trail[:level] not in seen:
                seen.add(chunk.trail[:level])
                yield Heading(number, level, chunk.trail[level - 1][:LABEL])


def _first_lines(chunks: Sequence[Chunk], numbers: Sequence[int]) -> Iterator[Heading]:
    for number, chunk in zip(numbers, chunks, strict=True):
        yield Heading(number, 1, chunk.body.strip().partition("\n")[0].strip()[:LABEL])


def _numbers(chunks: Sequence[Chunk], document: DocumentLines) -> list[int]:
    """Where each chunk starts, in the unit of the document."""
    if document.unit == "lines":
        return [chunk.line_start or 0 for chunk in chunks]
    return [chunk.page or 0 for chunk in chunks] if document.unit == "page" else [*range(1, len(chunks) + 1)]
