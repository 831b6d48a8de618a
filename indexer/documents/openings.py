"""Find the last lines of a piece that open the text after it, and the licence with which code begins.

Such lines are the term above its definition, a heading, a comment, a decorator, the line of a class or function, or the
start of a sentence that goes on.
"""

import re
from collections.abc import Container

from indexer.formats.format import Document

MAX_TERM = 80  # characters of a term, an option or a question
MAX_TERMS = 4  # that follow each other, such as a heading and the first term below it
MAX_SENTENCE = 300  # characters of a sentence that are moved to its end
MAX_LINES = 12  # of a signature with its comments and decorators
MAX_LINE = 1_000  # characters before an offset in which the start of its line is looked for
MIN_LICENCE = 300  # characters; a shorter one hardly changes the vector of a chunk

# A line, perhaps underlined, that is no list item, row of a table, quotation or code block, and no sentence
_TERM = re.compile(
    rf" {{0,2}}(?![-*+|>~\s]|```|\d+[.)]\s)(?=[^\n]*\w)[^\n]{{1,{MAX_TERM}}}(?<![.!;,…|\\])"
    r"(?:\n([-=~^\"'`#*+.:])\1{2,})?"
)
_SENTENCE_END = re.compile(r"[.!?][\"'\u201d\u2019)\]]*\s+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_DESCRIPTION = re.compile(r"[ \t]*(?:#(?!include|define|endif|else|if)|//|--|;|/?\*|@)")
_COMMENT = re.compile(r"(?:[ \t]*(?:#|//|--|;|%)[^\n]*\n)+|[ \t]*/\*[^*]*\*+(?:[^/*][^*]*\*+)*/[ \t]*\n")
_BLANKS = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")
_LICENCE = re.compile(r"copyright|licen[cs]e|all rights reserved", re.IGNORECASE)


def licence_end(document: Document) -> int:
    """The offset after the comments about a licence with which code begins; 0 if there are none, or nothing else."""
    if document.layout != "code":
        return 0
    text, offset, end = document.text, 0, 0
    while match := _COMMENT.match(text, offset):
        if _LICENCE.search(match[0]):
            end = match.end()
        offset = _blank_end(text, match.end())
    return end if end >= MIN_LICENCE and _blank_end(text, end) < len(text) else 0


def opening_start(document: Document, headings: Container[int], piece: tuple[int, int], following: int) -> int:
    """Where the last lines of a piece begin that open the text at `following`; the end of the piece if there are none.

    `piece` is its first offset and the offset after it; `headings` are the offsets of headings.
    """
    text, (start, end) = document.text, piece
    if document.layout == "code":
        return _code_opening(text, start, end, following)
    found = end
    if not _BLANK_LINE.search(text, end, following):  # the paragraph continues
        is_within = text[following].islower() and not _SENTENCE_END.match(text, end - 1)
        return _sentence(text, start, end) if is_within else end
    for _ in range(MAX_TERMS):
        paragraph = _last_paragraph(text, start, end)
        if _TERM.fullmatch(text, paragraph, end) is None and paragraph not in headings:
            break
        found = paragraph
        end = start + len(text[start:paragraph].rstrip())
    return found


def _sentence(text: str, start: int, end: int) -> int:
    """Where the sentence begins that goes on after `end`; `end` if that is too far above."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, max(start, end - MAX_SENTENCE), end)]
    return ends[-1] if ends else end


def _last_paragraph(text: str, start: int, end: int) -> int:
    """Where the paragraph begins that ends at `end`; `start` if it is the first one."""
    line = text.rfind("\n", start, end)
    while line > start:
        before = text.rfind("\n", start, line)
        if not text[before + 1 : line].strip():
            return line + 1
        line = before
    return start


def _code_opening(text: str, start: int, end: int, following: int) -> int:
    depth = _indent(text, _line_start(text, following))
    found = stop = end
    is_open = text[end - 1] in ":{(["  # perhaps at the end of a signature of several lines
    for _ in range(MAX_LINES):
        line = _line_start(text, stop)
        if stop <= start or not text[line:stop].strip():
            break
        comment = _block_comment(text, start, stop)
        line = line if comment is None else comment
        indent = _indent(text, line)
        if indent < depth or comment is not None or _DESCRIPTION.match(text, line, stop):
            depth = min(depth, indent + 1)
            is_open = text[line + indent] in ")]"
            found = found if is_open else line + indent
        elif not is_open:
            break
        stop = line - 1
    return max(start, found)


def _block_comment(text: str, start: int, stop: int) -> int | None:
    """Where the lines begin that consist of a comment between `/*` and `*/`, of which the last one ends at `stop`."""
    if not text.endswith("*/", start, len(text[start:stop].rstrip()) + start):
        return None
    opening = text.rfind("/*", start, stop)
    line = _line_start(text, opening)
    return line if opening >= 0 and not text[line:opening].strip() else None


def _line_start(text: str, offset: int) -> int:
    first = max(0, offset - MAX_LINE)
    return text.rfind("\n", first, offset) + 1 or first


def _indent(text: str, line: int) -> int:
    """The number of blanks at the start of the line at offset `line`."""
    match = _BLANKS.match(text, line)
    return match.end() - line if match else 0


def _blank_end(text: str, offset: int) -> int:
    match = _BLANK_LINES.match(text, offset)
    return match.end() if match else offset
