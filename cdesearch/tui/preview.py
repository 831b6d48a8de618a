"""The preview of a hit: the text of its document around the passage, which is marked."""

import re
from dataclasses import dataclass

from rich.text import Text

from cdesearch.cli.passage_lines import Line, marked_words, query_words, shown_lines
from cdesearch.cli.render import TAB
from cdesearch.search.documents import DocumentReader
from cdesearch.search.surroundings import surroundings_of
from cdesearch.store.index import Index
from cdesearch.store.schema import Hit
from cdesearch.terminal import printable

CHUNKS = 20  # of the document, on each side of the hit
LINES = 300  # on each side of the passage
MAX_LINE = 2_000  # characters of a line that are shown
MATCH_STYLE, OTHER_STYLE = "bold red", "dim"
BAR, NO_BAR = "┃ ", "  "


@dataclass(frozen=True, slots=True)
class Preview:
    """The lines around a hit."""

    text: Text
    passage_line: int  # the position of the first line of the passage in `text`


def preview_of(index: Index, hit: Hit, query: str) -> Preview:
    """Return the preview of a hit; raises IndexStateError, and NotIndexedError if an update has removed the hit."""
    chunks = DocumentReader(index).document(hit.chunk.document_id)
    around = surroundings_of(chunks, hit.chunk.id, CHUNKS)
    lines = shown_lines(hit.chunk, query_words(query), full=False, context=LINES, around=around, blank=True)
    digits = max((len(str(line.number)) for line in lines if line.number is not None), default=0)
    words = marked_words(query)
    text = Text("\n").join(_line(line, digits, words) for line in lines)
    first = next((n for n, line in enumerate(lines) if not line.is_context), 0)
    return Preview(text, first)


def _line(line: Line, digits: int, words: list[str]) -> Text:
    number = "" if not digits else f"{'' if line.number is None else line.number:>{digits}} "
    body = Text(printable(line.text[:MAX_LINE].expandtabs(TAB)), OTHER_STYLE if line.is_context else "")
    for word in words:
        body.highlight_regex(rf"(?i)\b{re.escape(word)}\w*", MATCH_STYLE)
    bar = (NO_BAR, "") if line.is_context else (BAR, "bold magenta")
    return Text.assemble((number, OTHER_STYLE), bar, body)
