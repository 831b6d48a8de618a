"""Split the text of a chunk into sentences and other units: headings, list items, table rows and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Literal

from cdesearch.words.detection import language_of
from cdesearch.words.known import ENGLISH

Kind = Literal["prose", "heading", "row", "code"]

_LINE = re.compile(r"[^\n]*\n?")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"#{1,6} |[=\-~^*]{3,}\s*$")  # also the line that underlines a title in reStructuredText
# The start of a list item, or of a statement in a transcript, such as "Mary Smith: ".
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+|[A-Z][\w .'()-]{0,40}: ")
_INSIDE = re.compile(r"\.\w|(?<=\d\.) [a-zß-ÿčďěňřšťůžа-яё]")  # as in "http.Handler" and "3. června"
# In languages that write ordinal numbers with a dot: "im 2. Stock", "USt-IdNr. DE12"
_ORDINAL = re.compile(
    r"(?:(?<=[\s(]\d\.)|(?<=[\s(]\d\d\.)|(?<=Nr\.)) (?!(?:D(?:a|ann|anach|as|er|ie)|E[rs]|I(?:ch|m|n)|Sie|Wir)\b)"
)
_WITH_ORDINALS = frozenset({"cs", "da", "de", "fi", "hu", "no", "pl", "sk", "tr"})
_CLOSING = re.compile(r"[*_`)\]\"'\u201d\u2019\u00bb]+(?=\s)")
_NUMBERED = re.compile(r"\s*[\[(]?\d[\d.:/-]*")  # the date or the time at the start of each line of a diary
_ROW = re.compile(r"\s*\|.*\|\s*$")
# The end of a row of a table without lines, as in a PDF, such as "Rye bread 500 g 5.20". No row is longer than MAX_ROW.
_VALUE = r"[-+(]?[$€£¥]?\d(?:[\d.,:/'-]*[\d-])?[%)]?(?: ?(?:[$€£¥%]|[A-Z]{3}|[ckm]?[gml]|h))?"
_VALUES = re.compile(rf"\S\s+{_VALUE}(?P<more>\s+{_VALUE})*\s*$")
MAX_ROW = 120  # characters
# Lines that are rare in prose. A paragraph is code if at least half of its lines match. Indented lines count unless
# several plain words follow each other in the paragraph, or a line is a whole sentence.
_INDENTED = re.compile(r"(?:[ \t]*(?://+|#+|--))?(?:\t| {4,})\S")  # also within a comment
_WORDS = re.compile(r"\b[a-z]+,? [a-z]+,? [a-z]+,? [a-z]+\b")
_SENTENCE = re.compile(r"[A-Z][a-z]+ [a-z]+ .*[.!?]")
_MARK = re.compile(r"//+|#+|\*|--")  # of a comment, at the start of a line
_CODE = re.compile(
    r".*[{};]\s*$|\s*[)\]}]+[,;:]?\s*$|.*\):\s*$|\s*(?:>>>|\$|@\w)|\s*[\w.\[\]]+ = \S|.*\w\(\S*\)\s*$"
    r"|\s*(?:import|from|return|def|class|if|for|while|else|elif|func|fn|let|const|var|public|private) ?.*[:;{()]\s*$"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or another unit that is shown as a whole: a heading, a table row, or a paragraph of code.

    The unit is `text[start:end]`, without white space around it.
    """

    start: int
    end: int
    kind: Kind
    is_first: bool = True  # of its paragraph


def split_sentences(text: str, *, is_sheet: bool = False) -> list[Sentence]:
    """The sentences in order. They do not overlap, and omit only white space and empty lines of comments.

    Each line of a sheet is a row.
    """
    found: list[Sentence] = []
    language = language_of(text) or ENGLISH
    for start, end, kind in _rows(text) if is_sheet else _blocks(text):
        spans = _prose_sentences(text, start, end, language) if kind == "prose" else [(start, end)]
        stripped = [span for one in spans if (span := _stripped(text, *one))]
        found += [Sentence(*span, kind, span == stripped[0]) for span in stripped]
    return found


def _rows(text: str) -> Iterator[tuple[int, int, Kind]]:
    for line in _LINE.finditer(text):
        yield line.start(), line.end(), "row"


def _prose_sentences(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    from sentencex import get_sentence_boundaries

    item = _ITEM.match(text, start, end) or _NUMBERED.match(text, start, end)
    words = item.end() if item else start  # the mark of a list item, such as "1. ", is not a sentence
    # The rules of a language lack abbreviations that those of English know, such as "M." of French.
    both = (get_sentence_boundaries(code, text[words:end]) for code in (language, ENGLISH))
    starts = [words + at for at in sorted(set.intersection(*({one["start_index"] for one in some} for some in both)))]
    starts = starts[:1] + [one for one in starts[1:] if not _INSIDE.match(text, one - 1)]
    if language in _WITH_ORDINALS:
        starts = starts[:1] + [one for one in starts[1:] if not _ORDINAL.match(text, one - 1)]
    # Marks such as the second ** of "**Note.** It" end the sentence before them.
    starts = [start, *((mark.end() if (mark := _CLOSING.match(text, one, end)) else one) for one in starts[1:])]
    return list(pairwise([*starts, end]))


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return (first, start + len(part.rstrip())) if part.strip() else None


def _blocks(text: str) -> Iterator[tuple[int, int, Kind]]:
    """Yield the start, the end and the kind of each paragraph, list item, heading, table row and block of code."""
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
        is_blank = not line.strip() or _is_empty_comment(line, block)
        is_entry = _ITEM.match(line) or (block and _NUMBERED.match(line) and _NUMBERED.match(block[0][1]))
        if block and (mark or single or is_blank or is_entry):
            yield from _paragraphs(block)
            block = []
        if single:
            yield start, start + len(line), single
        elif not is_blank:
            block.append((start, line))
            fence = mark[1] if mark else ""
    if block:
        yield from [_whole(block, "code")] if fence else _paragraphs(block)


def _is_empty_comment(line: str, block: list[tuple[int, str]]) -> bool:
    """Whether a line is the mark of the comment to which the line before it belongs, and nothing else."""
    mark, before = line.strip(), block[-1][1].lstrip() if block else ""
    return bool(_MARK.fullmatch(mark)) and before.startswith((mark, f"/{mark}"))


def _paragraphs(block: list[tuple[int, str]]) -> Iterator[tuple[int, int, Kind]]:
    """Yield the rows of a table in a paragraph one by one, and the text around them, or the whole paragraph."""
    whole = _paragraph(block)
    ends = [None if line.lstrip()[:1].islower() or len(line) > MAX_ROW else _VALUES.search(line) for _, line in block]
    around = zip([None, *ends], ends, [*ends[1:], None], strict=False)
    are_rows = [bool(own and (own["more"] or above or below)) for above, own, below in around]
    if whole[2] == "code" or _ITEM.match(block[0][1]):
        yield whole
        return
    for is_row, lines in groupby(zip(are_rows, block, strict=True), key=itemgetter(0)):
        part = [line for _, line in lines]
        yield from (_whole([line], "row") for line in part) if is_row else [_whole(part, "prose")]


def _paragraph(block: list[tuple[int, str]]) -> tuple[int, int, Kind]:
    is_worded = any(_WORDS.search(line) or _SENTENCE.fullmatch(line.strip()) for _, line in block)
    n_code = sum(bool(_CODE.match(line) or (_INDENTED.match(line) and not is_worded)) for _, line in block)
    is_item = bool(_ITEM.match(block[0][1]))  # later lines of a list item are indented, which would look like code
    return _whole(block, "code" if n_code * 2 >= len(block) and not is_item else "prose")


def _whole(block: list[tuple[int, str]], kind: Kind) -> tuple[int, int, Kind]:
    return block[0][0], block[-1][0] + len(block[-1][1]), kind
