"""Split the text of a chunk into sentences, with the structure around them: headings, list items, tables and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["prose", "heading", "row", "code"]

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6} |[=\-~^*]{3,}\s*$")  # also the line of marks below a title
# The start of a list item, or of what a speaker says: "Mary Smith: ".
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+|[A-Z][\w .'()-]{0,40}: ")
_ROW = re.compile(r"\s*\|.*\|\s*$")
# Lines that prose rarely has. A paragraph is code if at least half of its lines are like that.
_CODE = re.compile(
    r"(?:\t| {4,})\S|.*[{};]\s*$|\s*[)\]}]+[,;:]?\s*$|.*\):\s*$|\s*(?:>>>|\$|@\w)|\s*[\w.\[\]]+ = \S|.*\w\(\S*\)\s*$"
    r"|\s*(?:import|from|return|def|class|if|for|while|else|elif|func|fn|let|const|var|public|private) ?.*[:;{()]\s*$"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or another unit that is shown whole: `text[start:end]`, without blanks around it.

    The rows of a table are units, and so are the paragraphs of code.
    """

    start: int
    end: int
    kind: Kind


def split_sentences(text: str) -> list[Sentence]:
    """The sentences in order. They do not overlap, and every character that is not blank is in one of them."""
    found: list[Sentence] = []
    for start, end, kind in _blocks(text):
        spans = _prose_sentences(text, start, end) if kind == "prose" else [(start, end)]
        found += [Sentence(*span, kind) for one in spans if (span := _stripped(text, *one))]
    return found


def _prose_sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    from sentencex import get_sentence_boundaries

    item = _ITEM.match(text, start, end)
    words = item.end() if item else start  # "1. " is no sentence
    bounds = get_sentence_boundaries("en", text[words:end])
    spans = [(words + bound["start_index"], words + bound["end_index"]) for bound in bounds]
    return [(start, spans[0][1]), *spans[1:]] if spans else [(start, end)]


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return (first, start + len(part.rstrip())) if part.strip() else None


def _blocks(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Paragraphs, list items, headings, rows and code, with their kind. A block ends where the next one starts."""
    lines = [(match.start(), match.group()) for match in _LINE.finditer(text) if match.group()]
    block: list[tuple[int, str]] = []
    fence = ""
    for start, line in lines:
        mark = _FENCE.match(line)
        if fence:
            block.append((start, line))
            if mark and mark[1] == fence:
                yield _whole(block, "code")
                block, fence = [], ""
            continue
        single: Kind | None = "heading" if _HEADING.match(line) else "row" if _ROW.match(line) else None
        if block and (mark or single or not line.strip() or _ITEM.match(line)):
            yield _paragraph(block)
            block = []
        if single:
            yield start, start + len(line), single
        elif line.strip():
            block.append((start, line))
            fence = mark[1] if mark else ""
    if block:
        yield _whole(block, "code") if fence else _paragraph(block)


def _paragraph(block: list[tuple[int, str]]) -> tuple[int, int, Kind]:
    n_code = sum(bool(_CODE.match(line)) for _, line in block)
    is_item = bool(_ITEM.match(block[0][1]))  # the further lines of a list item are indented
    return _whole(block, "code" if n_code * 2 >= len(block) and not is_item else "prose")


def _whole(block: list[tuple[int, str]], kind: Kind) -> tuple[int, int, Kind]:
    return block[0][0], block[-1][0] + len(block[-1][1]), kind
